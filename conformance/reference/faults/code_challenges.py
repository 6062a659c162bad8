"""Faults of codes and proofs that only another form of the usual one shows: OA-3, OA-5, OA-6, OA-9, OA-15, STA-1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import update

from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.dpop import Proof, bad_proof
from conformance.reference.oauth import bad_grant, digest
from conformance.reference.policy import Handler, Policy, with_idempotency, with_oauth, with_proof
from conformance.reference.registry import fault
from conformance.reference.tables import codes

_EXCHANGE = "exchangeOAuthToken"
_TOKEN = (_EXCHANGE,)
_METHOD = "S256"
_PLAIN = ("", "plain")
_LONGEST_JTI = 64

_Condition = Callable[[Call, Mapping[str, Any]], None]


def _with_grant(policy: Policy, **conditions: _Condition) -> Policy:
    return with_oauth(policy, grant={**policy.oauth.grant, **conditions})


@fault(
    "X100",
    requirement="OA-5",
    title="the first redirect URI of a client is good for each of its codes",
    operations=_TOKEN,
    source="a comparison with the registered URI of the client, in addition to that of the code",
)
def first_uri_is_good(policy: Policy) -> Policy:
    def redirect_uri(call: Call, code: Mapping[str, Any]) -> None:
        if call.body["redirectUri"] != policy.oauth.clients[code["client_id"]][0]:
            policy.oauth.grant["redirect_uri"](call, code)

    return _with_grant(policy, redirect_uri=redirect_uri)


@fault(
    "X101",
    requirement="OA-3",
    title="a challenge without a method is plain",
    operations=_TOKEN,
    source="RFC 7636, section 4.3: the default of code_challenge_method",
)
def absent_method_is_plain(policy: Policy) -> Policy:
    def s256(call: Call, code: Mapping[str, Any]) -> None:
        if code["method"] or not code["challenge"]:
            policy.oauth.grant["s256"](call, code)

    def verifier(call: Call, code: Mapping[str, Any]) -> None:
        if code["method"]:
            policy.oauth.grant["verifier"](call, code)
        elif call.body["codeVerifier"] != code["challenge"]:
            raise bad_grant("verifier")

    return _with_grant(policy, s256=s256, verifier=verifier)


@fault(
    "X102",
    requirement="OA-3",
    title="a challenge of an unknown method is not verified",
    operations=_TOKEN,
    source="a switch over the known methods without a default",
)
def unknown_method_is_not_verified(policy: Policy) -> Policy:
    def s256(call: Call, code: Mapping[str, Any]) -> None:
        if code["method"] in _PLAIN or not code["challenge"]:
            policy.oauth.grant["s256"](call, code)

    def verifier(call: Call, code: Mapping[str, Any]) -> None:
        if code["method"] == _METHOD:
            policy.oauth.grant["verifier"](call, code)

    return _with_grant(policy, s256=s256, verifier=verifier)


@fault(
    "X103",
    requirement="OA-15",
    title="an exchange that is refused for its known idempotency key uses its code up",
    operations=_TOKEN,
    source="a code that is redeemed before the key is looked up",
)
def conflict_uses_code_up(policy: Policy) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if call.operation == _EXCHANGE and refusal.kind == "mismatch":
                with call.store.write() as db:
                    db.execute(update(codes).where(codes.c.digest == digest(call.body["code"])).values(used=1))
            raise

    return with_idempotency(policy, run=run)


@fault(
    "X104",
    requirement="STA-1",
    title="a jti of more than 64 characters is answered 500",
    operations=_TOKEN,
    source="a column of 64 characters for what was used",
)
def long_jti_fails(policy: Policy) -> Policy:
    def fresh(call: Call, proof: Proof) -> None:
        policy.oauth.proof["fresh"](call, proof)
        if len(proof.claims["jti"]) > _LONGEST_JTI:
            raise ValueError("value too long for type character varying(64)")

    return with_proof(policy, fresh=fresh)


@fault(
    "X105",
    requirement="OA-9",
    title="a proof is refused whose key has a kid, a use or an alg",
    operations=_TOKEN,
    source="a key that is read into a closed model",
)
def described_key_is_refused(policy: Policy) -> Policy:
    def public(call: Call, proof: Proof) -> None:
        policy.oauth.proof["public"](call, proof)
        if set(proof.header["jwk"]) - {"kty", "crv", "x", "y", "n", "e"}:
            raise bad_proof("members")

    return with_proof(policy, public=public)


@fault(
    "X106",
    requirement="OA-6",
    title="the signature of a proof whose header has a kid is not verified",
    operations=_TOKEN,
    source="a library that looks for a named key, and takes the embedded one where it finds none",
)
def named_key_is_not_verified(policy: Policy) -> Policy:
    def signature(call: Call, proof: Proof) -> None:
        if "kid" not in proof.header:
            policy.oauth.proof["signature"](call, proof)

    return with_proof(policy, signature=signature)
