"""Orders: eligible -> requested by an after-sales request; ineligible ones never change."""

from __future__ import annotations

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, JsonObject, JsonValue, new_id, success
from conformance.reference.objects import change, find, find_in_state
from conformance.reference.webhooks import emit

_REASONS = {"eligible": [], "requested": ["ALREADY_REQUESTED"], "ineligible": ["PERIOD_ENDED"]}


def order_of(lines: list[JsonValue]) -> JsonObject:
    return {"lines": lines, "requests": []}


def after_sales_eligibility(call: Call, db: Connection) -> Answer:
    order = find(call, db, "order")
    lines = [{"lineId": line["lineId"], "quantity": line["quantity"]} for line in order.data["lines"]]
    eligible = order.state == "eligible"
    data = {"eligible": eligible, "reasons": _REASONS[order.state], "lines": lines if eligible else []}
    return success({"orderId": order.id, "version": order.version, **data})


def cancellation_eligibility(call: Call, db: Connection) -> Answer:
    order = find(call, db, "order")
    data = {"eligible": order.state == "eligible", "reasons": _REASONS[order.state]}
    return success({"orderId": order.id, "version": order.version, **data})


def request_after_sales(call: Call, db: Connection) -> Answer:
    order = find_in_state(call, db, "order")
    number = new_id("asr")
    change(db, order, "requested", {**order.data, "requests": [number]})
    emit(db, call, "after_sales.requested", {"orderId": order.id, "requestId": number})
    data = {"orderId": order.id, "state": "received", "reason": call.body["reason"], "items": call.body["items"]}
    return success({"id": number, **data})
