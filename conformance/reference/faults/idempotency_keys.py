"""Faults of what the profile states of idempotency keys: IDEM-12 to IDEM-15."""

from __future__ import annotations

from sqlalchemy import Connection, delete

from conformance.reference import objects
from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.idempotency import Record, address, digest, find, perform, save
from conformance.reference.pipeline import read_body
from conformance.reference.policy import Handler, Policy, evolve, with_idempotency
from conformance.reference.registry import fault
from conformance.reference.tables import records


def _remembering(policy: Policy, *statuses: int) -> Policy:
    return with_idempotency(policy, remembers=lambda status: status in statuses)


@fault(
    "F330",
    requirement="IDEM-12",
    title="404 stored under the key, and not stated",
    source="a middleware that stores every answer that the handler gave, refusals included",
)
def not_found_stored(policy: Policy) -> Policy:
    return _remembering(policy, 200, 404)


@fault(
    "F331",
    requirement="IDEM-12",
    title="409 stored under the key, and not stated",
    source="a stored conflict that outlives the state that it was about",
)
def conflict_stored(policy: Policy) -> Policy:
    return _remembering(policy, 200, 409)


@fault(
    "F332",
    requirement="IDEM-12",
    title="400 of an invalid body stored under the key, and not stated",
    source="a middleware around the validation of bodies",
)
def invalid_body_stored(policy: Policy) -> Policy:
    def read_body_and_store(call: Call) -> None:
        try:
            read_body(call)
        except Refusal as refusal:
            if call.key is not None and refusal.kind == "invalid":
                call.body = {"unread": digest(call.request.body.decode("latin-1"))}
                with call.store.write() as db:
                    if find(db, address(call)) is None:
                        save(db, call, address(call), policy.error(call, refusal))
            raise

    return evolve(policy, stages=tuple(read_body_and_store if stage is read_body else stage for stage in policy.stages))


def _resource_version(db: Connection, call: Call) -> int | None:
    found = objects.get(db, call.resource)
    return found.version if found is not None else None


@fault(
    "F333",
    requirement="IDEM-12",
    title="a stored answer is dropped once its resource was changed",
    source="a cache of answers that is invalidated by every write to the resource",
)
def change_drops_record(policy: Policy) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        data = record.answer.value.get("data", {})
        stored = data.get("version") if isinstance(data, dict) else None
        current = _resource_version(db, call)
        if stored is None or current is None or stored == current:
            return policy.idempotency.replay(call, record, db, handler)
        db.execute(delete(records).where(records.c.address == record.address))
        answer = perform(call, db, handler)
        save(db, call, record.address, answer)
        return answer

    return with_idempotency(policy, replay=replay)


@fault(
    "F334",
    requirement="IDEM-12",
    title="a refused checkout uses its key up",
    operations=("checkoutPublicCart",),
    source="a payment service that is asked with the shop's key, and refuses it from then on",
)
def refused_checkout_stored(policy: Policy) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if call.operation == "checkoutPublicCart" and refusal.kind not in ("mismatch", "in_flight"):
                with call.store.write() as db:
                    if find(db, address(call)) is None:
                        save(db, call, address(call), policy.error(call, refusal))
            raise

    return with_idempotency(policy, run=run)
