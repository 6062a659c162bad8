"""Faults of branches that were made for older clients, known by a member that their bodies lack: TEN-1, OA-2, OA-6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.reference.call import Call
from conformance.reference.dpop import Proof
from conformance.reference.policy import Policy, evolve, with_oauth
from conformance.reference.registry import fault

_TOKEN = ("exchangeOAuthToken",)
_CART = ("removePublicCartPromotion", "quotePublicCart", "revokePublicCart")


@fault(
    "F828",
    requirement="TEN-1",
    title="a body without an actor changes the cart of every installation",
    operations=_CART,
    source="a tenant that is compared with the actor's, and with nothing for clients that send no actor yet",
)
def tenant_of_the_actor(policy: Policy) -> Policy:
    def sees(call: Call, installation: str) -> bool:
        return policy.sees(call, installation) or (call.operation in _CART and "actor" not in call.body)

    return evolve(policy, sees=sees)


@fault(
    "F832",
    requirement="OA-6",
    title="an exchange without a device needs no proof",
    operations=_TOKEN,
    source="proofs that were introduced together with devices, and stayed optional for clients of before",
)
def no_proof_without_device(policy: Policy) -> Policy:
    def read_proof(call: Call) -> Proof | None:
        is_exempt = not call.request.header_values(b"dpop") and b'"device"' not in call.request.body
        return None if is_exempt else policy.oauth.read_proof(call)

    return with_oauth(policy, read_proof=read_proof)


@fault(
    "F833",
    requirement="OA-2",
    title="the verifier is checked only beside a device",
    operations=_TOKEN,
    source="PKCE for apps alone, which are known by their device",
)
def no_verifier_without_device(policy: Policy) -> Policy:
    def verifier(call: Call, code: Mapping[str, Any]) -> None:
        if "device" in call.body:
            policy.oauth.grant["verifier"](call, code)

    return with_oauth(policy, grant={**policy.oauth.grant, "verifier": verifier})
