"""Faults of token exchanges that state another word than the reference: OA-13 to OA-18."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from conformance.reference.call import Answer, Call, JsonObject, Refusal
from conformance.reference.dpop import Proof, decode_part, encode_part
from conformance.reference.faults.oauth_facts import off
from conformance.reference.idempotency import run_once
from conformance.reference.oauth import burn
from conformance.reference.policy import Handler, Policy, with_idempotency, with_oauth, with_proof, with_status
from conformance.reference.registry import fault

_EXCHANGE = "exchangeOAuthToken"


# The status of each failure


@off("F521", "OA-13", "a missing proof is answered 401", "a filter that knows one answer for both", "V320")
def missing_proof_401(policy: Policy) -> Policy:
    return with_status(policy, "missing_proof", 401)


@off(
    "F522", "OA-13", "a bad signature is answered 401, other bad proofs 400", "an error of the library, mapped", "V320"
)
def bad_signature_401(policy: Policy) -> Policy:
    def signature(call: Call, proof: Proof) -> None:
        try:
            policy.oauth.proof["signature"](call, proof)
        except Refusal as refusal:
            raise Refusal("bad_credential", refusal.message) from None

    return with_proof(policy, signature=signature)


@off("F523", "OA-13", "an unknown client is answered 400", "RFC 6749 section 5.2 names both statuses", "V320")
def unknown_client_400(policy: Policy) -> Policy:
    return with_status(policy, "unknown_client", 400)


@off("F524", "OA-13", "another redirect URI is answered 400", "a URI that is compared while the body is read", "V320")
def redirect_uri_400(policy: Policy) -> Policy:
    def redirect_uri(call: Call, code: Mapping[str, Any]) -> None:
        try:
            policy.oauth.grant["redirect_uri"](call, code)
        except Refusal as refusal:
            raise Refusal("bad_request", refusal.message) from None

    return with_oauth(policy, grant={**policy.oauth.grant, "redirect_uri": redirect_uri})


@off("F525", "OA-13", "a body that breaks the schema is answered 400", "validation before the error filter", "V320")
def bad_body_400(policy: Policy) -> Policy:
    return with_status(policy, "bad_exchange", 400)


# Codes, proofs and nonces


@off("F471", "OA-14", "codes live for twice as long as stated", "an expiry that is renewed by the first look", "V324")
def codes_live_twice(policy: Policy) -> Policy:
    return with_oauth(policy, code_lifetime_s=2 * policy.oauth.code_lifetime_s)


@off(
    "F526", "OA-16", "a retry with the same proof is answered 200", "a replay that is served before the filter", "V321"
)
def retry_accepted(policy: Policy) -> Policy:
    return with_oauth(policy, proof_reuse="retry")


@off("F527", "OA-16", "a used proof is refused on another request", "a jti cache of a new library's default", "D29")
def reuse_refused(policy: Policy) -> Policy:
    return with_oauth(policy, proof_reuse="retry")


@off("F528", "OA-18", "a proof without a nonce is accepted", "a nonce that is compared where there is one", "D28")
def nonce_only_where_sent(policy: Policy) -> Policy:
    def nonce(call: Call, proof: Proof) -> None:
        if "nonce" in proof.claims:
            policy.oauth.proof["nonce"](call, proof)

    return with_proof(policy, nonce=nonce)


@off("F529", "OA-15", "a wrong verifier leaves the code usable", "a code that is revoked for bad proofs only", "D30")
def wrong_verifier_keeps_the_code(policy: Policy) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        try:
            return run_once(call, handler)
        except Refusal as refusal:
            if refusal.kind == "bad_proof":
                burn(call)
            raise

    return with_idempotency(policy, run=run)


def _with_codes_kept(policy: Policy, keeps: Callable[[Call], bool]) -> Policy:
    """A failure that `keeps` names leaves the code usable, any other one uses it up."""

    def run(call: Call, handler: Handler) -> Answer:
        try:
            return run_once(call, handler)
        except Refusal as refusal:
            if refusal.kind == "bad_grant" and not keeps(call):
                burn(call)
            raise

    return with_idempotency(policy, run=run)


@off("F874", "OA-15", "a wrong redirect URI leaves the code usable", "a validation of parameters before codes", "V521")
def wrong_redirect_uri_keeps_the_code(policy: Policy) -> Policy:
    known = "https://client.example/callback"
    return _with_codes_kept(policy, lambda call: call.body["redirectUri"] != known)


@off("F875", "OA-15", "a code of another client stays usable", "a lookup of codes by client, which finds none", "V521")
def other_client_keeps_the_code(policy: Policy) -> Policy:
    return _with_codes_kept(policy, lambda call: call.body["clientId"] != "conformance")


@fault(
    "F474",
    requirement="OA-17",
    title="the token type is capitalized",
    operations=(_EXCHANGE,),
    source="str.capitalize() of a library that writes Bearer so",
)
def type_capitalized(policy: Policy) -> Policy:
    def issue(call: Call, code: Mapping[str, Any]) -> JsonObject:
        token = policy.oauth.issue(call, code)
        return {**token, "tokenType": str(token["tokenType"]).capitalize()}

    return with_oauth(policy, issue=issue)


@off(
    "X48",
    "OA-5",
    "a code that was issued for a proof key is exchanged with another",
    "dpop_jkt of the authorization request is stored and never read",
    "V542",
)
def code_of_any_key(policy: Policy) -> Policy:
    return with_oauth(policy, grant={name: c for name, c in policy.oauth.grant.items() if name != "key"})


@off(
    "X71",
    "OA-8",
    "a nonce is supplied and not asked for, and iat is not read",
    "a migration to nonces, half done",
    "V558",
)
def iat_given_up_for_nonces(policy: Policy) -> Policy:
    """A proof without a nonce, such as a stolen one, has an age then that nothing limits."""
    return with_proof(policy, fresh=lambda _call, _proof: None)


@off("X178", "OA-17", "a token ends a thousand times as late as its answer says", "milliseconds in a claim", "V548")
def late_end_of_the_token(policy: Policy) -> Policy:
    issue = policy.oauth.issue

    def issue_late(call: Call, code: Mapping[str, Any]) -> JsonObject:
        members = issue(call, code)
        header, payload, signature = str(members["accessToken"]).split(".")
        claims = json.loads(decode_part(payload))
        claims["exp"] = claims["iat"] + 1000 * (claims["exp"] - claims["iat"])
        late = encode_part(json.dumps(claims).encode())
        return {**members, "accessToken": f"{header}.{late}.{signature}"}

    return with_oauth(policy, issue=issue_late)
