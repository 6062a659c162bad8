"""Faults of the token exchange: OA. All of them show on exchangeOAuthToken only."""

from __future__ import annotations

import hmac
import string
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from conformance.reference.call import Answer, Call, JsonObject, dumps
from conformance.reference.dpop import Proof, bad_proof, decode_part
from conformance.reference.oauth import bad_grant, s256
from conformance.reference.policy import (
    Condition,
    Policy,
    evolve,
    with_oauth,
    with_proof,
    with_schema,
    with_shape,
)
from conformance.reference.registry import fault

_TOKEN = ("exchangeOAuthToken",)
_UNRESERVED = string.ascii_letters + string.digits + "-._~"


def _without_proof(policy: Policy, *names: str) -> Policy:
    conditions = {name: condition for name, condition in policy.oauth.proof.items() if name not in names}
    return with_oauth(policy, proof=conditions)


def _without_grant(policy: Policy, *names: str) -> Policy:
    conditions = {name: condition for name, condition in policy.oauth.grant.items() if name not in names}
    return with_oauth(policy, grant=conditions)


def _verifier_schema(policy: Policy, *, required: bool) -> Policy:
    """Removes the verifier's format, and optionally its presence, from the request schema."""
    schema = policy.reading.schemas["exchangeOAuthToken"]
    properties = {**schema["properties"], "codeVerifier": {"type": "string"}}
    names = [name for name in schema["required"] if required or name != "codeVerifier"]
    changed_schema = {**schema, "properties": properties, "required": names}
    return with_schema(policy, "exchangeOAuthToken", changed_schema)


def _where_matched(policy: Policy, matches: Callable[[str, str], bool]) -> Policy:
    """A code is exchanged where `matches(verifier, challenge)`."""

    def verifier(call: Call, code: Mapping[str, Any]) -> None:
        if not matches(call.body["codeVerifier"], code["challenge"]):
            raise bad_grant("The code verifier does not match.")

    return with_oauth(policy, grant={**policy.oauth.grant, "verifier": verifier})


@fault("F137", requirement="OA-2", title="verifier never checked", operations=_TOKEN)
def verifier_unchecked(policy: Policy) -> Policy:
    return _without_grant(_verifier_schema(policy, required=False), "verifier")


@fault("F138", requirement="OA-2", title="verifier skipped when absent", operations=_TOKEN)
def verifier_optional(policy: Policy) -> Policy:
    def verifier(call: Call, code: Mapping[str, Any]) -> None:
        if call.body.get("codeVerifier"):
            policy.oauth.grant["verifier"](call, code)

    return with_oauth(_verifier_schema(policy, required=False), grant={**policy.oauth.grant, "verifier": verifier})


@fault("F141", requirement="OA-2", title="verifier prefix or case-fold compare", operations=_TOKEN)
def verifier_loosely_compared(policy: Policy) -> Policy:
    """Simulates a comparison of the verifier without case, or up to the shorter length.

    Only its hash is stored, so candidates are tried: other case, a shortened text, one missing character.
    """

    def matches(verifier: str, challenge: str) -> bool:
        candidates = [verifier, verifier.lower(), verifier.upper(), verifier.swapcase()]
        candidates += [verifier[:length] for length in range(43, len(verifier))]
        candidates += [verifier + character for character in _UNRESERVED]
        return any(hmac.compare_digest(s256(text), challenge) for text in candidates)

    return _where_matched(_verifier_schema(policy, required=True), matches)


@fault(
    "X226",
    requirement="OA-2",
    title="a verifier that does not match is tried in lower case",
    operations=_TOKEN,
    source="a client that had sent verifiers in capitals, and was helped",
)
def verifier_in_lower_case(policy: Policy) -> Policy:
    def matches(verifier: str, challenge: str) -> bool:
        return challenge in (s256(verifier), s256(verifier.lower()))

    return _where_matched(_verifier_schema(policy, required=True), matches)


@fault(
    "F986",
    requirement="OA-2",
    title="challenges are compared without regard to case",
    operations=_TOKEN,
    source="EqualFold, or a column of codes whose collation ignores case",
)
def challenge_in_any_case(policy: Policy) -> Policy:
    return _where_matched(policy, lambda verifier, challenge: s256(verifier).casefold() == challenge.casefold())


@fault(
    "X229",
    requirement="OA-2",
    title="of a challenge the first 32 characters count",
    operations=_TOKEN,
    source="a column for hashes in hexadecimal digits of 128 bits, which cuts what is longer",
)
def first_characters_of_challenge(policy: Policy) -> Policy:
    return _where_matched(policy, lambda verifier, challenge: s256(verifier)[:32] == challenge[:32])


@fault(
    "X211",
    requirement="OA-2",
    title="of a longer verifier the first 43 characters may count",
    operations=_TOKEN,
    source="a column for the shortest verifier, compared after the whole one for clients of an earlier version",
)
def first_characters_of_verifier(policy: Policy) -> Policy:
    def matches(verifier: str, challenge: str) -> bool:
        return challenge in (s256(verifier), s256(verifier[:43]))

    return _where_matched(_verifier_schema(policy, required=True), matches)


@fault("F142", requirement="OA-4", title="code reusable", operations=_TOKEN)
def code_reusable(policy: Policy) -> Policy:
    return _without_grant(policy, "unused")


@fault("F144", requirement="OA-5", title="code not bound to client/redirect_uri", operations=_TOKEN)
def code_unbound(policy: Policy) -> Policy:
    return _without_grant(policy, "client", "redirect_uri")


@fault("F145", requirement="OA-6", title="DPoP absent accepted", operations=_TOKEN)
def proof_optional(policy: Policy) -> Policy:
    def read_optional_proof(call: Call) -> Proof | None:
        return policy.oauth.read_proof(call) if call.request.header_values(b"dpop") else None

    def issue(call: Call, code: Mapping[str, Any]) -> JsonObject:
        return policy.oauth.issue(call, code) if call.proof else _bearer(policy.oauth.issue(call, code))

    return with_oauth(policy, read_proof=read_optional_proof, issue=issue)


def _bearer(token: JsonObject) -> JsonObject:
    return {name: value for name, value in token.items() if name != "cnf"} | {"tokenType": "Bearer"}


@fault("F146", requirement="OA-6", title="proof signature unverified", operations=_TOKEN)
def signature_unverified(policy: Policy) -> Policy:
    return _without_proof(policy, "signature")


def _signature_unless(policy: Policy, algorithm: str, accepts: Callable[[Proof], bool]) -> Policy:
    def signature(call: Call, proof: Proof) -> None:
        if proof.header.get("alg") != algorithm:
            policy.oauth.proof["signature"](call, proof)
        elif not accepts(proof):
            raise bad_proof("The proof's signature does not verify.")

    changed_schema = with_proof(policy, signature=signature)
    return with_oauth(changed_schema, algorithms=(*policy.oauth.algorithms, algorithm))


@fault("F147", requirement="OA-6", title="alg none accepted", operations=_TOKEN)
def unsigned_accepted(policy: Policy) -> Policy:
    return _signature_unless(policy, "none", lambda _proof: True)


@fault("F148", requirement="OA-6", title="HS256 over public key accepted", operations=_TOKEN)
def public_key_as_secret(policy: Policy) -> Policy:
    def accepts(proof: Proof) -> bool:
        signing_input, _, signature = proof.text.rpartition(".")
        signature_bytes = decode_part(signature)
        return any(
            hmac.compare_digest(hmac.digest(key, signing_input.encode(), "sha256"), signature_bytes)
            for key in _as_secrets(proof)
        )

    return _signature_unless(policy, "HS256", accepts)


@fault(
    "X220",
    requirement="OA-6",
    title="HS256 with a secret that the proof shows is accepted",
    operations=_TOKEN,
    source="a library that takes the algorithm from the header and the key from its jwk, of whatever type",
)
def shown_secret_accepted(policy: Policy) -> Policy:
    def accepts(proof: Proof) -> bool:
        jwk, (signing_input, _, signature) = proof.header.get("jwk"), proof.text.rpartition(".")
        if not isinstance(jwk, dict) or jwk.get("kty") != "oct":
            return False
        digest = hmac.digest(decode_part(str(jwk.get("k", ""))), signing_input.encode(), "sha256")
        return hmac.compare_digest(digest, decode_part(signature))

    def public(call: Call, proof: Proof) -> None:
        if not accepts(proof):
            policy.oauth.proof["public"](call, proof)

    return with_proof(_signature_unless(policy, "HS256", accepts), public=public)


def _as_secrets(proof: Proof) -> list[bytes]:
    """The encodings of a public key that a library may use as a secret: JWK text, PEM, DER, the coordinates."""
    jwk = proof.header.get("jwk")
    if not isinstance(jwk, dict):
        return []
    plain = {name: value for name, value in jwk.items() if name in ("kty", "crv", "x", "y", "n", "e")}
    forms = [dumps(value) for value in (jwk, plain, dict(sorted(plain.items())), dict(sorted(jwk.items())))]
    try:
        key = ECKey.import_key(plain)
        point = decode_part(plain["x"]) + decode_part(plain["y"])
        pem, der = key.as_pem(private=False), key.as_der(private=False)
        forms += [pem, pem.strip(), der, point, b"\x04" + point, decode_part(plain["x"])]
    except (JoseError, ValueError, TypeError, KeyError):
        pass
    return forms


@fault("F150", requirement="OA-6", title="required claim absent accepted", operations=_TOKEN)
def claims_optional(policy: Policy) -> Policy:
    def only_with(claim: str, name: str) -> Condition:
        def condition(call: Call, proof: Proof) -> None:
            if claim in proof.claims:
                policy.oauth.proof[name](call, proof)

        return condition

    present = {"method": "htm", "url": "htu", "fresh": "iat"}
    changed_schema = {name: only_with(claim, name) for name, claim in present.items()}
    return _without_proof(with_proof(policy, **changed_schema), "claims")


@fault("F151", requirement="OA-6", title="htm unchecked", operations=_TOKEN)
def method_unchecked(policy: Policy) -> Policy:
    return _without_proof(policy, "method")


@fault("F152", requirement="OA-6", title="htu compared by prefix or host", operations=_TOKEN)
def host_only(policy: Policy) -> Policy:
    def url(call: Call, proof: Proof) -> None:
        if urlsplit(str(proof.claims["htu"])).netloc != urlsplit(call.request.url).netloc:
            raise bad_proof("The proof's htu is another host.")

    return with_proof(policy, url=url)


@fault("F155", requirement="OA-8", title="iat unbounded", operations=_TOKEN)
def iat_unbounded(policy: Policy) -> Policy:
    return _without_proof(policy, "fresh")


@fault("F156", requirement="OA-7", title="jti not remembered", operations=_TOKEN)
def jti_forgotten(policy: Policy) -> Policy:
    return with_oauth(policy, proof_reuse="accepted")


@fault("F158", requirement="OA-9", title="token not bound / Bearer", operations=_TOKEN)
def bearer_token(policy: Policy) -> Policy:
    return with_oauth(policy, issue=lambda call, code: _bearer(policy.oauth.issue(call, code)))


@fault("F161", requirement="OA-10", title="token response cacheable", operations=_TOKEN)
def cacheable(policy: Policy) -> Policy:
    return with_oauth(policy, headers=())


@fault("F162", requirement="OA-1", title="top-level access_token without data", operations=_TOKEN)
def top_level_token(policy: Policy) -> Policy:
    """RFC 6749 section 5.1 instead of the interface."""

    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        data = answer.value["data"]
        names = {"accessToken": "access_token", "tokenType": "token_type", "expiresIn": "expires_in", "scope": "scope"}
        return evolve(answer, value={names[name]: value for name, value in data.items() if name in names})

    return with_shape(policy, shaper, *_TOKEN)


@fault(
    "F995",
    requirement="OA-2",
    title="a verifier that is not a text is not compared",
    operations=_TOKEN,
    source="a comparison that is skipped where the value has another type, as with `typeof verifier === 'string' &&`",
)
def verifier_of_another_type(policy: Policy) -> Policy:
    def verifier(call: Call, code: Mapping[str, Any]) -> None:
        if isinstance(call.body.get("codeVerifier"), str):
            policy.oauth.grant["verifier"](call, code)

    schema = policy.reading.schemas["exchangeOAuthToken"]
    known = schema["properties"]["codeVerifier"]
    other_type = {"not": {"type": ["string", "null"]}}
    properties = {**schema["properties"], "codeVerifier": {"anyOf": [known, other_type]}}
    policy_of_any_type = with_schema(policy, "exchangeOAuthToken", {**schema, "properties": properties})
    return with_oauth(policy_of_any_type, grant={**policy.oauth.grant, "verifier": verifier})
