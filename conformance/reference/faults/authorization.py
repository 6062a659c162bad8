"""Faults of the Authorization header: its scheme, and public operations that read it (AUTH-5)."""

from __future__ import annotations

from collections.abc import Callable

from conformance.reference.authentication import require_active
from conformance.reference.call import Call, Caller, Refusal
from conformance.reference.keys import CALLERS
from conformance.reference.policy import Policy, evolve
from conformance.reference.registry import fault


def _refuse_on(policy: Policy, operation: str, is_fine: Callable[[Call], bool]) -> Policy:
    """One public operation refuses an Authorization header that is not fine."""

    def check_header(call: Call) -> None:
        if call.operation == operation and _header(call) and not is_fine(call):
            raise Refusal("bad_credential", "The API key is not valid.")

    return evolve(policy, stages=(check_header, *policy.stages))


def _header(call: Call) -> str:
    return call.request.header(b"authorization") or ""


@fault("F390", requirement="AUTH-5", title="any scheme accepted", source="header.split()[-1] in a middleware of a shop")
def any_scheme(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        words = _header(call).split()
        return require_active(call.keys.by_secret(words[-1])) if len(words) == 2 else policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F391",
    requirement="AUTH-5",
    title="the key alone accepted by one route",
    operations=("listInstallationWebhookDeliveries",),
    source="removeprefix('Bearer ') in the one route that was written later",
)
def bare_key_on_one(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        if call.operation != "listInstallationWebhookDeliveries" or not _header(call):
            return policy.authenticate(call)
        return require_active(call.keys.by_secret(_header(call).removeprefix("Bearer ").removeprefix("bearer ")))

    return evolve(policy, authenticate=authenticate)


@fault(
    "F392",
    requirement="AUTH-5",
    title="a scheme that begins alike accepted",
    source="a scheme compared by its beginning",
)
def scheme_by_prefix(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        scheme, _, key = _header(call).partition(" ")
        if scheme.lower().startswith("bearer") and key:
            return require_active(call.keys.by_secret(key.strip()))
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F393",
    requirement="AUTH-5",
    title="the scheme's case counts",
    source="RFC 9110 section 11.1 overlooked: == 'Bearer'",
)
def case_counts(policy: Policy) -> Policy:
    return evolve(policy, scheme_case="exact")


@fault(
    "F394",
    requirement="AUTH-5",
    title="a scheme in capitals refused by the cart routes",
    operations=("quotePublicCart",),
    source="a second gateway whose pattern is [Bb]earer",
)
def capitals_refused(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        if "cartId" in call.path and _header(call).startswith("BEARER"):
            raise Refusal("bad_credential", "The API key is not valid.")
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "F395",
    requirement="AUTH-5",
    title="search refuses the header of an unknown key",
    operations=("searchPublicProducts",),
    source="optional authentication as a middleware that ends every request with a bad token",
)
def search_checks_keys(policy: Policy) -> Policy:
    return _refuse_on(policy, "searchPublicProducts", lambda call: policy.authenticate(call) is not None)


@fault(
    "F396",
    requirement="AUTH-5",
    title="a public operation refuses a revoked key, and ignores others",
    operations=("getPublicRuntimeConfig",),
    source="a deny list of revoked keys at the edge, for every route",
)
def revoked_key_refused(policy: Policy) -> Policy:
    def is_fine(call: Call) -> bool:
        caller = call.keys.by_secret(_header(call).partition(" ")[2])
        return caller is None or caller.active

    return _refuse_on(policy, "getPublicRuntimeConfig", is_fine)


@fault(
    "F397",
    requirement="AUTH-5",
    title="a public list asks a key that is sent for its scope",
    operations=("listPublicMerchantProducts",),
    source="a scope check that runs whenever there is a caller",
)
def scope_of_public_list(policy: Policy) -> Policy:
    def is_fine(call: Call) -> bool:
        caller = call.keys.by_secret(_header(call).partition(" ")[2])
        return caller is None or caller is CALLERS["revoked"] or "catalog:read" in caller.scopes

    return _refuse_on(policy, "listPublicMerchantProducts", is_fine)


@fault(
    "X89",
    requirement="PUB-1",
    title="a public list asks a key for a scope, if one is sent",
    operations=("listPublicMerchantProducts",),
    source="a middleware that reads every key, and rules of scopes for every route that it knows",
    seeded_in="D22",
)
def scope_of_a_public_route(policy: Policy) -> Policy:
    def check_scope(call: Call) -> None:
        if call.operation == "listPublicMerchantProducts" and _header(call):
            caller = policy.authenticate(call)
            if "catalog:read" not in caller.scopes:
                raise Refusal("forbidden", "The key lacks the scope catalog:read.")

    return evolve(policy, stages=(check_scope, *policy.stages))
