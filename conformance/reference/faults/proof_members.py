"""Faults of single members of a proof: OA-6, OA-8."""

from __future__ import annotations

from conformance.reference.call import Call
from conformance.reference.dpop import Proof
from conformance.reference.policy import Policy, with_proof
from conformance.reference.registry import fault

_TOKEN = ("exchangeOAuthToken",)


@fault(
    "F674",
    requirement="OA-8",
    title="an iat with a fraction ends in 500",
    operations=_TOKEN,
    source="a claim read as a whole number; RFC 7519 section 2: a NumericDate may be a non-integer",
)
def fraction_of_a_second(policy: Policy) -> Policy:
    def fresh(call: Call, proof: Proof) -> None:
        iat = proof.claims.get("iat")
        if isinstance(iat, float) and not iat.is_integer():
            raise ValueError("invalid literal for int()")
        policy.oauth.proof["fresh"](call, proof)

    return with_proof(policy, fresh=fresh)


@fault(
    "F675",
    requirement="OA-6",
    title="a private key in a proof's header is accepted unless it is an EC key",
    operations=_TOKEN,
    source="the test for a private member in the branch for EC keys (RFC 9449 section 4.3, item 7)",
)
def private_key_of_another_kind(policy: Policy) -> Policy:
    def public(call: Call, proof: Proof) -> None:
        jwk = proof.header.get("jwk")
        if not isinstance(jwk, dict) or jwk.get("kty") == "EC":
            policy.oauth.proof["public"](call, proof)

    return with_proof(policy, public=public)
