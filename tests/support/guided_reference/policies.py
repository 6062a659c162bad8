"""The policy that a guide describes: the choices of random targets, and what they cannot say yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
from sqlalchemy import Connection

from conformance.reference import json_reader
from conformance.reference.call import Answer, Call, JsonObject, JsonValue, Refusal, success
from conformance.reference.catalogue import Product, Stock
from conformance.reference.idempotency import by_content, digest
from conformance.reference.objects import change, find_in_state
from conformance.reference.policy import (
    Handler,
    Policy,
    evolve,
    with_handler,
    with_idempotency,
    with_oauth,
    with_reading,
    with_search,
    with_shape,
)
from conformance.reference.random_targets.boundary import Boundary
from conformance.reference.random_targets.credentials import key_reader
from conformance.reference.random_targets.policy_builder import policy_of
from tests.support.guided_reference.answers import description, public_answer
from tests.support.guided_reference.guides import Guide
from tests.support.values import replace

CATEGORIES = ("lighting", "textiles", "kitchen", "outdoor")
OTHER_MERCHANTS = ("harbour-lane", "kettle-works")
_THINGS = {"lighting": "lamp", "textiles": "blanket", "kitchen": "bowl", "outdoor": "bench"}
_OPERATION_SCHEMAS = {
    "updateInstallationWebhook": ("PublicWebhookUpdateRequest", "OperationResponse"),
    "createInstallationWebhook": ("PublicWebhookCreateRequest", "OperationResponse"),
    "listInstallationWebhookDeliveries": ("", "OperationResponse"),
    "getApiKeyIdentity": ("", "ApiKeyIdentityResponse"),
    "getInstallationCredentialReadiness": ("", "InstallationCredentialReadinessResponse"),
    "getStorefrontOrderAfterSalesEligibility": ("", "StorefrontAfterSalesEligibilityResponse"),
    "getStorefrontOrderCancellationEligibility": ("", "StorefrontOrderEligibilityResponse"),
    "requestStorefrontOrderAfterSales": ("StorefrontAfterSalesRequest", "StorefrontAfterSalesResponse"),
    "quotePublicCartCheckout": ("", "PublicCartCheckoutQuoteResponse"),
    "removePublicCartPromotion": ("PublicCartTransitionRequest", "PublicCartPromotionStateResponse"),
    "checkoutPublicCart": ("PublicCartCheckoutRequest", "PublicCartCheckoutResponse"),
    "quotePublicCart": ("PublicCartTransitionRequest", "PublicCartQuoteResponse"),
    "revokePublicCart": ("PublicCartTransitionRequest", "PublicCartResponse"),
    "searchPublicProducts": ("", "PublicProductSearchResponse"),
    "listPublicMerchantCategories": ("", "PublicCatalogCategoryListResponse"),
    "listPublicMerchantProducts": ("", "PublicCatalogProductListResponse"),
    "getPublicRuntimeConfig": ("", "OperationResponse"),
    "exchangeOAuthToken": ("OAuthTokenRequest", "OAuthTokenResponse"),
    "consumeHostedCheckoutBrowserTicket": (
        "HostedBrowserTicketConsumeRequest",
        "HostedCheckoutBrowserProjectionResponse",
    ),
    "cancelHostedCheckoutBrowser": ("HostedBrowserCancelRequest", "HostedCheckoutBrowserProjectionResponse"),
}
"""By operation: the names of its request and response schemas (interface, Endpoints)."""


def policy_of_guide(guide: Guide) -> Policy:
    """The reference's policy with everything that a guide states."""
    boundary = Boundary(guide.choices)
    policy = policy_of(guide.choices, boundary)
    # ids are the reference's own, those of the control API too
    policy = evolve(policy, stages=tuple(stage for stage in policy.stages if stage != boundary.translate_request))
    for step in (_bodies, _keys, _errors, _search, _states, _tokens, _answers):
        policy = step(policy, guide)
    return policy


def _bodies(policy: Policy, guide: Guide) -> Policy:
    requests = {name: request for name, (request, _) in _OPERATION_SCHEMAS.items() if request}
    validators = {name: jsonschema_rs.validator_for(dict(guide.schemas[name])) for name in requests.values()}
    in_body = guide.choices.key_pointer.removeprefix("/") if guide.choices.carrier == "body" else ""

    def validate(call: Call, _schema: Mapping[str, Any], value: JsonValue) -> JsonObject:
        if not isinstance(value, dict) or not validators[requests[call.operation]].is_valid(value):
            raise Refusal("invalid", "The body does not match its schema.")
        known = guide.schemas[requests[call.operation]]["properties"]
        return {guide.renamed.get(name, name): value[name] for name in known if name in value and name != in_body}

    schemas = {name: guide.schemas[request] for name, request in requests.items()}
    return with_reading(policy, parse=json_reader.read, schemas=schemas, validate=validate, keeps_unknown=True)


def _keys(policy: Policy, guide: Guide) -> Policy:
    """A key belongs to the calling credential, or to nobody, and to the operation."""

    def namespace(call: Call) -> tuple[str, ...]:
        return (call.caller.name if call.caller else "", call.operation)

    return with_idempotency(
        policy,
        key=key_reader(guide.choices, json_reader.read),
        namespace=namespace,
        fingerprint=lambda call: digest(by_content(call), call.resource),
        remembers=lambda status: status in guide.kept,
    )


def _errors(policy: Policy, guide: Guide) -> Policy:
    def error(call: Call, refusal: Refusal) -> Answer:
        status = call.policy.statuses[refusal.kind]
        return Answer(guide.error(call, refusal, status), status, refusal.headers)

    return evolve(policy, error=error, error_media_type=guide.error_media_type)


def _search(policy: Policy, guide: Guide) -> Policy:
    return with_search(
        policy,
        stock=stock_of(guide),
        sorts=tuple(guide.sorts),
        locales=guide.locales,
        markets=guide.markets,
        known_only=False,
    )


def stock_of(guide: Guide) -> Stock:
    """40 products of each merchant; every seventh product is sold in the first market only."""
    merchants = (guide.merchant, *OTHER_MERCHANTS)
    products = tuple(_product(number, merchants) for number in range(40 * len(merchants)))
    orders = {
        sort: tuple(sorted(products, key=lambda p: getattr(p, member), reverse=is_descending)) if member else products
        for sort, (member, is_descending) in guide.sorts.items()
    }

    def is_sold(product: Product, market: str) -> bool:
        return market == guide.markets[0] or bool(int(product.id.rpartition("-")[2]) % 7)

    return Stock(merchants, CATEGORIES, orders, _has_word, is_sold)


def _product(number: int, merchants: tuple[str, ...]) -> Product:
    category = CATEGORIES[number // len(merchants) % len(CATEGORIES)]
    title = f"{_THINGS[category].title()} no. {number * 37 % 120}"
    return Product(f"item-{number}", title, merchants[number % len(merchants)], category, 3 + number * 29 % 400 / 4, "")


def _has_word(product: Product, word: str) -> bool:
    return word in f"{product.title}\n{description(product.title)}".lower()


def _states(policy: Policy, guide: Guide) -> Policy:
    final = {"checked_out", "revoked"} if guide.quote_after_the_end else set()
    states = {
        **policy.states,
        "quotePublicCart": frozenset({"open", "quoted"} if guide.may_quote_again else {"open"}),
        "quotePublicCartCheckout": frozenset({"open", "quoted"} | final),
        "cancelHostedCheckoutBrowser": frozenset({"open", "consumed"}),
    }
    kind = "no_promotion" if guide.no_promotion_status == 404 else "state_conflict"
    policy = evolve(policy, states=states, state_refusals={"cart.unpromoted": kind})
    for operation, wrap in _HANDLERS.items():
        policy = with_handler(policy, operation, wrap)
    return policy


def _checkout_quote(handler: Handler) -> Handler:
    def checkout_quote(call: Call, db: Connection) -> Answer:
        find_in_state(call, db, "cart")
        return handler(call, db)

    return checkout_quote


def _remove_promotion(handler: Handler) -> Handler:
    """In a final state the state is the conflict, whatever the cart's promotion is."""

    def remove_promotion(call: Call, db: Connection) -> Answer:
        find_in_state(call, db, "cart")
        return handler(call, db)

    return remove_promotion


def _request_after_sales(handler: Handler) -> Handler:
    """The lines are optional."""
    return lambda call, db: handler(replace(call, body={"items": [], **call.body}), db)


def _cancel(_handler: Handler) -> Handler:
    """A session is cancelled without its ticket."""

    def cancel(call: Call, db: Connection) -> Answer:
        session = find_in_state(call, db, "session")
        changed = change(db, session, "cancelled", session.data)
        return success(_projection(changed.id, changed.state, changed.data))

    return cancel


def _projection(session: str, state: str, data: JsonObject) -> JsonObject:
    return {"sessionId": session, "state": state, "total": data["total"], "currency": data["currency"]}


_HANDLERS = {
    "quotePublicCartCheckout": _checkout_quote,
    "removePublicCartPromotion": _remove_promotion,
    "requestStorefrontOrderAfterSales": _request_after_sales,
    "cancelHostedCheckoutBrowser": _cancel,
}


def _tokens(policy: Policy, guide: Guide) -> Policy:
    return with_oauth(policy, clients=guide.clients)


def _answers(policy: Policy, guide: Guide) -> Policy:
    """Answers as the guide's schemas describe them, each with a header of its own."""

    def shape(call: Call, answer: Answer) -> Answer:
        if answer.status == 200:
            schema = guide.schemas[_OPERATION_SCHEMAS[call.operation][1]]
            answer = evolve(answer, value=public_answer(schema, answer.value))
        return evolve(answer, headers=(*answer.headers, (guide.request_header, call.request_id)))

    return with_shape(policy, shape)
