"""Legitimate rate limits: what is counted together, how it is counted, and the form of Retry-After."""

from __future__ import annotations

import time
from email.utils import formatdate

from conformance.reference.call import Call, Refusal
from conformance.reference.limiter import by_address, by_installation, by_operation
from conformance.reference.policy import Policy, with_limits, with_stage
from conformance.reference.registry import variant

RUN = (8, 0.2)
"""A limit that is in force while no other one is set: requests and seconds, for each caller and operation."""
RUN_OF_ALL = (60, 0.25)
"""The same, for all calls of an installation together."""


@variant(
    "V200",
    requirement="RATE-6",
    title="limit counts by installation",
    profile={"rate_limit": {"per": "installation"}},
)
def limited_by_installation(policy: Policy) -> Policy:
    return with_limits(policy, bucket=by_installation)


@variant(
    "V201",
    requirement="RATE-6",
    title="limit counts by operation, over all callers",
    profile={"rate_limit": {"per": "operation"}},
)
def limited_by_operation(policy: Policy) -> Policy:
    return with_limits(policy, bucket=by_operation)


@variant(
    "V202",
    requirement="RATE-6",
    title="limit counts by address, over all operations",
    profile={"rate_limit": {"per": "address"}},
)
def limited_by_address(policy: Policy) -> Policy:
    return with_limits(policy, bucket=by_address)


@variant("V203", requirement="RATE-7", title="Retry-After is a date")
def dated_retry_after(policy: Policy) -> Policy:
    def headers(seconds: float) -> tuple[tuple[str, str], ...]:
        return (("Retry-After", formatdate(time.time() + seconds, usegmt=True)),)

    return with_limits(policy, headers=headers)


@variant("V204", requirement="RATE-5", title="limit is a token bucket")
def token_bucket(policy: Policy) -> Policy:
    """The bucket's capacity is the declared limit; it refills in the declared window."""
    levels: dict[str, tuple[float, float]] = {}

    def admit(call: Call) -> float | None:
        limit, window_s = call.limiter.limit((policy.limits.limit, policy.limits.window_s))
        bucket, now = policy.limits.bucket(call), time.monotonic()
        level, at = levels.get(bucket, (float(limit), now))
        level = min(float(limit), level + (now - at) * limit / window_s)
        is_admitted = level >= 1
        levels[bucket] = (level - is_admitted, now)
        return None if is_admitted else (1 - level) * window_s / limit

    return with_limits(policy, admit=admit)


@variant(
    "V573",
    requirement="RATE-6",
    title="limit counts by operation and allows no bursts: calls are let through evenly",
    profile={"rate_limit": {"per": "operation"}},
)
def limited_evenly(policy: Policy) -> Policy:
    """As nginx does by default: a call is refused until the time that its rate leaves between two has passed."""
    due: dict[str, float] = {}

    def admit(call: Call) -> float | None:
        limit, window_s = call.limiter.limit((policy.limits.limit, policy.limits.window_s))
        bucket, now = by_operation(call), time.monotonic()
        if (wait_s := due.get(bucket, now) - now) > 0:
            return wait_s
        due[bucket] = now + window_s / limit
        return None

    return with_limits(policy, admit=admit)


@variant("V205", requirement="RATE-3", title="refused requests count too: polling keeps the limit in force")
def refusals_count(policy: Policy) -> Policy:
    """A sliding window over all requests of a bucket."""
    request_times: dict[str, list[float]] = {}

    def admit(call: Call) -> float | None:
        limit, window_s = call.limiter.limit((policy.limits.limit, policy.limits.window_s))
        bucket, now = policy.limits.bucket(call), time.monotonic()
        recent = [at for at in request_times.get(bucket, ()) if now - at < window_s][-limit:]
        request_times[bucket] = [*recent, now]
        return window_s if len(recent) >= limit else None

    return with_limits(policy, admit=admit)


@variant(
    "V490",
    requirement="RATE-5",
    title="a limit holds for the whole run, and prepare sets another one in its place",
    profile={"rate_limit": {"run_limit": RUN[0], "run_window_s": RUN[1], "max_requests": 60}},
)
def limited_for_the_run(policy: Policy) -> Policy:
    return with_limits(policy, limit=RUN[0], window_s=RUN[1])


@variant(
    "V491",
    requirement="RATE-5",
    title="a limit of all calls of an installation holds for the whole run, beside the one that prepare sets",
    profile={"rate_limit": {"run_limit": RUN_OF_ALL[0], "run_window_s": RUN_OF_ALL[1], "max_requests": 160}},
)
def limited_for_the_run_too(policy: Policy) -> Policy:
    """The callers of public operations are counted together."""

    def admit(call: Call) -> float | None:
        limit, window_s = RUN_OF_ALL
        count, wait_s = call.limiter.count_request(f"run:{by_installation(call)}", window_s)
        return wait_s if count > limit else policy.limits.admit(call)

    return with_limits(policy, admit=admit)


@variant(
    "V492",
    requirement="RATE-5",
    title="the limit of the run is a token bucket, and no more than its bound is tolerated",
    profile={"rate_limit": {"run_limit": RUN[0], "run_window_s": RUN[1], "tolerance": 1}},
)
def token_bucket_of_the_run(policy: Policy) -> Policy:
    return token_bucket(limited_for_the_run(policy))


@variant(
    "V677", requirement="RATE-6", title="beside the limit of each key, one of 1.6 times as many counts all callers"
)
def limit_of_all_callers_beside(policy: Policy) -> Policy:
    """As a component in front of the service has by address; only while the control app has set a limit."""
    admit, default = policy.limits.admit, (policy.limits.limit, policy.limits.window_s)

    def admit_all(call: Call) -> float | None:
        limit, window_s = call.limiter.limit(default)
        if (limit, window_s) == default:
            return admit(call)
        count, wait_s = call.limiter.count_request(f"all:{call.operation}", window_s)
        return wait_s if count > 1.6 * limit else admit(call)

    return with_limits(policy, admit=admit_all)


@variant(
    "V688",
    requirement="RATE-6",
    title="a call with a key from a page of another origin answers 403, and is not counted",
)
def pages_of_other_origins_are_refused(policy: Policy) -> Policy:
    def look(call: Call) -> None:
        origin = call.request.first_header(b"origin")
        if origin and call.policy.access.get(call.operation) == "key":
            raise Refusal("forbidden", "Pages of this origin may not call the service.")

    return with_stage(policy, look)
