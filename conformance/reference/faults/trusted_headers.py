"""Faults of what is taken for a gateway's word, although any client can send it: AUTH-1, SCO-1."""

from __future__ import annotations

from conformance.reference.call import Call, Caller
from conformance.reference.policy import Policy, evolve
from conformance.reference.registry import fault


@fault(
    "X260",
    requirement="AUTH-1",
    title="a header X-Installation-Id without a key is taken for an authenticated caller",
    source="a service that leaves authentication to its gateway, and that clients reach without it",
)
def installation_header_authenticates(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        name = call.request.first_header(b"x-installation-id")
        if not call.request.header_values(b"authorization") and name.startswith("inst_"):
            return Caller("gateway", name.removeprefix("inst_"), frozenset(policy.scopes.values()))
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "X261",
    requirement="SCO-1",
    title="the scopes that a header X-Authenticated-Scope names are granted",
    source="the header in which Kong names the scopes of a token to the services behind it",
)
def scopes_of_a_header(policy: Policy) -> Policy:
    def permits(call: Call, caller: Caller) -> bool:
        scopes = call.request.first_header(b"x-authenticated-scope").split()
        return policy.scopes.get(call.operation) in scopes or policy.permits(call, caller)

    return evolve(policy, permits=permits)


@fault(
    "X262",
    requirement="SCO-1",
    title="the scopes that a query parameter scope names are granted",
    source="a library that reads the scope of a request from all of its parameters, as a token endpoint does",
)
def scopes_of_the_query(policy: Policy) -> Policy:
    def permits(call: Call, caller: Caller) -> bool:
        scopes = call.request.parameters().get("scope", "").split()
        return policy.scopes.get(call.operation) in scopes or policy.permits(call, caller)

    return evolve(policy, permits=permits)
