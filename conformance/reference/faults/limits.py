"""Faults of the rate limiter: RATE."""

from __future__ import annotations

import math

from conformance.reference.call import Call, Reply
from conformance.reference.faults.answers import html
from conformance.reference.policy import Policy, with_limits, with_status, with_wire
from conformance.reference.registry import fault


@fault("F108", requirement="RATE-1", title="limiter answers 503")
def limiter_is_503(policy: Policy) -> Policy:
    return with_status(policy, "rate_limited", 503)


@fault("F109", requirement="RATE-1", title="429 is HTML")
def html_429(policy: Policy) -> Policy:
    def hook(_call: Call, reply: Reply) -> Reply:
        if reply.status != 429:
            return reply
        return Reply(429, (("content-type", "text/html"), *reply.headers[1:]), html("429 Too Many Requests"))

    return with_wire(policy, hook)


@fault("F110", requirement="RATE-3", title="limit never recovers")
def never_recovers(policy: Policy) -> Policy:
    """The window that was overrun is extended for ever."""

    def admit(call: Call) -> float | None:
        limit, window_s = call.limiter.limit((policy.limits.limit, policy.limits.window_s))
        who = call.caller.name if call.caller else "anonymous"
        count, _ = call.limiter.hit(f"{who}:{call.operation}", math.inf)
        return window_s if count > limit else None

    return with_limits(policy, admit=admit)


@fault("F112", requirement="RATE-2", title="Retry-After negative or text")
def odd_retry_after(policy: Policy) -> Policy:
    return with_limits(policy, headers=lambda seconds: (("Retry-After", "-1" if seconds > 0.5 else "soon"),))
