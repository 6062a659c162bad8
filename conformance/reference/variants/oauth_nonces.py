"""Legitimate nonces of DPoP proofs that not every proof needs (RFC 9449 section 8)."""

from __future__ import annotations

from conformance.reference.call import Call, Refusal, Reply
from conformance.reference.dpop import Proof, nonce_challenge
from conformance.reference.policy import Policy, evolve, with_proof, with_status, with_wire
from conformance.reference.registry import variant
from conformance.reference.variants.oauth import current_nonce

_NO_BOUND = {"none": "a nonce makes up for a clock that is off"}


@variant(
    "V571",
    requirement="OA-8",
    title="a proof whose iat is off needs a nonce, which then tells its age",
    profile={
        "oauth": {
            "nonce": {"none": "only proofs of clients whose clock is off need one"},
            "clock_behind_s": _NO_BOUND,
            "clock_ahead_s": _NO_BOUND,
        }
    },
)
def nonce_on_occasion(policy: Policy) -> Policy:
    """RFC 9449 section 4.3, item 11: by either the iat claim or a server managed timestamp via the nonce claim."""
    is_near = policy.oauth.proof["fresh"]

    def is_fresh(call: Call, proof: Proof) -> None:
        if proof.claims.get("nonce") == current_nonce(call):
            return
        try:
            is_near(call, proof)
        except Refusal:
            raise nonce_challenge(current_nonce(call)) from None

    return with_status(with_proof(policy, fresh=is_fresh), "use_dpop_nonce", 400)


@variant(
    "V558",
    requirement="OA-8",
    title="each answer of the exchange supplies a nonce, which a proof may hold or not; iat is near in any case",
    profile={"oauth": {"nonce": {"none": "no proof needs one"}}},
)
def nonce_supplied(policy: Policy) -> Policy:
    """RFC 9449 section 8.2: a server supplies a new nonce in any answer. A proof with another one is refused."""

    def has_known_nonce(call: Call, proof: Proof) -> None:
        if proof.claims.get("nonce", current_nonce(call)) != current_nonce(call):
            raise nonce_challenge(current_nonce(call))

    def hook(call: Call, reply: Reply) -> Reply:
        others = tuple(pair for pair in reply.headers if pair[0] != "DPoP-Nonce")
        return evolve(reply, headers=(*others, ("DPoP-Nonce", current_nonce(call))))

    return with_wire(with_proof(policy, nonce=has_known_nonce), hook, "exchangeOAuthToken")
