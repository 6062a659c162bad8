"""Legitimate readings of requests: paging, unknown members, ids, edge cases of JSON, visibility."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from sqlalchemy import Connection

from conformance.reference.call import Call, JsonObject, JsonValue, Refusal, Reply
from conformance.reference.json_reader import read_text
from conformance.reference.pipeline import media_type
from conformance.reference.policy import (
    Policy,
    Schema,
    before_work,
    evolve,
    with_reading,
    with_schema,
    with_search,
    with_wire,
)
from conformance.reference.registry import variant


@variant(
    "D20",
    requirement="SRCH-4",
    title="0-based page; clamps pageSize / refuses large pageSize with 400",
    profile={
        "search": {"query": {"page": 0}, "page_base": 0, "page_size_above": "clamped", "page_size_below": "clamped"}
    },
)
def pages_from_zero(policy: Policy) -> Policy:
    """pageSize is clamped; the base policy refuses it."""
    return with_search(policy, page_base=0, clamp=True)


@variant(
    "V220",
    requirement="SRCH-4",
    title="pageSize below 5 refused with 400",
    profile={"search": {"query": {"pageSize": 5}, "page_size_min": 5}},
)
def page_size_at_least_five(policy: Policy) -> Policy:
    return with_search(policy, page_size_min=5)


@variant(
    "V221",
    requirement="SRCH-4",
    title="pageSize above 3 refused with 400",
    profile={"search": {"query": {"pageSize": 3}, "page_size_max": 3}},
)
def page_size_at_most_three(policy: Policy) -> Policy:
    return with_search(policy, page_size_max=3)


@variant(
    "V227",
    requirement="STA-1",
    title="a long URL is refused with 414 and no JSON by a component in front of the service",
)
def long_urls_refused(policy: Policy) -> Policy:
    def hook(call: Call, reply: Reply) -> Reply:
        if len(call.request.path) + len(call.request.query) < 1_800:
            return reply
        return Reply(414, (("content-type", "text/html"),), b"<h1>URI Too Long</h1>")

    return with_wire(policy, hook)


@variant("V228", requirement="STA-1", title="a query with invalid UTF-8 or NUL is refused with 400")
def broken_queries_refused(policy: Policy) -> Policy:
    def refuse_broken_query(call: Call) -> None:
        if re.search(rb"%(?![0-9A-Fa-f]{2})|(?i:%00|%ff|%c0)", call.request.query):
            raise Refusal("invalid_query", "The query string cannot be read.")

    return evolve(policy, stages=(refuse_broken_query, *policy.stages))


@variant("V518", requirement="SCO-1", title="a query that an operation does not declare is refused with 400")
def undeclared_queries_refused(policy: Policy) -> Policy:
    """The refusal comes before authentication."""

    def refuse_query(call: Call) -> None:
        if call.request.query and call.operation != "searchPublicProducts":
            raise Refusal("invalid_query", "The operation has no query parameters.")

    return evolve(policy, stages=(refuse_query, *policy.stages))


@variant(
    "D21",
    requirement="BODY-7",
    title="unknown members and query parameters refused with 400 / ignored",
    profile={"search": {"unknown_parameter": "refused"}, "bodies": {"unknown_members": "refused"}},
)
def known_members_only(policy: Policy) -> Policy:
    """Unknown members are refused at every depth; the base policy ignores them."""

    def close_schema(schema: Schema) -> Schema:
        result: dict[str, Any] = dict(schema)
        if "properties" in schema:
            result["properties"] = {name: close_schema(part) for name, part in schema["properties"].items()}
            result["additionalProperties"] = False
        if "items" in schema:
            result["items"] = close_schema(schema["items"])
        return result

    schemas = {name: close_schema(schema) for name, schema in policy.reading.schemas.items()}
    return with_search(with_reading(policy, schemas=schemas), known_only=True)


@variant(
    "V332",
    requirement="BODY-9",
    title="an endpoint keeps unknown members; bodies of 64 KiB and 20 levels",
    profile={
        "bodies": {"unknown_members": "kept", "max_bytes": 65_536, "max_depth": 20},
        "schemas": {"names": {"OperationResponse": "OpenOperationResponse"}},
    },
)
def unknown_members_kept(policy: Policy) -> Policy:
    return with_reading(policy, keeps_unknown=True, max_bytes=65_536, max_depth=20)


@variant(
    "V333",
    requirement="BODY-9",
    title="application/json alone, and always stated",
    profile={"bodies": {"media_types": ["application/json"], "absent_media_type": "refused"}},
)
def json_alone(policy: Policy) -> Policy:
    return with_reading(policy, accepts=lambda media: media_type(media or "") == "application/json")


@variant("D23", requirement="PUB-3", title="unknown slug answers 404; known slug with nothing answers empty array")
def empty_store(policy: Policy) -> Policy:
    """The same as the base policy."""
    return policy


@variant(
    "D24",
    requirement="TEN-1",
    title="foreign object answers 404 (hidden) / 403",
    profile={"tenancy": {"status": 403}},
)
def foreign_is_403(policy: Policy) -> Policy:
    """403; the base policy answers 404."""
    return evolve(policy, unseen="foreign")


@variant("D25", requirement="NF-1", title="id grammar enforced: malformed id answers 400")
def id_grammar(policy: Policy) -> Policy:
    return evolve(policy, id_grammar=True)


def _unique_members(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a doubled member")
    return value


def _clip(text: str) -> float:
    return min(max(float(text), -sys.float_info.max), sys.float_info.max)


def _no_constant(text: str) -> JsonValue:
    raise ValueError(text)


@variant("D26", requirement="BODY-5", title="duplicate JSON keys, BOM, huge numbers accepted / refused with 400")
def edges_of_json(policy: Policy) -> Policy:
    """Duplicate members are refused, a BOM and huge numbers accepted; the base policy does the opposite."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique_members, parse_float=_clip, parse_constant=_no_constant)

    def parse(call: Call, body: bytes) -> JsonValue:
        try:
            text = body.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Refusal("not_text", "The request body is not UTF-8.") from None
        return read_text(text, body, decoder, call.policy.reading.max_depth)

    return with_reading(policy, parse=parse)


_OTHER_WRITES = (
    "createInstallationWebhook",
    "updateInstallationWebhook",
    "requestStorefrontOrderAfterSales",
    "exchangeOAuthToken",
    "consumeHostedCheckoutBrowserTicket",
    "cancelHostedCheckoutBrowser",
)
_REMAINING: list[tuple[str, str, tuple[str, ...], bool, int]] = [
    ("quotePublicCart", "cart.checked_out", (), False, 404),
    ("checkoutPublicCart", "cart.quoted", ("checkoutPublicCart",), True, 404),
    ("quotePublicCart", "cart.revoked", (), False, 409),
    ("checkoutPublicCart", "cart.open", (), False, 409),
    ("checkoutPublicCart", "cart.quoted", ("revokePublicCart",), False, 409),
    ("revokePublicCart", "cart.open", ("revokePublicCart",), True, 409),
    ("removePublicCartPromotion", "cart.promoted", ("removePublicCartPromotion",), True, 404),
    ("requestStorefrontOrderAfterSales", "order.eligible", ("requestStorefrontOrderAfterSales",), True, 409),
    ("consumeHostedCheckoutBrowserTicket", "session.open", ("consumeHostedCheckoutBrowserTicket",), True, 409),
    ("cancelHostedCheckoutBrowser", "session.open", ("consumeHostedCheckoutBrowserTicket",), False, 409),
]


@variant(
    "D34",
    requirement="CONF-1",
    title="checkout idempotent by state: second key answers 409 / 404 for spent cart",
    profile={
        "transitions": [
            {
                "operation": operation,
                "fixture": fixture,
                "after": list(after),
                "single_winner": single,
                "status": status,
            }
            for operation, fixture, after, single, status in _REMAINING
        ]
    },
)
def spent_cart_is_gone(policy: Policy) -> Policy:
    """A checked-out cart is unknown; the base policy answers 409."""
    return evolve(policy, state_refusals={**policy.state_refusals, "cart.checked_out": "not_found"})


@variant(
    "V334",
    requirement="CONF-3",
    title="a revoked cart is refused with 400, a cart without promotion with 409",
    profile={
        "transitions": [
            {"operation": "quotePublicCart", "fixture": "cart.revoked", "status": 400},
            {"operation": "checkoutPublicCart", "fixture": "cart.revoked", "status": 400},
            {"operation": "revokePublicCart", "fixture": "cart.open", "leads_to": "cart.revoked"},
            {
                "operation": "removePublicCartPromotion",
                "fixture": "cart.promoted",
                "after": ["removePublicCartPromotion"],
            },
            *({"operation": name, "none": "its states are not stated"} for name in _OTHER_WRITES),
        ]
    },
)
def revoked_cart_is_bad_request(policy: Policy) -> Policy:
    return evolve(policy, state_refusals={"cart.revoked": "bad_request"})


@variant("V335", requirement="BODY-7", title="the profile says nothing of bodies", profile={"bodies": None})
def bodies_not_stated(policy: Policy) -> Policy:
    """The same as the base policy: what is not stated is observed."""
    return policy


@variant(
    "V520",
    requirement="WH-2",
    title="the profile's usual endpoint has a URL and events alone, and an update switches it off",
    profile={
        "operations": {
            "createInstallationWebhook": {"body": {"description": None, "active": None, "metadata": None}},
            "updateInstallationWebhook": {"bodies": [{"url": "https://hooks.example/moved/{unique}"}]},
        }
    },
)
def endpoints_of_two_members(policy: Policy) -> Policy:
    """The same as the base policy: what create does not name has a default, which an update changes."""
    return policy


@variant(
    "V546",
    requirement="IDEM-4",
    title="an integer of 64 bits, as its schema promises",
    profile={"schemas": {"names": {"PublicWebhookCreateRequest": "WideWebhookCreateRequest"}}},
)
def wide_integers(policy: Policy) -> Policy:
    create = policy.reading.schemas["createInstallationWebhook"]
    metadata = create["properties"]["metadata"]
    members = {**metadata["properties"], "priority": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}}
    properties = {**create["properties"], "metadata": {**metadata, "properties": members}}
    return with_schema(policy, "createInstallationWebhook", {**create, "properties": properties})


_DEFAULTS: JsonObject = {"description": "", "active": True, "metadata": {}}


def _nullable(schema: Schema) -> Schema:
    members = schema["properties"]
    nullable = {name: {**members[name], "type": [members[name]["type"], "null"]} for name in _DEFAULTS}
    return {**schema, "properties": {**members, **nullable}}


@variant(
    "V560",
    requirement="WH-2",
    title="null stands for the default of a member, as its schema says",
    profile={
        "schemas": {
            "names": {
                "PublicWebhookCreateRequest": "NullableWebhookCreateRequest",
                "PublicWebhookUpdateRequest": "NullableWebhookUpdateRequest",
            }
        }
    },
)
def nullable_members(policy: Policy) -> Policy:
    def with_defaults(call: Call, _db: Connection) -> Call:
        defaults = {name: _DEFAULTS[name] for name, value in call.body.items() if value is None and name in _DEFAULTS}
        return evolve(call, body={**call.body, **defaults})

    for operation in ("createInstallationWebhook", "updateInstallationWebhook"):
        policy = with_schema(policy, operation, _nullable(policy.reading.schemas[operation]))
    return before_work(policy, with_defaults, "createInstallationWebhook", "updateInstallationWebhook")


@variant(
    "V576",
    requirement="BODY-4",
    title="names, cities and countries have two characters, of which the schema says nothing",
    profile={"schemas": {"names": {"PublicCartCheckoutRequest": "BriefCheckoutRequest"}}},
)
def longer_names(policy: Policy) -> Policy:
    """A schema says what is refused at least."""
    checkout = policy.reading.schemas["checkoutPublicCart"]
    properties = dict(checkout["properties"])
    for name, members in {"buyer": ("name",), "shipping": ("city", "country")}.items():
        part = properties[name]
        longer = {member: {**part["properties"][member], "minLength": 2} for member in members}
        properties[name] = {**part, "properties": {**part["properties"], **longer}}
    return with_schema(policy, "checkoutPublicCart", {**checkout, "properties": properties})


@variant("V577", requirement="BODY-9", title="an update whose body names another id than its path is refused with 400")
def id_of_the_path(policy: Policy) -> Policy:
    """Its schema names no id: the service knows the member nevertheless, and ignores those that it does not know."""

    def look(call: Call, _db: Connection) -> None:
        if call.body.get("id", call.path["id"]) != call.path["id"]:
            raise Refusal("invalid", "The id of the body is not that of the path.")

    return before_work(policy, look, "updateInstallationWebhook")


@variant(
    "V590",
    requirement="BODY-4",
    title="the URL of an endpoint is one of https, and an update names at least one member",
    profile={
        "search": {"unknown_parameter": "refused"},
        "bodies": {"unknown_members": "refused"},
        "schemas": {
            "names": {
                "PublicWebhookCreateRequest": "NarrowWebhookCreateRequest",
                "PublicWebhookUpdateRequest": "NarrowWebhookUpdateRequest",
            }
        },
    },
)
def narrow_endpoints(policy: Policy) -> Policy:
    policy = known_members_only(policy)
    for operation, least in (("createInstallationWebhook", {}), ("updateInstallationWebhook", {"minProperties": 1})):
        schema = policy.reading.schemas[operation]
        url = {**schema["properties"]["url"], "pattern": "^https://[^/]"}
        policy = with_schema(policy, operation, {**schema, **least, "properties": {**schema["properties"], "url": url}})
    return policy


@variant(
    "V565",
    requirement="IDEM-4",
    title="the amount of a refund has decimals",
    profile={
        "schemas": {"names": {"StorefrontAfterSalesRequest": "DecimalAfterSalesRequest"}},
        "operations": {"requestStorefrontOrderAfterSales": {"body": {"refund": {"amount": {"value": 12.5}}}}},
    },
)
def decimal_amounts(policy: Policy) -> Policy:
    after_sales = policy.reading.schemas["requestStorefrontOrderAfterSales"]
    refund = after_sales["properties"]["refund"]
    amount = refund["properties"]["amount"]
    value = {"type": "number", "minimum": 0, "maximum": 10**10}
    amount = {**amount, "properties": {**amount["properties"], "value": value}}
    refund = {**refund, "properties": {**refund["properties"], "amount": amount}}
    properties = {**after_sales["properties"], "refund": refund}
    return with_schema(policy, "requestStorefrontOrderAfterSales", {**after_sales, "properties": properties})
