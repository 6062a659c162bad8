"""Faults of the record of a key, with rare calls: IDEM-1, IDEM-4, IDEM-5, IDEM-7, IDEM-8, IDEM-12, IDEM-14."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable

from sqlalchemy import Connection, delete

from conformance.reference.call import Answer, Call, Caller, JsonValue, Refusal, dumps
from conformance.reference.faults.flight import WORK_S, look_then_perform
from conformance.reference.idempotency import (
    POLL_S,
    Record,
    address,
    find,
    key_parts,
    owner,
    reserve,
    save,
)
from conformance.reference.pipeline import read_body
from conformance.reference.policy import (
    Handler,
    Policy,
    Waits,
    evolve,
    with_handlers,
    with_idempotency,
    with_stage,
)
from conformance.reference.registry import fault
from conformance.reference.tables import records

_MAX_ANSWER = 4096


def _map(value: JsonValue, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
    if isinstance(value, dict):
        value = {name: _map(item, change) for name, item in value.items()}
    elif isinstance(value, list):
        value = [_map(item, change) for item in value]
    return change(value)


def _after_run(policy: Policy, react: Callable[[Call, Answer], None]) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        answer = policy.idempotency.run(call, handler)
        react(call, answer)
        return answer

    return with_idempotency(policy, run=run)


def _forget(call: Call, key: str) -> None:
    with call.store.write() as db:
        db.execute(delete(records).where(records.c.address == key))


def _is_part(part: JsonValue, whole: JsonValue) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and _is_part(item, whole[name]) for name, item in part.items())
    return bool(part == whole)


def _with_waits(policy: Policy, waiters: set[str]) -> Policy:
    """Effects that take time, and the request ids of the calls that waited for a duplicate."""

    def reserve_and_note(call: Call) -> Waits | None:
        waits = reserve(call)
        return None if waits is None else note(call, waits)

    def note(call: Call, waits: Waits) -> Waits:
        for wait_s in waits:
            if wait_s == POLL_S:
                waiters.add(call.request_id)
            yield wait_s

    stages = tuple(reserve_and_note if stage is reserve else stage for stage in policy.stages)
    return with_idempotency(evolve(policy, stages=stages), work_s=WORK_S)


@fault(
    "F664",
    requirement="IDEM-5",
    title="a key used on a second path frees it on the first one",
    source="an upsert of the key's row, whose path is a plain column: a row of another path is overwritten",
)
def one_row_for_each_key(policy: Policy) -> Policy:
    rows: dict[tuple[str, ...], str] = {}

    def react(call: Call, _answer: Answer) -> None:
        row, key = (owner(call), call.operation, call.key or ""), address(call)
        old = rows.get(row)
        rows[row] = key
        if old is not None and old != key:
            _forget(call, old)

    return _after_run(policy, react)


@fault(
    "F665",
    requirement="IDEM-4",
    title="members that the second payload leaves out do not count",
    source="a loop over the members of the new request, which compares each with the stored one",
)
def left_out_members(policy: Policy) -> Policy:
    bodies: dict[str, JsonValue] = {}

    def mismatch(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        if _is_part(call.body, bodies.get(record.address, [])):
            return record.answer
        return policy.idempotency.on_mismatch(call, record, db, handler)

    changed = with_idempotency(policy, on_mismatch=mismatch)
    return _after_run(changed, lambda call, _answer: bodies.setdefault(address(call), call.body) and None)


@fault(
    "F666",
    requirement="IDEM-1",
    title="an empty object of an answer is an empty list in its replay",
    operations=("createInstallationWebhook", "updateInstallationWebhook"),
    source="PHP, whose json_decode(..., true) and json_encode turn {} into []",
)
def empty_object_replayed(policy: Policy) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        answer = policy.idempotency.replay(call, record, db, handler)
        return evolve(answer, value=_map(answer.value, lambda value: [] if value == {} else value))

    return with_idempotency(policy, replay=replay)


@fault(
    "F667",
    requirement="IDEM-1",
    title="answers of more than 4 KiB are not kept",
    operations=("createInstallationWebhook", "updateInstallationWebhook", "requestStorefrontOrderAfterSales"),
    source="a store with a limit for one item, whose error is logged and ignored",
)
def long_answers_lost(policy: Policy) -> Policy:
    def react(call: Call, answer: Answer) -> None:
        if len(dumps(answer.value)) > _MAX_ANSWER:
            _forget(call, address(call))

    return _after_run(policy, react)


@fault(
    "F668",
    requirement="IDEM-7",
    title="a duplicate that waited for a call that was refused ends in 500",
    source="the lock is awaited, and the record of the first call is then read without a test for none",
)
def no_record_after_the_wait(policy: Policy) -> Policy:
    waiters: set[str] = set()

    def run(call: Call, handler: Handler) -> Answer:
        if call.request_id in waiters:
            with call.store.read() as db:
                record = find(db, address(call))
            assert record is not None
        return policy.idempotency.run(call, handler)

    return with_idempotency(_with_waits(policy, waiters), run=run)


@fault(
    "F669",
    requirement="IDEM-14",
    title="parallel duplicates by two credentials of one installation both execute",
    source="a lock named by credential and key, and records by installation and key",
)
def locked_by_credential(policy: Policy) -> Policy:
    locks: dict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)

    def run(call: Call, handler: Handler) -> Answer:
        with locks[call.caller.name if call.caller else "", address(call)]:
            return look_then_perform(call, handler)

    return evolve(with_idempotency(policy, run=run), overlap=True)


@fault(
    "X140",
    requirement="IDEM-14",
    title="the same key of another credential replaces the record of the first call",
    source="a primary key over key and operation, with the caller in a column: an insert that replaces",
    seeded_in="V311",
)
def replaced_by_another_credential(policy: Policy) -> Policy:
    return _with_row_of_last_holder(policy, lambda call: call.caller.name if call.caller else "", "operation")


@fault(
    "X141",
    requirement="IDEM-14",
    title="the same key of another installation replaces the record of the first call",
    operations=("createInstallationWebhook",),
    source="a primary key over key and path, with the tenant in a column: an insert that replaces",
)
def replaced_by_another_installation(policy: Policy) -> Policy:
    return _with_row_of_last_holder(policy, owner, "operation", "path")


def _with_row_of_last_holder(policy: Policy, holder: Callable[[Call], str], *parts: str) -> Policy:
    """Keys of these parts, of which a call of another holder finds no record, and then writes its own over it."""
    holders: dict[str, str] = {}

    def note(call: Call, _answer: Answer) -> None:
        holders[address(call)] = holder(call)

    def is_forgotten(call: Call, _age_s: float) -> bool:
        return holders.get(address(call), holder(call)) != holder(call)

    noted = _after_run(policy, note)
    return with_idempotency(noted, namespace=lambda call: key_parts(call, *parts), is_forgotten=is_forgotten)


@fault(
    "F972",
    requirement="IDEM-12",
    title="an endpoint keeps the key of its last update alone",
    operations=("updateInstallationWebhook",),
    source="the key in a column of the resource",
)
def key_in_a_column(policy: Policy) -> Policy:
    last: dict[str, str | None] = {}

    def note(call: Call, answer: Answer) -> None:
        if call.operation == "updateInstallationWebhook" and answer.status == 200:
            last[call.resource] = call.key

    def is_forgotten(call: Call, _age_s: float) -> bool:
        return call.operation == "updateInstallationWebhook" and last.get(call.resource, call.key) != call.key

    return with_idempotency(_after_run(policy, note), is_forgotten=is_forgotten)


@fault(
    "F973",
    requirement="IDEM-8",
    title="a call that is refused for a revoked API key uses its idempotency key up",
    source="a lock of the key that is taken before the status of the API key is read",
)
def key_of_a_revoked_caller(policy: Policy) -> Policy:
    used: set[str] = set()

    def authenticate(call: Call) -> Caller:
        try:
            return policy.authenticate(call)
        except Refusal as refusal:
            if refusal.kind == "revoked_credential":
                used.add(call.request.first_header(b"idempotency-key").lower())
            raise

    def refuse_used(call: Call) -> None:
        if call.key in used:
            raise Refusal("in_flight", "A request with this Idempotency-Key is under way.")

    return with_stage(evolve(policy, authenticate=authenticate), refuse_used, before=read_body)


def _storing(policy: Policy, kind: str, *operations: str) -> Policy:
    """Stores refusals of this kind under their keys."""

    def wrap(original: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            try:
                return original(call, db)
            except Refusal as refusal:
                if refusal.kind != kind:
                    raise
                answer = policy.error(call, refusal)
                save(db, call, address(call), answer)
                return answer

        return act

    return with_handlers(policy, operations, wrap)


@fault(
    "X93",
    requirement="IDEM-12",
    title="the refusal of a wrong ticket is stored under the key",
    operations=("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser"),
    source="a handler that returns a refusal in place of raising it, so that its transaction is committed",
)
def wrong_ticket_stored(policy: Policy) -> Policy:
    return _storing(policy, "bad_ticket", "consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")


@fault(
    "X94",
    requirement="IDEM-12",
    title="the refusal of a grant is stored under the key",
    operations=("exchangeOAuthToken",),
    source="a library for OAuth whose error is an answer, which the middleware stores like any other",
)
def refused_grant_stored(policy: Policy) -> Policy:
    return _storing(policy, "bad_grant", "exchangeOAuthToken")
