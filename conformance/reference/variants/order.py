"""Legitimate orders of precedence between answers, and of the limiter."""

from __future__ import annotations

from conformance.reference.call import Call, Caller, Refusal
from conformance.reference.idempotency import reserve
from conformance.reference.limiter import admit
from conformance.reference.pipeline import authenticate, authorize, execute, limit, locate, read_body, read_key
from conformance.reference.policy import Policy, evolve, with_limits
from conformance.reference.registry import variant


@variant("D01", requirement="AUTH-1", title="401 decided before 404/400/409")
def authentication_first(policy: Policy) -> Policy:
    return evolve(policy, stages=(authenticate, authorize, limit, read_key, read_body, reserve, execute))


@variant("D02", requirement="AUTH-1", title="400 or 404 decided before 401 on multi-defect requests")
def authentication_last(policy: Policy) -> Policy:
    return evolve(policy, stages=(read_key, read_body, locate, authenticate, authorize, limit, reserve, execute))


@variant(
    "D13",
    requirement="IDEM-1",
    title="limiter runs before auth and idempotency; replay may get 429",
    profile={"rate_limit": {"per": "operation"}},  # the caller is not known yet
)
def limiter_first(policy: Policy) -> Policy:
    return evolve(policy, stages=(limit, *(stage for stage in policy.stages if stage is not limit)))


@variant("D14", requirement="all", title="limiter answers 429 to one request in five")
def limited_now_and_then(policy: Policy) -> Policy:
    def every_fifth(call: Call) -> float | None:
        return 0.0 if call.limiter.count_call() % 5 == 0 else admit(call)

    return with_limits(policy, admit=every_fifth, headers=lambda seconds: (("Retry-After", str(int(seconds))),))


@variant(
    "D15",
    requirement="RATE-1",
    title="never rate-limits",
    profile={"rate_limit": {"none": "there is no limiter"}},
)
def no_limits(policy: Policy) -> Policy:
    return with_limits(policy, admit=lambda _call: None)


@variant(
    "D16",
    requirement="RATE-2",
    title="429 without Retry-After / RateLimit fields",
    profile={"rate_limit": {"retry_after": False}},
)
def no_retry_after(policy: Policy) -> Policy:
    return with_limits(policy, headers=lambda _seconds: ())


@variant("D22", requirement="PUB-2", title="public operation answers 401 to a malformed Authorization")
def public_but_strict(policy: Policy) -> Policy:
    """A key that is sent must be valid, even where none is needed."""

    def authenticate_all(call: Call) -> None:
        authenticate(call)
        if policy.access[call.operation] == "public" and call.request.header_values(b"authorization"):
            policy.authenticate(call)

    return evolve(policy, stages=tuple(authenticate_all if stage is authenticate else stage for stage in policy.stages))


@variant("D32", requirement="AUTH-1", title="Authorization scheme case-sensitive / insensitive")
def case_sensitive_scheme(policy: Policy) -> Policy:
    def authenticate_strictly(call: Call) -> Caller:
        header = call.request.header(b"authorization")
        if header is not None and header.strip() and not header.startswith("Bearer "):
            raise Refusal("bad_credential", "The API key is not valid.")
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate_strictly)
