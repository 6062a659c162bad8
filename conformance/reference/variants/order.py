"""Legitimate orders of precedence between answers, and of the limiter."""

from __future__ import annotations

from conformance.reference.authentication import CHALLENGE, bearer, require_active
from conformance.reference.call import Call, Caller, Refusal
from conformance.reference.idempotency import reserve
from conformance.reference.keys import CALLERS
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


@variant(
    "D22",
    requirement="PUB-2",
    title="public operation answers 401 to a malformed Authorization",
    profile={"authorization": {"public": "checked"}},
)
def public_but_strict(policy: Policy) -> Policy:
    """A key that is sent must be valid, even where none is needed."""
    return evolve(policy, public_credentials="checked")


@variant(
    "D32",
    requirement="AUTH-1",
    title="Authorization scheme case-sensitive / insensitive",
    profile={"authorization": {"scheme_case": "exact"}},
)
def case_sensitive_scheme(policy: Policy) -> Policy:
    return evolve(policy, scheme_case="exact")


@variant(
    "V530",
    requirement="AUTH-1",
    title="API keys are compared without case",
    profile={"authorization": {"key_case": "any"}},
)
def keys_in_any_case(policy: Policy) -> Policy:
    return evolve(policy, authenticate=lambda call: require_active(holder_in_any_case(call)))


def holder_in_any_case(call: Call) -> Caller | None:
    """Whose key it is, compared as a column of a database without case does."""
    sent = bearer(call).casefold()
    return next((CALLERS[name] for name, key in call.keys.secrets.items() if key.casefold() == sent), None)


@variant("V575", requirement="AUTH-1", title="the label before an API key is not read")
def keys_behind_a_label(policy: Policy) -> Policy:
    """As seamapi/prefixed-api-key does, which hashes and compares what comes behind the last underscore."""

    def authenticate(call: Call) -> Caller:
        *label, secret = bearer(call).split("_")
        return require_active(call.keys.by_secret(f"sk_{secret}") if label else None)

    return evolve(policy, authenticate=authenticate)


@variant("V652", requirement="AUTH-1", title="a scheme without a key is a malformed request (RFC 6750 section 3.1)")
def scheme_alone_is_malformed(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        values = call.request.header_values(b"authorization")
        if values and values[0].strip().casefold() == "bearer":
            raise Refusal("bad_request", "The Authorization header has no key.", headers=CHALLENGE)
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@variant(
    "V330",
    requirement="AUTH-5",
    title="the key is accepted with its scheme and alone",
    profile={"authorization": {"scheme": "optional"}},
)
def optional_scheme(policy: Policy) -> Policy:
    return evolve(policy, scheme="optional")


@variant(
    "V331",
    requirement="AUTH-5",
    title="the key is the whole value of the header, without a scheme",
    profile={"authorization": {"format": "{key}", "scheme": None, "scheme_case": None}},
)
def no_scheme(policy: Policy) -> Policy:
    def authenticate_key(call: Call) -> Caller:
        values = call.request.header_values(b"authorization")
        if not values or not values[0]:
            raise Refusal("no_credential", "An API key is required.")
        return require_active(call.keys.by_secret(values[0]) if len(values) == 1 else None)

    return evolve(policy, authenticate=authenticate_key)
