"""Idempotent calls (interface, Endpoints, rule 2): one effect for each key, and its answer for repeats.

The record is written in the transaction of the effect, so that a crash loses both or none. The database blocks a second
call with the same key until the first one ends. Where an effect takes time (`work_s`), the key is first reserved in a
separate transaction, so that a duplicate can see the call in progress; the transaction of the effect ends the
reservation."""

from __future__ import annotations

import hashlib
import json
import re
import time
from dataclasses import dataclass
from enum import Enum

from sqlalchemy import Connection, bindparam, delete, insert, select
from sqlalchemy.exc import IntegrityError

from conformance.reference.call import Answer, Call, Refusal, canonical
from conformance.reference.policy import Handler, Policy, Waits, with_idempotency
from conformance.reference.tables import effects, records, reservations

LEASE_S = 10.0
POLL_S = 0.005
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_FIND = select(records).where(records.c.address == bindparam("key"))
_SAVE = insert(records)
_EFFECT = insert(effects)
_UNDER_WAY = select(reservations.c.expires_at).where(reservations.c.address == bindparam("key"))
_RESERVE = insert(reservations)
_RELEASE = delete(reservations).where(reservations.c.address == bindparam("key"))


class Reservation(Enum):
    """The state of a key when a call tries to reserve it."""

    RESERVED = "free, and reserved now"
    IN_FLIGHT = "reserved by a call in progress"
    COMPLETED = "used by a completed call"


@dataclass(frozen=True, slots=True)
class Record:
    address: str
    fingerprint: str
    status: int
    answer: Answer
    created_at: float


def header_key(call: Call) -> str | None:
    """The key of the header `Idempotency-Key`, a UUID. Raises Refusal: it is needed."""
    values = call.request.header_values(b"idempotency-key")
    if not values:
        raise Refusal("missing_key", "The header Idempotency-Key is required.")
    if len(values) > 1 or not _UUID.fullmatch(values[0]):
        raise Refusal("bad_key", "The header Idempotency-Key must hold one UUID.")
    return values[0].lower()


def owner(call: Call) -> str:
    """The owner of a key: an installation, an OAuth client or a hosted session."""
    if call.operation == "exchangeOAuthToken":
        return f"client:{call.body.get('clientId', '')}"
    return f"installation:{call.caller.installation}" if call.caller else f"session:{call.resource}"


def by_path(call: Call) -> tuple[str, ...]:
    """The namespace of a key: owner, operation and path id."""
    return (owner(call), call.operation, *call.path.values())


def key_parts(call: Call, *names: str) -> tuple[str, ...]:
    """The values of some of credential, installation, operation and path. Calls of public operations have no caller."""
    client = f"client:{call.body.get('clientId', '')}" if call.operation == "exchangeOAuthToken" else ""
    values = {
        "credential": f"credential:{call.caller.name}" if call.caller else client,
        "installation": f"installation:{call.caller.installation}" if call.caller else client,
        "operation": call.operation,
        "path": "/".join((call.operation, *call.path.values())),
    }
    return tuple(values[name] for name in names)


def with_namespace(policy: Policy, *parts: str) -> Policy:
    """Keys that belong to these of credential, installation, operation and path.

    A key under another one of the remaining parts counts as another payload.
    """

    def fingerprint(call: Call) -> str:
        return digest(policy.idempotency.fingerprint(call), *key_parts(call, *remaining))

    remaining = [part for part in ("installation", "operation", "path") if part not in parts]
    if "credential" in parts:
        remaining = [part for part in remaining if part != "installation"]
    return with_idempotency(policy, namespace=lambda call: key_parts(call, *parts), fingerprint=fingerprint)


def by_content(call: Call) -> str:
    """A fingerprint by JSON value; for a token request also by its proof key (RFC 9449)."""
    proof_key = call.proof.jkt if call.proof else ""
    return digest(canonical(call.body), proof_key)


def digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def address(call: Call) -> str:
    return digest(*call.policy.idempotency.namespace(call), call.key or "")


def find(db: Connection, key: str) -> Record | None:
    row = db.execute(_FIND, {"key": key}).first()
    if row is None:
        return None
    value, headers = json.loads(row.answer)
    return Record(
        key, row.fingerprint, row.status, Answer(value, row.status, tuple(map(tuple, headers))), row.created_at
    )


def find_unexpired(db: Connection, call: Call, key: str) -> Record | None:
    """The record of a key; one that is forgotten is removed."""
    record = find(db, key)
    if record is None or not call.policy.idempotency.is_forgotten(call, time.time() - record.created_at):
        return record
    db.execute(delete(records).where(records.c.address == key))
    return None


def save(db: Connection, call: Call, key: str, answer: Answer) -> None:
    rules = call.policy.idempotency
    holder = owner(call)
    content = json.dumps([answer.value, answer.headers])
    row = {"address": key, "owner": holder, "fingerprint": rules.fingerprint(call), "status": answer.status}
    db.execute(_SAVE, {**row, "answer": content, "created_at": time.time()})
    if rules.keep is not None:
        newest = select(records.c.created_at).where(records.c.owner == holder)
        oldest = newest.order_by(records.c.created_at.desc()).offset(rules.keep - 1).limit(1).scalar_subquery()
        db.execute(delete(records).where(records.c.owner == holder, records.c.created_at < oldest))


def perform(call: Call, db: Connection, handler: Handler) -> Answer:
    """Executes a call and records its effect."""
    answer = handler(call, db)
    data = answer.value.get("data") if isinstance(answer.value, dict) else None
    resource_id = data.get("id", "") if isinstance(data, dict) else ""
    row = {"operation": call.operation, "resource": call.resource or str(resource_id), "detail": json.dumps(call.body)}
    db.execute(_EFFECT, {**row, "at": time.time()})
    return answer


def resolve(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
    """The answer to a call with a recorded key."""
    rules = call.policy.idempotency
    is_same_payload = record.fingerprint == rules.fingerprint(call)
    return (rules.replay if is_same_payload else rules.on_mismatch)(call, record, db, handler)


def refuse_mismatch(_call: Call, _record: Record, _db: Connection, _handler: Handler) -> Answer:
    raise Refusal("mismatch", "This Idempotency-Key was used with another payload.")


def replay(_call: Call, record: Record, _db: Connection, _handler: Handler) -> Answer:
    """The stored answer, unchanged."""
    return record.answer


def run_once(call: Call, handler: Handler) -> Answer:
    """Executes a call once for each key; see the module."""
    key = address(call)
    try:
        return _attempt(call, handler, key)
    except Refusal as refusal:
        _remember_refusal(call, key, refusal)
        raise


def _attempt(call: Call, handler: Handler, key: str) -> Answer:
    while True:
        try:
            with call.store.write() as db:
                call.store.lock(db, key)
                record = find_unexpired(db, call, key)
                if record is not None:
                    return resolve(call, record, db, handler)
                answer = perform(call, db, handler)
                if call.policy.idempotency.remembers(answer.status):
                    save(db, call, key, answer)
                if call.reservation:
                    db.execute(_RELEASE, {"key": call.reservation})
                break
        except IntegrityError:  # another worker was first, on a database without advisory locks
            time.sleep(POLL_S)
    call.reservation = ""
    return answer


def _remember_refusal(call: Call, key: str, refusal: Refusal) -> None:
    status = call.policy.statuses[refusal.kind]
    if refusal.kind in ("mismatch", "in_flight") or not call.policy.idempotency.remembers(status):
        return
    with call.store.write() as db:
        if find_unexpired(db, call, key) is None:
            save(db, call, key, call.policy.error(call, refusal))


def reserve(call: Call) -> Waits | None:
    """Reserves a call's key where effects take time, and then waits for that time.

    Raises Refusal of kind `in_flight` where a duplicate is in progress and the policy does not wait.
    """
    return _wait_and_reserve(call) if call.policy.idempotency.work_s and call.key is not None else None


def _wait_and_reserve(call: Call) -> Waits:
    rules = call.policy.idempotency
    key = address(call)
    deadline = time.monotonic() + LEASE_S
    while (reservation := _try_reserve(call, key)) is Reservation.IN_FLIGHT:
        if rules.on_flight == "conflict" or time.monotonic() > deadline:
            raise Refusal("in_flight", "A request with this Idempotency-Key is under way.")
        yield POLL_S
    if reservation is Reservation.RESERVED:
        call.reservation = key
        yield rules.work_s


def release(call: Call) -> None:
    """Ends a call's reservation, where it still has one."""
    if call.reservation:
        with call.store.write() as db:
            db.execute(_RELEASE, {"key": call.reservation})


def _try_reserve(call: Call, key: str) -> Reservation:
    now = time.time()
    try:
        with call.store.write() as db:
            if find_unexpired(db, call, key) is not None:
                return Reservation.COMPLETED
            expires_at = db.execute(_UNDER_WAY, {"key": key}).scalar()
            if expires_at is not None and expires_at >= now:
                return Reservation.IN_FLIGHT
            if expires_at is not None:
                db.execute(_RELEASE, {"key": key})
            values = {"address": key, "fingerprint": call.policy.idempotency.fingerprint(call)}
            db.execute(_RESERVE, {**values, "expires_at": now + LEASE_S})
            return Reservation.RESERVED
    except IntegrityError:
        return Reservation.IN_FLIGHT
