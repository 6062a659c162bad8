"""Faults of a status of webhook endpoints that updates alone name, and of their end: STA-1, WH-1, WH-2."""

from __future__ import annotations

import time

from sqlalchemy import Connection, select

from conformance.reference.call import Call, Refusal
from conformance.reference.policy import Policy, before_work, evolve
from conformance.reference.registry import fault
from conformance.reference.tables import objects

_UPDATE = "updateInstallationWebhook"


@fault(
    "X129",
    requirement="STA-1",
    title="an update with one value of its list ends in 500",
    operations=(_UPDATE,),
    source="a value that was added to the schema, and not to the type of a database's column",
    seeded_in="V579",
)
def listed_value_fails(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if call.body.get("status") == "paused":
            raise ValueError("invalid input value for enum endpoint_status: paused")

    return before_work(policy, look, _UPDATE)


@fault(
    "X130",
    requirement="WH-2",
    title="an update without a status activates a paused endpoint",
    operations=(_UPDATE,),
    source="a default in the model of the request, which an update shares with create",
    seeded_in="V579",
)
def default_of_an_update(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        return evolve(call, body={"active": True, **call.body})

    return before_work(policy, look, _UPDATE)


@fault(
    "X206",
    requirement="WH-1",
    title="an endpoint is unknown to updates a second after its creation",
    operations=(_UPDATE,),
    source="an entry of a cache with a lifetime, and no row behind it: it was written in a transaction that was lost",
)
def lost_endpoint(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        created_at = db.scalar(select(objects.c.created_at).where(objects.c.id == call.resource))
        if created_at is not None and time.time() - created_at > 1.0:
            raise Refusal("not_found", "There is no such resource.")

    return before_work(policy, look, _UPDATE)
