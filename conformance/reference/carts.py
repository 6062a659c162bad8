"""Carts: open -> quoted -> checked_out; revoked from open or quoted; a promotion may be removed before checkout."""

from __future__ import annotations

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, JsonObject, success
from conformance.reference.objects import Resource, add, change, find, find_in_state
from conformance.reference.orders import order_of
from conformance.reference.webhooks import emit

DISCOUNT = 10


def new_cart(promotion: bool = False) -> JsonObject:
    """The content of a cart, prices in minor units."""
    lines = [
        {"lineId": "line_1", "productId": "prod_0001", "quantity": 2, "unitPrice": 1250},
        {"lineId": "line_2", "productId": "prod_0007", "quantity": 1, "unitPrice": 4800},
    ]
    return {
        "currency": "USD",
        "lines": lines,
        "promotion": {"code": "WELCOME", "percent": DISCOUNT} if promotion else None,
    }


def _totals(data: JsonObject) -> JsonObject:
    subtotal = sum(line["quantity"] * line["unitPrice"] for line in data["lines"])
    discount = subtotal * data["promotion"]["percent"] // 100 if data["promotion"] else 0
    return {"subtotal": subtotal, "discount": discount, "total": subtotal - discount, "currency": data["currency"]}


def _cart(cart: Resource) -> JsonObject:
    return {"id": cart.id, "state": cart.state, "version": cart.version}


def _quote(cart: Resource) -> JsonObject:
    return {**_cart(cart), "lines": cart.data["lines"], "totals": _totals(cart.data)}


def checkout_quote(call: Call, db: Connection) -> Answer:
    """The present cost of checking out; readable in every state."""
    return success(_quote(find(call, db, "cart")))


def quote(call: Call, db: Connection) -> Answer:
    cart = find_in_state(call, db, "cart")
    return success(_quote(change(db, cart, "quoted", cart.data)))


def remove_promotion(call: Call, db: Connection) -> Answer:
    """Removes the promotion; a cart without one is answered 404."""
    cart = find(call, db, "cart")
    call.policy.guard(call, "cart", cart.state if cart.data["promotion"] else "unpromoted")
    changed_cart = change(db, cart, cart.state, {**cart.data, "promotion": None})
    return success({**_cart(changed_cart), "promotion": {"applied": False}, "totals": _totals(changed_cart.data)})


def checkout(call: Call, db: Connection) -> Answer:
    cart = find_in_state(call, db, "cart")
    changed_cart = change(db, cart, "checked_out", cart.data)
    order = add(db, "order", cart.installation, "eligible", order_of(cart.data["lines"]))
    emit(db, call, "cart.checked_out", {"cartId": cart.id, "orderId": order.id})
    payment = {"orderId": order.id, "totals": _totals(cart.data), "paymentState": "authorized"}
    return success({**_cart(changed_cart), **payment})


def revoke(call: Call, db: Connection) -> Answer:
    cart = find_in_state(call, db, "cart")
    changed_cart = change(db, cart, "revoked", cart.data)
    emit(db, call, "cart.revoked", {"cartId": cart.id})
    return success({**_cart(changed_cart), "lines": cart.data["lines"]})
