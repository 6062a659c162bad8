"""Legitimate nonces of DPoP proofs that not every proof needs (RFC 9449 section 8)."""

from __future__ import annotations

from conformance.reference.call import Call, Refusal
from conformance.reference.dpop import Proof
from conformance.reference.policy import Policy, with_proof, with_status
from conformance.reference.registry import variant

_NONCE_S = 300
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
        nonce = call.keys.sign(f"nonce:{int(call.now // _NONCE_S)}")[:32]
        if proof.claims.get("nonce") == nonce:
            return
        try:
            is_near(call, proof)
        except Refusal:
            headers = (("WWW-Authenticate", 'DPoP error="use_dpop_nonce"'), ("DPoP-Nonce", nonce))
            raise Refusal("use_dpop_nonce", "The proof needs a nonce.", headers=headers) from None

    return with_status(with_proof(policy, fresh=is_fresh), "use_dpop_nonce", 400)
