"""Legitimate forms of webhook endpoints."""

from __future__ import annotations

import hashlib
import time
from typing import Final

from sqlalchemy import Connection, insert, select

from conformance.reference.call import Answer, Call, JsonObject, Refusal, new_id
from conformance.reference.idempotency import Record
from conformance.reference.policy import (
    Handler,
    Policy,
    before_work,
    evolve,
    with_handler,
    with_handlers,
    with_idempotency,
    with_schema,
    with_shape,
)
from conformance.reference.registry import variant
from conformance.reference.tables import deliveries
from conformance.reference.webhooks import emit

_CREATE, _UPDATE = "createInstallationWebhook", "updateInstallationWebhook"


@variant(
    "V579",
    requirement="WH-2",
    title="an endpoint has a status, active or paused, which updates alone name",
    profile={
        "operations": {
            _CREATE: {
                "body": {"active": None},
                "bodies": [{"url": "https://hooks.example/{unique}", "events": ["after_sales.requested"]}],
            },
            _UPDATE: {"body": {"active": None}},
        },
        "schemas": {
            "names": {
                "PublicWebhookCreateRequest": "PlainWebhookCreateRequest",
                "PublicWebhookUpdateRequest": "StatusWebhookUpdateRequest",
                "OperationResponse": "OpenOperationResponse",
            }
        },
        "webhooks": {"kept": ["/data/url", "/data/events", "/data/status", "/data/metadata"]},
    },
)
def status_of_endpoints(policy: Policy) -> Policy:
    def with_switch(call: Call, _db: Connection) -> Call:
        body = {name: value for name, value in call.body.items() if name != "status"}
        if "status" in call.body:
            body["active"] = call.body["status"] == "active"
        return evolve(call, body=body)

    def with_status(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        data = {name: value for name, value in answer.value["data"].items() if name != "active"}
        status = "active" if answer.value["data"]["active"] else "paused"
        return evolve(answer, value={**answer.value, "data": {**data, "status": status}})

    for operation in (_CREATE, _UPDATE):
        schema = policy.reading.schemas[operation]
        members = {name: member for name, member in schema["properties"].items() if name != "active"}
        if operation == _UPDATE:
            members["status"] = {"type": "string", "enum": ["active", "paused"]}
        policy = with_schema(policy, operation, {**schema, "properties": members})
    return with_shape(before_work(policy, with_switch, _UPDATE), with_status, _CREATE, _UPDATE)


@variant(
    "V598",
    requirement="IDEM-6",
    title="a URL is registered once, by whichever installation; what a key belongs to is not stated",
    profile={
        "idempotency": {"namespace": None},
        "transitions": [{"operation": _CREATE, "none": "no state; a URL that is registered already conflicts"}],
    },
)
def unique_urls(policy: Policy) -> Policy:
    known: set[str] = set()

    def look(call: Call, _db: Connection) -> None:
        if call.body["url"] in known:
            raise Refusal("state_conflict", "The URL is registered already.")
        known.add(call.body["url"])

    return before_work(policy, look, _CREATE)


@variant(
    "V670",
    requirement="WH-2",
    title="a new URL is pending until it is verified, and only the call that names metadata shows it",
    profile={"webhooks": {"kept": ["/data/url", "/data/events", "/data/active"]}},
)
def pending_urls_and_masked_metadata(policy: Policy) -> Policy:
    """Metadata may hold secrets, so that later answers mask it."""

    def with_mask(call: Call, answer: Answer) -> Answer:
        if answer.status != 200 or "metadata" in call.body:
            return answer
        data = answer.value["data"]
        data = {**data, "metadata": dict.fromkeys(data["metadata"], "***")}
        return evolve(answer, value={**answer.value, "data": data})

    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        return policy.merge(old, {name: value for name, value in changes.items() if name != "url"})

    return with_shape(evolve(policy, merge=merge), with_mask, _CREATE, _UPDATE)


_EVENT_IDS: Final = {
    "schemas": {"names": {"OperationResponse": "OpenOperationResponse"}},
    "answers": {"further_members": "allowed"},
}


@variant("V683", requirement="IDEM-2", title="a delivery names the event that it is of", profile=_EVENT_IDS)
def deliveries_with_event_ids(policy: Policy) -> Policy:
    def wrap(inner: Handler) -> Handler:
        def handler(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            payloads = {row.id: row.payload for row in db.execute(select(deliveries.c.id, deliveries.c.payload))}
            items = [
                {**item, "eventId": _event_id(payloads[item["id"]])} for item in answer.value["data"]["deliveries"]
            ]
            return evolve(answer, value={"data": {"deliveries": items}})

        return handler

    return with_handler(policy, "listInstallationWebhookDeliveries", wrap)


def _event_id(payload: str) -> str:
    return "evt_" + hashlib.sha256(payload.encode()).hexdigest()[:20]


@variant(
    "V684",
    requirement="IDEM-2",
    title="a replay sends the event of its call again under its id, which a delivery shows",
    profile=_EVENT_IDS,
)
def events_sent_again(policy: Policy) -> Policy:
    """At least once: a subscriber knows the event by its id."""

    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        sent = select(deliveries).where(deliveries.c.payload.contains(f'"{call.resource}"'))
        found = db.execute(sent).mappings() if call.resource else ()
        first = {(row["endpoint"], row["payload"]): row for row in found}
        if first:
            now = time.time()
            rows = [{**row, "id": new_id("del"), "created_at": now} for row in first.values()]
            db.execute(insert(deliveries), rows)
        return policy.idempotency.replay(call, record, db, handler)

    return deliveries_with_event_ids(with_idempotency(policy, replay=replay))


_SHOP_CALLS: Final = (
    "requestStorefrontOrderAfterSales",
    *("removePublicCartPromotion", "checkoutPublicCart", "quotePublicCart", "revokePublicCart"),
)


@variant(
    "V685",
    requirement="IDEM-2",
    title="each call on a cart or an order is delivered as an event of its own, and so is each replay",
    profile=_EVENT_IDS,
)
def events_of_calls(policy: Policy) -> Policy:
    """A log of calls for subscribers: the effect of the call is one, but its answers are several."""

    def log(call: Call, db: Connection) -> None:
        if call.operation in _SHOP_CALLS:
            emit(db, call, "call.answered", {"call": new_id("call")}, known_as="cart.revoked")

    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        log(call, db)
        return policy.idempotency.replay(call, record, db, handler)

    def wrap(inner: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            log(call, db)
            return answer

        return act

    return deliveries_with_event_ids(with_handlers(with_idempotency(policy, replay=replay), _SHOP_CALLS, wrap))
