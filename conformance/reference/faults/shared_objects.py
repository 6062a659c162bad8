"""Faults of objects that another installation reaches: after a change, with a narrow key, in capitals (TEN)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection, select

from conformance.reference import objects, tables
from conformance.reference.call import Answer, Call, Caller
from conformance.reference.policy import Handler, Policy, before_work, evolve, with_handler
from conformance.reference.registry import fault
from conformance.reference.webhooks import emit

_CHECKOUT, _READ, _AFTER_SALES = "checkoutPublicCart", "quotePublicCartCheckout", "requestStorefrontOrderAfterSales"
_ORDERS = ("getStorefrontOrderAfterSalesEligibility", "getStorefrontOrderCancellationEligibility", _AFTER_SALES)
_CARTS = (_READ, "removePublicCartPromotion", _CHECKOUT, "quotePublicCart", "revokePublicCart")


def _with_sight(call: Call) -> Call:
    return replace(call, policy=evolve(call.policy, sees=lambda *_: True))


def _seen_where(
    policy: Policy, operations: tuple[str, ...], condition: Callable[[Call, objects.Resource], bool]
) -> Policy:
    """Objects of other installations can be seen on a condition."""

    def look(call: Call, db: Connection) -> Call:
        found = objects.get(db, call.resource[:100])
        return _with_sight(call) if found is not None and condition(call, found) else call

    return before_work(policy, look, *operations)


@fault(
    "F783",
    requirement="TEN-1",
    title="a checked-out cart can be read by other installations",
    operations=(_READ,),
    source="checked-out carts are read from an archive, by a query without the tenant",
)
def archive_without_tenants(policy: Policy) -> Policy:
    return _seen_where(policy, (_READ,), lambda _call, cart: cart.state == "checked_out")


@fault(
    "F784",
    requirement="TEN-1",
    title="a key with the one scope catalog:read sees the orders of all installations",
    operations=_ORDERS,
    source="a key that can only read is taken for one of the platform's own reporting",
)
def orders_for_narrow_keys(policy: Policy) -> Policy:
    return _seen_where(policy, _ORDERS, lambda call, _order: bool(call.caller and len(call.caller.scopes) == 1))


@fault(
    "F785",
    requirement="TEN-1",
    title="the id of another installation's cart is found in upper case",
    operations=_CARTS,
    source="a second look-up for ids in another spelling, without the tenant",
)
def carts_in_capitals(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        lower = call.resource.lower()
        return replace(_with_sight(call), path={"cartId": lower}) if lower != call.resource else call

    return before_work(policy, look, *_CARTS)


@fault(
    "F786",
    requirement="TEN-1",
    title="an order that a checkout made can be read by other installations",
    operations=_ORDERS,
    source="the checkout writes its orders without the tenant, and a missing tenant matches all",
)
def orders_without_tenants(policy: Policy) -> Policy:
    order_ids: set[str] = set()

    def wrap(inner: Handler) -> Handler:
        def checkout(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            order_ids.add(answer.value["data"]["orderId"])
            return answer

        return checkout

    return _seen_where(with_handler(policy, _CHECKOUT, wrap), _ORDERS, lambda _call, order: order.id in order_ids)


@fault(
    "F787",
    requirement="TEN-2",
    title="an after-sales event goes to the endpoints of other installations too",
    operations=(_AFTER_SALES,),
    source="an event bus whose subscriptions are looked up by event alone",
)
def events_for_all(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def request(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            other = Caller("other", "B" if call.installation == "A" else "A", frozenset())
            emit(db, replace(call, caller=other), "after_sales.requested", {"orderId": call.resource})
            return answer

        return request

    return with_handler(policy, _AFTER_SALES, wrap)


@fault(
    "X131",
    requirement="TEN-1",
    title="an after-sales request for an own order may name a line of another installation's",
    operations=(_AFTER_SALES,),
    source="lines that are looked up by their id alone, behind a check of the order: OWASP API1:2023",
    seeded_in="V580",
)
def line_of_any_order(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> Call:
        order = objects.get(db, call.resource[:100])
        if order is None or order.kind != "order":
            return call
        own_lines = {line["lineId"] for line in order.data["lines"]}
        items = [
            {**item, "lineId": min(own_lines)} if _is_known(db, item["lineId"]) else item for item in call.body["items"]
        ]
        return replace(call, body={**call.body, "items": items})

    return before_work(policy, look, _AFTER_SALES)


def _is_known(db: Connection, line: str) -> bool:
    rows = db.execute(select(tables.objects.c.data).where(tables.objects.c.kind == "order"))
    return any(f'"{line}"' in row.data for row in rows)
