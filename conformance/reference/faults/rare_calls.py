"""Faults of calls that are valid and rare: sparse bodies, long texts, other kinds, states behind states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, update

from conformance.reference import objects
from conformance.reference.call import Answer, Call, JsonObject, JsonValue, Refusal, canonical
from conformance.reference.policy import Handler, Policy, with_handler, with_handlers, with_reading
from conformance.reference.registry import fault
from conformance.reference.tables import objects as resources

_UPDATE = ("updateInstallationWebhook",)
_CHECKOUT = ("checkoutPublicCart",)
_QUOTE = ("quotePublicCartCheckout",)
_REVOKE = ("revokePublicCart",)
_ORDERS = (
    "getStorefrontOrderAfterSalesEligibility",
    "getStorefrontOrderCancellationEligibility",
    "requestStorefrontOrderAfterSales",
)


def _before(policy: Policy, look: Callable[[Call, Connection], None], *operations: str) -> Policy:
    """Looks at each call before its work."""

    def wrap(inner: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            look(call, db)
            return inner(call, db)

        return act

    return with_handlers(policy, operations, wrap)


@fault(
    "F629",
    requirement="STA-1",
    title="an update with an empty object ends in 500",
    operations=_UPDATE,
    source="UPDATE ... SET without a column, which no database takes",
)
def empty_update(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if not call.body:
            raise ValueError("syntax error at or near WHERE")

    return _before(policy, look, *_UPDATE)


@fault(
    "F630",
    requirement="STA-1",
    title="an empty list in a body ends in 500",
    operations=_CHECKOUT,
    source="IN (), or the first item of a list that has none",
)
def empty_list(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if [] in call.body.values():
            raise IndexError("list index out of range")

    return _before(policy, look, *_CHECKOUT)


def _is_too_long(schema: Any, value: JsonValue) -> bool:
    if isinstance(value, str):
        return bool(len(value.encode("utf-8", "surrogatepass")) > schema.get("maxLength", 1 << 30))
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        return any(_is_too_long(part, value[name]) for name, part in parts.items() if name in value)
    return isinstance(value, list) and any(_is_too_long(schema.get("items", {}), item) for item in value)


@fault(
    "F631",
    requirement="BODY-4",
    title="the longest texts are counted in bytes",
    source="the length of a text after its encoding, as in a column of bytes",
)
def bytes_counted(policy: Policy) -> Policy:
    def validate(call: Call, schema: Any, value: JsonValue) -> JsonObject:
        body = policy.reading.validate(call, schema, value)
        if _is_too_long(schema, body):
            raise Refusal("invalid", "A text is too long.")
        return body

    return with_reading(policy, validate=validate)


def _with_numbers(schema: Any, value: JsonValue) -> JsonValue:
    """The value with 1 for true and 0 for false where the schema has an integer."""
    if isinstance(value, bool):
        return int(value) if schema.get("type") == "integer" else value
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        return {name: _with_numbers(parts.get(name, {}), item) for name, item in value.items()}
    return [_with_numbers(schema.get("items", {}), item) for item in value] if isinstance(value, list) else value


@fault(
    "F632",
    requirement="BODY-4",
    title="true is accepted as a number",
    source="Python, in which True is an int",
)
def true_is_one(policy: Policy) -> Policy:
    def validate(call: Call, schema: Any, value: JsonValue) -> JsonObject:
        return policy.reading.validate(call, schema, _with_numbers(schema, value))

    return with_reading(policy, validate=validate)


@fault(
    "F633",
    requirement="STA-1",
    title="the id of a cart as that of an order ends in 500",
    operations=_ORDERS,
    source="one table of entities, and a member that the other kind has not",
)
def id_of_another_kind(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        found = objects.get(db, call.resource)
        if found is not None and found.kind != "order":
            raise KeyError("requests")

    return _before(policy, look, *_ORDERS)


@fault(
    "F634",
    requirement="STA-1",
    title="the checkout quote of a cart whose promotion was removed ends in 500",
    operations=_QUOTE,
    source="a percentage of a promotion that is null from then on",
)
def quote_after_removal(policy: Policy) -> Policy:
    removed: set[str] = set()

    def wrap(inner: Handler) -> Handler:
        def remove(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            removed.add(call.resource)
            return answer

        return remove

    def look(call: Call, _db: Connection) -> None:
        if call.resource in removed:
            raise TypeError("'NoneType' object is not subscriptable")

    return _before(with_handler(policy, "removePublicCartPromotion", wrap), look, *_QUOTE)


@fault(
    "F635",
    requirement="CONF-1",
    title="a second revocation with another body succeeds",
    operations=_REVOKE,
    source="a revocation whose reason may be amended",
)
def amended_revocation(policy: Policy) -> Policy:
    bodies: dict[str, str] = {}

    def look(call: Call, db: Connection) -> None:
        found, body = objects.get(db, call.resource), canonical(call.body)
        is_own = found is not None and policy.sees(call, found.installation)
        if found is not None and is_own and found.state == "revoked" and bodies.get(found.id, body) != body:
            db.execute(update(resources).where(resources.c.id == found.id).values(state="open"))
        bodies[call.resource] = body

    return _before(policy, look, *_REVOKE)


@fault(
    "F853",
    requirement="STA-1",
    title="the revocation of a cart with a promotion ends in 500",
    operations=_REVOKE,
    source="a promotion that is given back by a method which its service no longer has",
)
def revocation_with_promotion(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        cart = objects.get(db, call.resource[:100])
        if cart is not None and cart.kind == "cart" and cart.data["promotion"] and policy.sees(call, cart.installation):
            raise AttributeError("'Promotions' object has no attribute 'release'")

    return _before(policy, look, *_REVOKE)
