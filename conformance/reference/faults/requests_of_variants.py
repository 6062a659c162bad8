"""Faults of targets that state another word than the reference: AUTH-5, BODY-4,
BODY-9, CONF-3, TEN-3, HO-6, IDEM-2, IDEM-4."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from conformance.reference.authentication import bearer, require_active
from conformance.reference.call import Answer, Call, Caller, Refusal
from conformance.reference.faults import effects as late_effects
from conformance.reference.hosted import ticket_digest
from conformance.reference.keys import CALLERS
from conformance.reference.pipeline import media_type
from conformance.reference.policy import (
    Handler,
    Policy,
    Schema,
    evolve,
    with_handler,
    with_reading,
    with_schema,
    with_status,
)
from conformance.reference.registry import fault
from conformance.reference.tables import objects
from conformance.reference.variants.order import holder_in_any_case

_DELIVERIES, _SEARCH, _PATCH = "listInstallationWebhookDeliveries", "searchPublicProducts", "updateInstallationWebhook"
_CHECKOUT, _CREATE = "checkoutPublicCart", "createInstallationWebhook"
_CONSUME, _CANCEL = "consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser"


# The Authorization header


@fault(
    "F470",
    requirement="AUTH-5",
    title="the key alone refused by one route",
    operations=(_DELIVERIES,),
    source="a gateway's plugin that splits the header at its blank, on the routes that were moved behind it",
    seeded_in="V330",
)
def bare_key_refused_on_one(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        header = call.request.header(b"authorization") or ""
        if call.operation == _DELIVERIES and header and " " not in header:
            raise Refusal("bad_credential", "The API key is not valid.")
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F472",
    requirement="AUTH-5",
    title="the cart routes accept the scheme in any case",
    operations=("quotePublicCart",),
    source="two services behind one gateway, one of them with a library that folds the scheme",
    seeded_in="D32",
)
def carts_fold_the_scheme(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        scheme, _, key = (call.request.header(b"authorization") or "").partition(" ")
        if "cartId" in call.path and scheme.lower() == "bearer":
            return require_active(call.keys.by_secret(key))
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F981",
    requirement="AUTH-5",
    title="the cart routes compare keys with their case",
    operations=("quotePublicCart",),
    source="a table with a binary collation in one of two services, beside one without case",
    seeded_in="V530",
)
def carts_compare_exactly(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        if "cartId" in call.path:
            return require_active(call.keys.by_secret(bearer(call)))
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F982",
    requirement="AUTH-4",
    title="a revoked key is accepted in capitals",
    source="a list of revoked keys that is compared exactly, in front of a lookup without case",
    seeded_in="V530",
)
def revoked_key_in_capitals(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        caller = holder_in_any_case(call)
        is_listed = call.keys.by_secret(bearer(call)) is not None
        return caller if caller is not None and not is_listed else policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F473",
    requirement="AUTH-5",
    title="search ignores the header of an unknown key",
    operations=(_SEARCH,),
    source="a cache in front of one route that answers before the key is examined",
    seeded_in="D22",
)
def search_ignores_keys(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        return CALLERS["none"] if call.operation == _SEARCH else policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


# Bodies


def _open(schema: Schema) -> dict[str, Any]:
    """The schema without additionalProperties, at every depth."""
    opened: dict[str, Any] = {name: part for name, part in schema.items() if name != "additionalProperties"}
    if "properties" in opened:
        opened["properties"] = {name: _open(part) for name, part in opened["properties"].items()}
    if "items" in opened:
        opened["items"] = _open(opened["items"])
    return opened


@fault(
    "F475",
    requirement="BODY-9",
    title="an unknown member within another object accepted",
    source="ajv without unevaluatedProperties: additionalProperties: false holds for its own object only",
    seeded_in="D21",
)
def open_within(policy: Policy) -> Policy:
    schemas = {name: {**_open(part), "additionalProperties": False} for name, part in policy.reading.schemas.items()}
    return with_reading(policy, schemas=schemas)


@fault(
    "F476",
    requirement="BODY-9",
    title="PATCH accepts unknown members",
    operations=(_PATCH,),
    source="a model of changes of its own, which was written without extra='forbid'",
    seeded_in="D21",
)
def patch_is_open(policy: Policy) -> Policy:
    return with_schema(policy, _PATCH, _open(policy.reading.schemas[_PATCH]))


@fault(
    "X160",
    requirement="BODY-4",
    title="an update without any member is accepted, though its schema wants one",
    operations=(_PATCH,),
    source="a model of which each member is optional: minProperties of its document was never written as code",
    seeded_in="V590",
)
def update_of_nothing(policy: Policy) -> Policy:
    schema = {name: part for name, part in policy.reading.schemas[_PATCH].items() if name != "minProperties"}
    return with_schema(policy, _PATCH, schema)


@fault(
    "X161",
    requirement="BODY-4",
    title="a new endpoint has a URL of http, though its pattern wants https",
    operations=(_CREATE,),
    source="a rule of an earlier version, ^https?://, in one of two handlers; CWE-319",
    seeded_in="V590",
)
def endpoint_of_plain_http(policy: Policy) -> Policy:
    schema = policy.reading.schemas[_CREATE]
    url = {**schema["properties"]["url"], "pattern": "^https?://[^/]"}
    return with_schema(policy, _CREATE, {**schema, "properties": {**schema["properties"], "url": url}})


@fault(
    "F477",
    requirement="BODY-9",
    title="PATCH drops further members that create keeps",
    operations=(_PATCH,),
    source="an UPDATE over the named columns, where the INSERT writes the whole document",
    seeded_in="V332",
)
def patch_keeps_known_only(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def update(call: Call, db: Connection) -> Answer:
            call.policy = with_reading(call.policy, keeps_unknown=False)
            return original(call, db)

        return update

    return with_handler(policy, _PATCH, wrap)


@fault(
    "F479",
    requirement="BODY-9",
    title="types that end in +json accepted, which the profile does not name",
    source="a framework's matcher that takes any structured syntax suffix (RFC 6839) for JSON",
    seeded_in="V333",
)
def any_suffix(policy: Policy) -> Policy:
    accepts = policy.reading.accepts
    return with_reading(policy, accepts=lambda media: accepts(media) or media_type(media or "").endswith("+json"))


@fault(
    "F480",
    requirement="BODY-9",
    title="a body without Content-Type accepted",
    source="request.get_json(force=True) where the header is absent",
    seeded_in="V333",
)
def untyped_accepted(policy: Policy) -> Policy:
    accepts = policy.reading.accepts
    return with_reading(policy, accepts=lambda media: media is None or accepts(media))


# Effects that show in the stated time


@fault(
    "F478",
    requirement="IDEM-2",
    title="a replayed checkout is billed again, which shows within the stated time",
    operations=(_CHECKOUT,),
    source="a ledger behind a queue: the consumer forgets the idempotency key of the producer",
    seeded_in="V250",
)
def billed_again_within_time(policy: Policy) -> Policy:
    return late_effects.replayed_checkout_billed(policy)


@fault(
    "F482",
    requirement="IDEM-4",
    title="a refused second payload removes the promotion's record, which shows within the stated time",
    operations=("removePublicCartPromotion",),
    source="a write-behind cache: the entry is queued before the transaction is decided",
    seeded_in="V250",
)
def queued_within_time(policy: Policy) -> Policy:
    return late_effects.event_on_refusal(policy, "removePublicCartPromotion", "mismatch")


# States, installations and tickets


@fault(
    "F516",
    requirement="CONF-3",
    title="checkout answers a revoked cart 409, and the other cart operations 400",
    operations=(_CHECKOUT,),
    source="one handler of four that looks at the state itself",
    seeded_in="V334",
)
def checkout_conflicts(policy: Policy) -> Policy:
    def guard(call: Call, kind: str, state: str) -> None:
        if call.operation == _CHECKOUT and state == "revoked":
            raise Refusal("state_conflict", "The cart is revoked.")
        policy.guard(call, kind, state)

    return evolve(policy, guard=guard)


@fault(
    "X95",
    requirement="CONF-1",
    title="the checkout quote of a cart that was read is answered from a cache after it was revoked",
    operations=("quotePublicCartCheckout",),
    source="a cache in front of a service that prices carts, cleared by its age only",
    seeded_in="V557",
)
def quote_from_a_cache(policy: Policy) -> Policy:
    known: dict[tuple[str, str], Answer] = {}

    def wrap(original: Handler) -> Handler:
        def read(call: Call, db: Connection) -> Answer:
            place = call.caller.installation if call.caller else "", call.resource
            if place not in known:
                known[place] = original(call, db)
            return known[place]

        return read

    return with_handler(policy, "quotePublicCartCheckout", wrap)


@fault(
    "F517",
    requirement="TEN-3",
    title="PATCH answers an endpoint of another installation 404, every other operation 403",
    operations=(_PATCH,),
    source="a query by installation and id in one repository, a permission check in the others",
    seeded_in="D24",
)
def foreign_endpoint_is_hidden(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def update(call: Call, db: Connection) -> Answer:
            call.policy = evolve(call.policy, unseen="not_found")
            return original(call, db)

        return update

    return with_handler(policy, _PATCH, wrap)


def _with_bad_ticket(policy: Policy, operation: str, kind_of: Any) -> Policy:
    """An operation of hosted sessions that refuses a bad ticket for another reason."""

    def wrap(original: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            try:
                return original(call, db)
            except Refusal as refusal:
                kind = kind_of(call, db) if refusal.kind == "bad_ticket" else refusal.kind
                raise Refusal(kind, refusal.message) from None

        return act

    return with_handler(policy, operation, wrap)


@fault(
    "F518",
    requirement="HO-6",
    title="the ticket of another session is answered 404, one that does not exist 400",
    operations=(_CONSUME,),
    source="a look-up by ticket first, and by session and ticket afterwards",
    seeded_in="V326",
)
def other_ticket_not_found(policy: Policy) -> Policy:
    def kind_of(call: Call, db: Connection) -> str:
        found = db.execute(select(objects.c.id).where(objects.c.data.contains(ticket_digest(call.body["ticket"]))))
        return "not_found" if found.first() else "bad_ticket"

    return _with_bad_ticket(policy, _CONSUME, kind_of)


@fault(
    "F519",
    requirement="HO-6",
    title="cancel answers an unknown ticket 404, consume 401",
    operations=(_CANCEL,),
    source="two handlers with a check of their own each",
    seeded_in="V327",
)
def cancel_not_found(policy: Policy) -> Policy:
    return _with_bad_ticket(policy, _CANCEL, lambda _call, _db: "not_found")


@fault(
    "F520",
    requirement="HO-6",
    title="an unknown ticket is answered 401",
    operations=(_CONSUME, _CANCEL),
    source="a ticket that counts as a credential",
    seeded_in="V328",
)
def unknown_ticket_401(policy: Policy) -> Policy:
    return with_status(policy, "bad_ticket", 401)
