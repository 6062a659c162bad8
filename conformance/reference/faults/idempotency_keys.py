"""Faults of what the profile states of idempotency keys: IDEM-12 to IDEM-15."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Callable

from sqlalchemy import Connection, delete

from conformance.reference import objects
from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.idempotency import (
    Record,
    address,
    digest,
    find,
    key_parts,
    perform,
    reserve,
    save,
    with_namespace,
)
from conformance.reference.pipeline import read_body
from conformance.reference.policy import Handler, Policy, Waits, evolve, with_idempotency
from conformance.reference.registry import fault
from conformance.reference.tables import records

_WORK_S = 0.06
_PAUSE_S = 0.005


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


def _with_key(policy: Policy, change: Callable[[Call, str], str | None]) -> Policy:
    """Keys as the header has them, changed."""

    def key(call: Call) -> str | None:
        values = call.request.header_values(b"idempotency-key")
        found = change(call, values[0]) if len(values) == 1 else None
        return policy.idempotency.key(call) if found is None else found

    return with_idempotency(policy, key=key)


_UUID = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"


@fault(
    "F335",
    requirement="IDEM-13",
    title="keys in capitals are other keys",
    source="a UUID that is compared as text, in a column that distinguishes case",
)
def case_distinguished(policy: Policy) -> Policy:
    return _with_key(policy, lambda _call, text: text if re.fullmatch(_UUID, text, re.IGNORECASE) else None)


@fault(
    "F336",
    requirement="IDEM-13",
    title="keys in capitals refused",
    source="a pattern of hexadecimal digits that was written for lower case only",
)
def capitals_refused(policy: Policy) -> Policy:
    def check(_call: Call, text: str) -> str | None:
        if re.search("[A-F]", text):
            raise Refusal("bad_key", "The header Idempotency-Key must hold one UUID.")
        return None

    return _with_key(policy, check)


@fault(
    "F337",
    requirement="IDEM-13",
    title="a UUID with more characters behind it accepted",
    source="re.match in the place of re.fullmatch: a pattern that is not anchored at its end",
)
def suffix_accepted(policy: Policy) -> Policy:
    return _with_key(policy, lambda _call, text: text.lower() if re.match(_UUID, text, re.IGNORECASE) else None)


@fault(
    "F338",
    requirement="IDEM-13",
    title="keys with any letter accepted as a UUID",
    source=r"a pattern with \w for a hexadecimal digit",
)
def any_letter_accepted(policy: Policy) -> Policy:
    form = re.compile(r"\w{8}-(?:\w{4}-){3}\w{12}")
    return _with_key(policy, lambda _call, text: text.lower() if form.fullmatch(text) else None)


@fault(
    "F339",
    requirement="IDEM-13",
    title="a key of any format accepted",
    source="a format that is documented, and validated nowhere",
)
def any_format_accepted(policy: Policy) -> Policy:
    return _with_key(policy, lambda _call, text: text.lower() or None)


@fault(
    "F340",
    requirement="IDEM-13",
    title="UUIDs of version 3 and 5 refused",
    source="a validator that knows random and time-based UUIDs only",
)
def hashed_uuids_refused(policy: Policy) -> Policy:
    def check(_call: Call, text: str) -> str | None:
        if text[14:15] in ("3", "5"):
            raise Refusal("bad_key", "The header Idempotency-Key must hold one UUID.")
        return None

    return _with_key(policy, check)


@fault(
    "F341",
    requirement="IDEM-14",
    title="the same key on another path answers 409",
    source="a unique index over caller, operation and key, and a path in the fingerprint",
)
def path_conflicts(policy: Policy) -> Policy:
    return with_namespace(policy, "installation", "operation")


@fault(
    "F342",
    requirement="IDEM-14",
    title="the same key on another operation answers 409",
    source="a unique index over caller and key",
)
def operation_conflicts(policy: Policy) -> Policy:
    def namespace(call: Call) -> tuple[str, ...]:
        return (*key_parts(call, "installation"), *call.path.values())

    def fingerprint(call: Call) -> str:
        return digest(policy.idempotency.fingerprint(call), call.operation)

    return with_idempotency(policy, namespace=namespace, fingerprint=fingerprint)


@fault(
    "F343",
    requirement="IDEM-14",
    title="the same key of another installation answers 409",
    source="a unique index over the key alone, found when two customers used the same counter as key",
)
def installation_conflicts(policy: Policy) -> Policy:
    return with_namespace(policy, "operation", "path")


@fault(
    "F344",
    requirement="IDEM-14",
    title="keys belong to the credential, and the profile says to the installation",
    source="a store of keys by API key: after a rotation every repeated call is a new one",
)
def key_per_credential(policy: Policy) -> Policy:
    return with_namespace(policy, "credential", "operation", "path")


@fault(
    "F345",
    requirement="IDEM-15",
    title="a duplicate in flight is answered 409 at once",
    source="a lock that is tried, not waited for",
)
def duplicate_conflicts(policy: Policy) -> Policy:
    return with_idempotency(policy, on_flight="conflict", work_s=_WORK_S)


def _impatient(policy: Policy, attempts: Callable[[Call], int]) -> Policy:
    """Duplicates in flight give up after some attempts of 5 ms each; 0: they wait."""
    conflict = with_idempotency(policy, on_flight="conflict", work_s=_WORK_S)

    def reserve_soon(call: Call) -> Waits | None:
        return _attempts(call, attempts(call)) if attempts(call) else reserve(call)

    stages = tuple(reserve_soon if stage is reserve else stage for stage in policy.stages)
    waits = with_idempotency(conflict, on_flight="wait")
    return evolve(waits, stages=stages)


def _attempts(call: Call, most: int) -> Waits:
    policy = call.policy
    for attempt in range(most):
        call.policy = with_idempotency(policy, on_flight="conflict")
        try:
            yield from reserve(call) or ()
            return
        except Refusal:
            if attempt == most - 1:
                raise
            yield _PAUSE_S
        finally:
            call.policy = policy


@fault(
    "F346",
    requirement="IDEM-15",
    title="a duplicate in flight waits for 20 ms only",
    source="a lock with a timeout that is shorter than the call it waits for",
)
def short_wait(policy: Policy) -> Policy:
    return _impatient(policy, lambda _call: 4)


@fault(
    "F347",
    requirement="IDEM-15",
    title="a duplicate in flight waits for POST, and is answered 409 for PATCH and DELETE",
    operations=("updateInstallationWebhook", "removePublicCartPromotion"),
    source="a queue of duplicates in one of two middlewares",
)
def only_posts_wait(policy: Policy) -> Policy:
    return _impatient(policy, lambda call: int(call.request.method != "POST"))


@fault(
    "X57",
    requirement="IDEM-13",
    title="a UUID in braces or without its hyphens is accepted as key",
    source="a parser of UUIDs that reads each of their notations",
)
def uuid_in_any_notation(policy: Policy) -> Policy:
    def key(call: Call) -> str | None:
        with contextlib.suppress(ValueError):
            if sent := call.request.header(b"idempotency-key"):
                return str(uuid.UUID(sent))
        return policy.idempotency.key(call)

    return with_idempotency(policy, key=key)
