"""Faults of what a limit counts separately: RATE-6."""

from __future__ import annotations

from conformance.reference.policy import Policy, with_limits
from conformance.reference.registry import fault


def _by_header(policy: Policy, name: bytes) -> Policy:
    """Each value of the header has a limit of its own."""
    return with_limits(policy, bucket=lambda call: f"{policy.limits.bucket(call)}:{call.request.first_header(name)}")


@fault(
    "F658",
    requirement="RATE-6",
    title="each X-Forwarded-For has a limit of its own",
    source="a limiter by key and client address, which trusts the header of any client",
)
def limit_by_forwarded(policy: Policy) -> Policy:
    return _by_header(policy, b"x-forwarded-for")


@fault(
    "F659",
    requirement="RATE-6",
    title="each spelling of the Authorization header has a limit of its own",
    source="a limiter of a gateway, whose bucket is the text of the header",
)
def limit_by_header(policy: Policy) -> Policy:
    return with_limits(policy, bucket=lambda call: f"{call.request.first_header(b'authorization')}:{call.operation}")


@fault(
    "F715",
    requirement="RATE-6",
    title="each query string has a limit of its own",
    source="a limiter of a gateway, whose bucket is the whole URL",
)
def limit_by_query(policy: Policy) -> Policy:
    return with_limits(policy, bucket=lambda call: f"{policy.limits.bucket(call)}:{call.request.query!r}")


@fault(
    "F716",
    requirement="RATE-6",
    title="each User-Agent has a limit of its own",
    source="a limiter by a fingerprint of the client",
)
def limit_by_agent(policy: Policy) -> Policy:
    return _by_header(policy, b"user-agent")


@fault(
    "X231",
    requirement="RATE-6",
    title="each Accept has a limit of its own",
    source="a limiter in front of a cache, whose bucket is the key of the cache: the URL with what Vary names",
)
def limit_by_media_type(policy: Policy) -> Policy:
    return _by_header(policy, b"accept")


@fault(
    "X232",
    requirement="RATE-6",
    title="each Accept-Encoding has a limit of its own",
    source="a limiter behind a cache that keeps one answer for each coding",
)
def limit_by_coding(policy: Policy) -> Policy:
    return _by_header(policy, b"accept-encoding")


@fault(
    "X248",
    requirement="RATE-6",
    title="each Origin has a limit of its own",
    source="a limiter for the scripts of stores, which it knows by the pages they run in",
)
def limit_by_origin(policy: Policy) -> Policy:
    return _by_header(policy, b"origin")


@fault(
    "X249",
    requirement="RATE-6",
    title="each cookie has a limit of its own",
    source="a limiter that knows clients by the cookie of their session",
)
def limit_by_cookie(policy: Policy) -> Policy:
    return _by_header(policy, b"cookie")
