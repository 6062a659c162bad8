"""Faults of keys in use, stored failures and replays before authorization: IDEM-7 to IDEM-9."""

from __future__ import annotations

import time

from sqlalchemy import delete, insert, select

from conformance.reference.authentication import bearer
from conformance.reference.call import Answer, Call, Caller, Refusal
from conformance.reference.idempotency import address, digest, find, perform, resolve, save
from conformance.reference.pipeline import authenticate, execute, limit, read_body, read_key
from conformance.reference.policy import Handler, Policy, evolve, with_idempotency, with_status
from conformance.reference.registry import fault
from conformance.reference.tables import records, reservations

WORK_S = 0.06
"""Duration of a payment: long enough for a duplicate to arrive meanwhile."""


@fault("F087", requirement="IDEM-8", title="429 stored under key")
def stored_429(policy: Policy) -> Policy:
    def limit_and_store(call: Call) -> None:
        try:
            limit(call)
        except Refusal as refusal:
            if call.key is not None:
                with call.store.write() as db:
                    if find(db, address(call)) is None:
                        save(db, call, address(call), policy.error(call, refusal))
            raise

    stages = [stage for stage in policy.stages if stage is not limit]
    stages.insert(stages.index(execute), limit_and_store)
    return evolve(policy, stages=tuple(stages))


@fault("F089", requirement="IDEM-7", title="failed first attempt locks key at 409")
def failure_locks_key(policy: Policy) -> Policy:
    """The key is locked after authentication, and unlocked only by success."""

    def lock_of(call: Call) -> str:
        return digest("lock", call.operation, *call.path.values(), call.key or "")

    def lock(call: Call) -> None:
        read_key(call)
        if call.key is None:
            return
        with call.store.write() as db:
            if db.execute(select(reservations).where(reservations.c.address == lock_of(call))).first():
                raise Refusal("in_flight", "A request with this Idempotency-Key is under way.")
            db.execute(insert(reservations).values(address=lock_of(call), fingerprint="", expires_at=0.0))

    def execute_and_unlock(call: Call) -> None:
        execute(call)
        if call.key is not None:
            with call.store.write() as db:
                db.execute(delete(reservations).where(reservations.c.address == lock_of(call)))

    stages = [execute_and_unlock if stage is execute else stage for stage in policy.stages]
    stages.insert(stages.index(authenticate) + 1, lock)
    return evolve(policy, stages=tuple(stages))


def look_then_perform(call: Call, handler: Handler) -> Answer:
    """A call whose record is read in one transaction and written in another."""
    key = address(call)
    with call.store.write() as db:
        record = find(db, key)
        if record is not None:
            return resolve(call, record, db, handler)
    time.sleep(WORK_S)
    with call.store.write() as db:
        answer = perform(call, db, handler)
        db.execute(delete(records).where(records.c.address == key))
        save(db, call, key, answer)
        return answer


@fault("F092", requirement="IDEM-7", title="parallel duplicates both execute")
def look_then_leap(policy: Policy) -> Policy:
    """The record is read in one transaction and written in another."""

    return evolve(with_idempotency(policy, run=look_then_perform), overlap=True)


@fault(
    "X228",
    requirement="IDEM-7",
    title="checkout carries parallel duplicates out, and its state refuses all but one",
    operations=("checkoutPublicCart",),
    source="a handler of its own, which reads and writes the record in two transactions",
)
def duplicates_of_checkout(policy: Policy) -> Policy:
    usual = policy.idempotency.run

    def run(call: Call, handler: Handler) -> Answer:
        return (look_then_perform if call.operation == "checkoutPublicCart" else usual)(call, handler)

    return evolve(with_idempotency(policy, run=run), overlap=True)


@fault("F093", requirement="IDEM-7", title="parallel loser gets 500/503")
def loser_gets_503(policy: Policy) -> Policy:
    return with_status(with_idempotency(policy, on_flight="conflict", work_s=WORK_S), "in_flight", 503)


@fault("F097", requirement="IDEM-9", title="replay served to revoked key")
def replay_for_revoked(policy: Policy) -> Policy:
    """The record is looked up first; only calls without one need an active key."""

    def is_recorded(call: Call) -> bool:
        if call.operation not in policy.idempotency.operations:
            return False
        read_key(call)
        read_body(call)
        with call.store.read() as db:
            return call.key is not None and find(db, address(call)) is not None

    def identify(call: Call) -> Caller:
        caller = call.keys.by_secret(bearer(call))
        if caller is not None and not caller.active:
            call.caller = caller
            if is_recorded(call):
                return caller
        return policy.authenticate(call)

    return evolve(policy, authenticate=identify)
