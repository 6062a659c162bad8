"""Faults of the rate limiter: RATE."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from conformance.reference.call import Call, Reply
from conformance.reference.faults.answers import html
from conformance.reference.limiter import by_address, by_operation, retry_after
from conformance.reference.policy import Policy, with_limits, with_status, with_wire
from conformance.reference.registry import fault
from conformance.reference.variants.limits import token_bucket


@fault("F108", requirement="RATE-1", title="limiter answers 503")
def limiter_is_503(policy: Policy) -> Policy:
    return with_status(policy, "rate_limited", 503)


@fault(
    "X230",
    requirement="RATE-1",
    title="beyond the limit 403 in place of 429",
    source="a throttle of the framework that answers as its permission check does",
)
def limit_is_403(policy: Policy) -> Policy:
    return with_status(policy, "rate_limited", 403)


@fault("F109", requirement="RATE-1", title="429 is HTML")
def html_429(policy: Policy) -> Policy:
    def hook(_call: Call, reply: Reply) -> Reply:
        if reply.status != 429:
            return reply
        return Reply(429, (("content-type", "text/html"), *reply.headers[1:]), html("429 Too Many Requests"))

    return with_wire(policy, hook)


@fault("F110", requirement="RATE-3", title="limit never recovers")
def never_recovers(policy: Policy) -> Policy:
    """A window that was exceeded never ends."""

    def admit(call: Call) -> float | None:
        limit, window_s = call.limiter.limit((policy.limits.limit, policy.limits.window_s))
        caller_name = call.caller.name if call.caller else "anonymous"
        count, _ = call.limiter.count_request(f"{caller_name}:{call.operation}", math.inf)
        return window_s if count > limit else None

    return with_limits(policy, admit=admit)


@fault("F112", requirement="RATE-2", title="Retry-After negative or text")
def odd_retry_after(policy: Policy) -> Policy:
    return with_limits(policy, headers=lambda seconds: (("Retry-After", "-1" if seconds > 0.5 else "soon"),))


Admit = Callable[[Call], float | None]


@fault("F200", requirement="RATE-5", title="declared limit is never enforced")
def never_limits(policy: Policy) -> Policy:
    return with_limits(policy, admit=lambda _call: None)


@fault("F201", requirement="RATE-5", title="five times the declared limit pass")
def five_times_the_limit(policy: Policy) -> Policy:
    def admit(call: Call) -> float | None:
        limit, window_s = call.limiter.limit((policy.limits.limit, policy.limits.window_s))
        count, wait_s = call.limiter.count_request(policy.limits.bucket(call), window_s)
        return wait_s if count > 5 * limit else None

    return with_limits(policy, admit=admit)


@fault("F202", requirement="RATE-6", title="all keys share one limit")
def one_limit_for_all_keys(policy: Policy) -> Policy:
    return with_limits(policy, bucket=by_operation)


@fault("F203", requirement="RATE-7", title="429 without the declared Retry-After")
def no_retry_after(policy: Policy) -> Policy:
    return with_limits(policy, headers=lambda _seconds: ())


@fault("F204", requirement="RATE-7", title="limit lasts longer than Retry-After says")
def early_retry_after(policy: Policy) -> Policy:
    """A caller that exceeds the limit stays limited for longer than the header says."""
    out_until: dict[str, float] = {}

    def admit(call: Call) -> float | None:
        bucket, clock_s = policy.limits.bucket(call), time.monotonic()
        if clock_s < out_until.get(bucket, 0.0):
            return 1.0
        wait_s = policy.limits.admit(call)
        if wait_s is not None:
            out_until[bucket] = clock_s + 2.7
        return wait_s

    return with_limits(policy, admit=admit)


@fault(
    "F978",
    requirement="RATE-7",
    title="Retry-After in milliseconds",
    source="a limiter that gives the rest of its window in milliseconds, written into the header as it is",
)
def retry_after_in_ms(policy: Policy) -> Policy:
    return with_limits(policy, headers=lambda seconds: (("Retry-After", str(math.ceil(1000 * seconds))),))


@fault("F205", requirement="IDEM-8", title="429 uses up the idempotency key")
def limited_keys(policy: Policy) -> Policy:
    return with_limits(policy, admit=_using_keys_up(policy.limits.admit))


@fault("F206", requirement="RATE-3", title="all callers are limited permanently after 300 requests")
def limited_for_good(policy: Policy) -> Policy:
    return with_limits(policy, admit=lambda call: 1.0 if call.limiter.count_call() > 300 else None)


@fault("F207", requirement="IDEM-8", title="every seventh request is limited and uses up its idempotency key")
def limited_keys_now_and_then(policy: Policy) -> Policy:
    def every_seventh(call: Call) -> float | None:
        return 0.0 if call.limiter.count_call() % 7 == 0 else policy.limits.admit(call)

    with_headers = with_limits(policy, headers=lambda seconds: (("Retry-After", str(math.ceil(seconds))),))
    return with_limits(with_headers, admit=_using_keys_up(every_seventh))


def _using_keys_up(admit: Admit) -> Admit:
    """Every later call with the idempotency key of a limited call is limited too."""
    used_keys: set[str] = set()

    def admit_unless_used(call: Call) -> float | None:
        key = call.request.header(b"idempotency-key")
        if key in used_keys:
            return 0.0
        wait_s = admit(call)
        if wait_s is not None and key and call.operation in call.policy.idempotency.operations:
            used_keys.add(key)
        return wait_s

    return admit_unless_used


@fault(
    "F590",
    requirement="RATE-5",
    title="limit of the run is never enforced",
    seeded_in="V490",
    source="a default limit that is read from a setting without a value",
)
def no_limit_of_the_run(policy: Policy) -> Policy:
    return with_limits(policy, limit=100_000)


@fault(
    "F591",
    requirement="RATE-5",
    title="limit of the run is gone once another one was restored",
    seeded_in="V490",
    source="an override that is removed together with the default that it had replaced",
)
def limit_of_the_run_is_not_restored(policy: Policy) -> Policy:
    """What restores removes the limiter's configuration, the default too."""
    switched = [False]

    def admit(call: Call) -> float | None:
        default = (policy.limits.limit, policy.limits.window_s)
        is_lowered = call.limiter.limit(default) != default
        switched[0] = switched[0] or is_lowered
        return policy.limits.admit(call) if is_lowered or not switched[0] else None

    return with_limits(policy, admit=admit)


@fault(
    "F594",
    requirement="RATE-5",
    title="two processes count alone, where no tolerance is stated",
    seeded_in="V492",
    source="counters in the memory of each process behind a load balancer",
)
def counted_by_each_process(policy: Policy) -> Policy:
    """Their requests alternate between them."""

    def bucket(call: Call) -> str:
        return f"{call.limiter.count_call() % 2}:{policy.limits.bucket(call)}"

    return token_bucket(with_limits(policy, bucket=bucket))


@fault(
    "F595",
    requirement="RATE-5",
    title="token bucket refills four times as fast as stated",
    seeded_in="V492",
    source="a refill that is computed with another unit of time than the capacity",
)
def fast_refill(policy: Policy) -> Policy:
    return token_bucket(with_limits(policy, window_s=policy.limits.window_s / 4))


@fault(
    "F596",
    requirement="RATE-7",
    title="429 with a Retry-After that the profile denies",
    seeded_in="D16",
    source="a gateway that adds Retry-After to each 429 of the service",
)
def denied_retry_after(policy: Policy) -> Policy:
    return with_limits(policy, headers=retry_after)


@fault(
    "F597",
    requirement="RATE-6",
    title="all installations share one limit",
    seeded_in="V200",
    source="a limiter whose bucket lost the installation when its key was shortened",
)
def one_limit_for_all_installations(policy: Policy) -> Policy:
    return with_limits(policy, bucket=by_address)


@fault(
    "F598",
    requirement="RATE-6",
    title="all operations share one limit",
    seeded_in="V201",
    source="a limiter that is moved from the routes to the front of the service",
)
def one_limit_for_all_operations(policy: Policy) -> Policy:
    return with_limits(policy, bucket=by_address)


@fault(
    "F599",
    requirement="RATE-5",
    title="window is a tenth of the stated one",
    operations=("getApiKeyIdentity",),
    source="a window whose length is read in another unit than that of the declaration",
)
def short_window(policy: Policy) -> Policy:
    def admit(call: Call) -> float | None:
        limit, window_s = call.limiter.limit((policy.limits.limit, policy.limits.window_s))
        count, wait_s = call.limiter.count_request(policy.limits.bucket(call), window_s / 10)
        return wait_s if count > limit else None

    return with_limits(policy, admit=admit)


@fault(
    "F717",
    requirement="RATE-5",
    title="who has recovered from a limit has none any more",
    source="a block that ends by a mark, which the limiter then takes for an exemption",
)
def limited_once(policy: Policy) -> Policy:
    limited: set[str] = set()
    free: set[str] = set()

    def admit(call: Call) -> float | None:
        wait_s, bucket = policy.limits.admit(call), call.policy.limits.bucket(call)
        if wait_s is None and bucket in limited:
            free.add(bucket)
        elif wait_s is not None:
            limited.add(bucket)
        return None if bucket in free else wait_s

    return with_limits(policy, admit=admit)


@fault(
    "F858",
    requirement="RATE-5",
    title="DELETE is not counted by the rate limit",
    operations=("removePublicCartPromotion",),
    source="a gateway's rule that lists the methods GET, POST, PUT and PATCH",
)
def deletion_not_counted(policy: Policy) -> Policy:
    return with_limits(
        policy, admit=lambda call: None if call.request.method == "DELETE" else policy.limits.admit(call)
    )
