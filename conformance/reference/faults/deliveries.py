"""Faults of the events that calls cause: how often they are delivered (IDEM-2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, new_id
from conformance.reference.idempotency import Record
from conformance.reference.policy import Handler, Policy, with_idempotency
from conformance.reference.registry import fault
from conformance.reference.webhooks import emit

_EVENTS: Final[Mapping[str, str]] = {
    "checkoutPublicCart": "cart.checked_out",
    "revokePublicCart": "cart.revoked",
    "requestStorefrontOrderAfterSales": "after_sales.requested",
}


def _with_events_of_replays(policy: Policy, *operations: str) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        if call.operation in operations:
            emit(db, call, _EVENTS[call.operation], {"eventId": new_id("evt"), "of": call.resource})
        return policy.idempotency.replay(call, record, db, handler)

    return with_idempotency(policy, replay=replay)


@fault(
    "X235",
    requirement="IDEM-2",
    title="a replayed call delivers its event once more",
    operations=tuple(_EVENTS),
    source="an event that is published by a filter around the handler, which sees a 200 and no replay",
)
def events_of_replays(policy: Policy) -> Policy:
    return _with_events_of_replays(policy, *_EVENTS)


@fault(
    "X236",
    requirement="IDEM-2",
    title="a replayed checkout delivers a second event, of another id",
    operations=("checkoutPublicCart",),
    source="a listener of the payment provider, which confirms a payment again where it is asked for again",
    seeded_in="V683",
)
def event_of_a_replayed_checkout(policy: Policy) -> Policy:
    return _with_events_of_replays(policy, "checkoutPublicCart")
