"""Legitimate limits, tickets, copies and caches: what counts calls, ends a ticket, or answers for the service."""

from __future__ import annotations

import time

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, Refusal, Reply
from conformance.reference.policy import (
    Handler,
    Policy,
    before_work,
    with_handlers,
    with_limits,
    with_shape,
    with_wire,
)
from conformance.reference.registry import variant

_CREATE, _UPDATE = "createInstallationWebhook", "updateInstallationWebhook"
_HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")
_CACHED = (
    "searchPublicProducts",
    "listPublicMerchantCategories",
    "listPublicMerchantProducts",
    "getPublicRuntimeConfig",
)
_LAG_S = 0.4
_WORK_S = 0.02
"""The time for which a call is in progress."""
_CACHED_S = 20.0


@variant("V514", requirement="RATE-5", title="calls without a key are not limited, and keys are counted")
def limited_keys(policy: Policy) -> Policy:
    admit = policy.limits.admit

    def admit_key(call: Call) -> float | None:
        return admit(call) if call.policy.access[call.operation] == "key" else None

    return with_limits(policy, admit=admit_key)


@variant(
    "V591",
    requirement="RATE-5",
    title="of calls without a key, duplicates of one in progress are limited alone, while a limit is set",
)
def duplicates_told_to_wait(policy: Policy) -> Policy:
    """Under load alone: another time it waits for the first one."""
    arrivals: dict[str, float] = {}
    default = (policy.limits.limit, policy.limits.window_s)

    def admit(call: Call) -> float | None:
        key, now = call.request.header(b"idempotency-key"), time.monotonic()
        if call.policy.access[call.operation] == "key":
            return policy.limits.admit(call)
        if key is None or call.limiter.limit(default) == default:
            return None
        first = arrivals.setdefault(key, now)
        return _WORK_S if first < now < first + _WORK_S else None

    return with_limits(policy, admit=admit)


@variant("V515", requirement="HO-4", title="a ticket ends where it is presented to another session")
def ticket_read_once(policy: Policy) -> Policy:
    """A store reads and deletes it in one step, before it is compared with the session."""
    ended: set[object] = set()

    def wrap(handler: Handler) -> Handler:
        def act(call: Call, connection: Connection) -> Answer:
            ticket = call.body["ticket"]
            if ticket in ended:
                raise Refusal("bad_ticket", "There is no such ticket.")
            try:
                return handler(call, connection)
            except Refusal as refusal:
                if refusal.kind in ("bad_ticket", "not_found"):
                    ended.add(ticket)
                raise

        return act

    return with_handlers(policy, _HOSTED, wrap)


@variant("V516", requirement="WH-1", title="a new endpoint is found by an update 0.4 s later")
def late_endpoints(policy: Policy) -> Policy:
    return _with_late_endpoints(policy, _LAG_S)


@variant(
    "V536",
    requirement="WH-1",
    title="a new endpoint is found 0.8 s later, as stated, and is the fixture of updates",
    profile={
        "effects": {_CREATE: {"within_s": 1.0}},
        "fixtures": {
            "webhook": {"active": {"call": _CREATE, "http": None, "items": None, "members": {"id": "/data/id"}}}
        },
    },
)
def late_fixtures(policy: Policy) -> Policy:
    return _with_late_endpoints(policy, 0.8)


@variant(
    "V537",
    requirement="WH-1",
    title="a new endpoint is found by an update 3.3 s later, as stated",
    profile={"effects": {_CREATE: {"within_s": 3.5}}},
)
def very_late_endpoints(policy: Policy) -> Policy:
    return _with_late_endpoints(policy, 3.3)


def _with_late_endpoints(policy: Policy, lag_s: float) -> Policy:
    """Updates read a copy that lags behind."""
    created_at: dict[object, float] = {}

    def note_time(_call: Call, answer: Answer) -> Answer:
        if answer.status == 200:
            created_at.setdefault(answer.value["data"]["id"], time.monotonic())
        return answer

    def look(call: Call, _connection: Connection) -> None:
        if time.monotonic() < created_at.get(call.path["id"], -lag_s) + lag_s:
            raise Refusal("not_found", "There is no such resource.")

    return before_work(with_shape(policy, note_time, _CREATE), look, _UPDATE)


@variant(
    "V517",
    requirement="RATE-5",
    title="a cache answers public reads for 20 s, and says so in Cache-Status only",
    profile={"answers": {"fresh_headers": {"none": "a cache answers in place of the service"}}},
)
def cached_reads(policy: Policy) -> Policy:
    """A limit behind a cache does not count what the cache answers (RFC 9211)."""
    answers: dict[tuple[bytes, bytes], tuple[float, Reply]] = {}

    def answer_from_cache(call: Call, reply: Reply) -> Reply:
        name = (call.request.path, call.request.query)
        if name in answers and time.monotonic() < answers[name][0] + _CACHED_S:
            cached = answers[name][1]
            return Reply(cached.status, (*cached.headers, ("cache-status", "edge; hit")), cached.body)
        if reply.status == 200:
            answers[name] = (time.monotonic(), reply)
        return reply

    return with_wire(policy, answer_from_cache, *_CACHED)
