"""Legitimate kinds of idempotency: waiting, equality of payloads, stored answers, namespaces, replays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from sqlalchemy import Connection

from conformance.reference import idempotency, objects
from conformance.reference.call import Answer, Call, JsonValue, Refusal
from conformance.reference.idempotency import Record, address, digest, find, save, with_namespace
from conformance.reference.pipeline import execute, read_body
from conformance.reference.policy import Handler, Policy, evolve, with_idempotency, with_shape, with_stage
from conformance.reference.registry import variant

WORK_S = 0.02
RETENTION_S = 3.0
_DAY_S = 86_400.0
"""The time after which `V493` forgets a key."""


@variant(
    "D03",
    requirement="IDEM-7",
    title="in-flight duplicate waits, then replays 200",
    profile={"idempotency": {"in_flight": "waits"}},
)
def duplicate_waits(policy: Policy) -> Policy:
    return with_idempotency(policy, on_flight="wait", work_s=WORK_S)


@variant(
    "D04",
    requirement="IDEM-7",
    title="in-flight duplicate answers 409 at once",
    profile={"idempotency": {"in_flight": "conflict"}},
)
def duplicate_conflicts(policy: Policy) -> Policy:
    return with_idempotency(policy, on_flight="conflict", work_s=WORK_S)


@variant("D05", requirement="IDEM-4", title="payload equality on raw bytes (UCP rule)")
def raw_bytes(policy: Policy) -> Policy:
    def fingerprint(call: Call) -> str:
        return digest(call.request.body.decode("latin-1"), call.proof.jkt if call.proof else "")

    return with_idempotency(policy, fingerprint=fingerprint)


@variant("D06", requirement="IDEM-4", title="payload equality on canonical JSON (ACP rule)")
def canonical_json(policy: Policy) -> Policy:
    return with_idempotency(policy, fingerprint=idempotency.by_content)


@variant(
    "D07",
    requirement="IDEM-8",
    title="4xx stored and replayed under the key",
    profile={"idempotency": {"kept": [200, 400, 404, 409]}},
)
def refusals_stored(policy: Policy) -> Policy:
    """All except 401, 403 and 429, which do not depend on the request itself; invalid bodies by their bytes."""

    def read_body_and_store(call: Call) -> None:
        try:
            read_body(call)
        except Refusal as refusal:
            if call.key is not None:
                _store(call, policy.error(call, refusal))
            raise

    stages = tuple(read_body_and_store if stage is read_body else stage for stage in policy.stages)
    return with_idempotency(evolve(policy, stages=stages), remembers=lambda status: status in (200, 400, 404, 409))


def _store(call: Call, answer: Answer) -> None:
    call.body = {"unread": digest(call.request.body.decode("latin-1"))}
    with call.store.write() as db:
        if find(db, address(call)) is None:
            save(db, call, address(call), answer)


@variant("D08", requirement="IDEM-8", title="only 2xx stored")
def successes_stored(policy: Policy) -> Policy:
    return with_idempotency(policy, remembers=lambda status: 200 <= status < 300)


@variant(
    "D09",
    requirement="IDEM-5",
    title="key namespace is the installation: reuse on another op answers 409",
    profile={"idempotency": {"namespace": ["installation"]}},
)
def key_per_installation(policy: Policy) -> Policy:
    return with_namespace(policy, "installation")


@variant("D10", requirement="IDEM-5", title="key namespace is the operation+path: reuse on another op executes")
def key_per_path(policy: Policy) -> Policy:
    return with_idempotency(policy, namespace=idempotency.by_path)


def _reverse_members(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _reverse_members(value[name]) for name in reversed(value)}
    return [_reverse_members(item) for item in value] if isinstance(value, list) else value


@variant(
    "D11",
    requirement="IDEM-1",
    title="replay re-serialised, other member order, new requestId/timestamp, extra header",
    profile={
        "idempotency": {"volatile": ["/requestId", "/servedAt"]},
        "answers": {"further_members": "allowed"},
    },
)
def replay_rewritten(policy: Policy) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        answer = policy.idempotency.replay(call, record, db, handler)
        return evolve(
            answer, value=_reverse_members(answer.value), headers=(*answer.headers, ("Idempotent-Replayed", "true"))
        )

    def stamp(call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return evolve(answer, value={**answer.value, "requestId": call.request_id, "servedAt": time.time()})

    return with_shape(with_idempotency(policy, replay=replay), stamp)


@variant(
    "D12",
    requirement="IDEM-1",
    title="replay reports latest state of the resource (PayPal style)",
    profile={"idempotency": {"volatile": ["/data/state", "/data/version"]}},
)
def replay_is_current(policy: Policy) -> Policy:
    def replay(call: Call, record: Record, db: Connection, handler: Handler) -> Answer:
        answer = policy.idempotency.replay(call, record, db, handler)
        data = answer.value.get("data", {})
        thing = objects.get(db, str(data.get("id", data.get("sessionId", ""))))
        if thing is None:
            return answer
        current = {"state": thing.state, "version": thing.version}
        latest = {name: value for name, value in current.items() if name in data}
        return evolve(answer, value={**answer.value, "data": {**data, **latest}})

    return with_idempotency(policy, replay=replay)


@variant(
    "V493",
    requirement="IDEM-1",
    title="keys are forgotten after three seconds",
    profile={"idempotency": {"retention_s": RETENTION_S}},
)
def short_retention(policy: Policy) -> Policy:
    return with_idempotency(policy, is_forgotten=lambda _call, age_s: age_s >= RETENTION_S)


@variant(
    "V559",
    requirement="IDEM-1",
    title="keys are kept for a day, as stated",
    profile={"idempotency": {"retention_s": _DAY_S}},
)
def retention_of_a_day(policy: Policy) -> Policy:
    return with_idempotency(policy, is_forgotten=lambda _call, age_s: age_s >= _DAY_S)


@variant(
    "V555",
    requirement="IDEM-7",
    title="4xx stored under the key, also of a body whose connection ends before it does",
    profile={"idempotency": {"kept": [200, 400, 404, 409]}},
)
def parts_of_bodies_stored(policy: Policy) -> Policy:
    return evolve(refusals_stored(policy), transport=evolve(policy.transport, takes_part_of_body=True))


def _with_stamp(policy: Policy, name: str, stamp: Callable[[], str]) -> Policy:
    def shape(_call: Call, answer: Answer) -> Answer:
        return evolve(answer, value={**answer.value, name: stamp()}) if answer.status == 200 else answer

    return with_shape(policy, shape)


@variant(
    "V597",
    requirement="IDEM-12",
    title="a key is in use for 0.3 s after a 401, 403 or 404: the same call of the same caller waits, others get 409",
    profile={"idempotency": {"in_flight": None}},
)
def keys_of_refused_calls_in_use(policy: Policy) -> Policy:
    in_use: dict[tuple[str, bytes, str], tuple[float, tuple[str, bytes]]] = {}

    def key_of(call: Call) -> tuple[str, bytes, str]:
        return call.operation, call.request.path, call.request.first_header(b"idempotency-key")

    def content_of(call: Call) -> tuple[str, bytes]:
        return call.request.first_header(b"authorization"), call.request.body

    def claim(call: Call) -> Iterator[float] | None:
        until, content = in_use.get(key_of(call), (0.0, ("", b"")))
        remaining_s = until - time.monotonic()
        if remaining_s <= 0:
            return None
        if content != content_of(call):
            raise Refusal("in_flight", "A call with this Idempotency-Key is under way.")
        return iter((remaining_s,))

    def shape(call: Call, answer: Answer) -> Answer:
        if call.operation in policy.idempotency.operations and answer.status in (401, 403, 404):
            in_use[key_of(call)] = time.monotonic() + 0.3, content_of(call)
        return answer

    return with_shape(with_stage(policy, claim, before=execute), shape)
