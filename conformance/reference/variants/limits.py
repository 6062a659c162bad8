"""What a rate limit counts together, how it counts, and how a 429 says for how long it stays."""

from __future__ import annotations

import time
from email.utils import formatdate

from conformance.reference.call import Call
from conformance.reference.limiter import by_address, by_installation, by_operation
from conformance.reference.policy import Policy, with_limits
from conformance.reference.registry import variant


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
    title="limit counts by operation, whoever calls",
    profile={"rate_limit": {"per": "operation"}},
)
def limited_by_operation(policy: Policy) -> Policy:
    return with_limits(policy, bucket=by_operation)


@variant(
    "V202",
    requirement="RATE-6",
    title="limit counts by address, whatever is called",
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
    """The declared limit is what the bucket holds, and it is filled in the declared window."""
    levels: dict[str, tuple[float, float]] = {}

    def admit(call: Call) -> float | None:
        limit, window_s = call.limiter.limit((policy.limits.limit, policy.limits.window_s))
        bucket, now = policy.limits.bucket(call), time.monotonic()
        level, at = levels.get(bucket, (float(limit), now))
        level = min(float(limit), level + (now - at) * limit / window_s)
        admitted = level >= 1
        levels[bucket] = (level - admitted, now)
        return None if admitted else (1 - level) * window_s / limit

    return with_limits(policy, admit=admit)


@variant("V205", requirement="RATE-3", title="what is refused counts too: asking keeps the limit up")
def refusals_count(policy: Policy) -> Policy:
    """A sliding window over all requests of a bucket."""
    seen: dict[str, list[float]] = {}

    def admit(call: Call) -> float | None:
        limit, window_s = call.limiter.limit((policy.limits.limit, policy.limits.window_s))
        bucket, now = policy.limits.bucket(call), time.monotonic()
        kept = [at for at in seen.get(bucket, ()) if now - at < window_s][-limit:]
        seen[bucket] = [*kept, now]
        return window_s if len(kept) >= limit else None

    return with_limits(policy, admit=admit)
