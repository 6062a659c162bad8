"""Faults of single members of a proof, and of the header that carries it: OA-1, OA-6, OA-8."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from joserfc.jwk import import_key
from joserfc.jws import JWSRegistry
from sqlalchemy import Connection

from conformance.reference.call import Call
from conformance.reference.dpop import Proof, bad_proof, decode_part, encode_part, normalize
from conformance.reference.policy import Condition, Policy, before_work, with_oauth, with_proof
from conformance.reference.registry import fault

_TOKEN = ("exchangeOAuthToken",)
_MAX_DIGITS = 20
_SIZES = {"ES256": 32, "ES384": 48}
"""Bytes of each integer of a signature (RFC 7518, section 3.4)."""


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


@fault(
    "F704",
    requirement="OA-1",
    title="proofs whose jti have the same first 32 characters count as the same",
    operations=_TOKEN,
    source="a column of 32 characters for the ids of used proofs, which cuts longer ones",
)
def short_id(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        if call.proof is not None:
            call.proof = replace(call.proof, claims={**call.proof.claims, "jti": call.proof.claims["jti"][:32]})
        return call

    return before_work(policy, look, *_TOKEN)


@fault(
    "F709",
    requirement="OA-6",
    title="the htu of a proof is compared with the host of X-Forwarded-Host",
    operations=_TOKEN,
    source="a framework that trusts the headers of a proxy also where there is none",
)
def forwarded_host(policy: Policy) -> Policy:
    def check(call: Call, proof: Proof) -> None:
        host = call.request.first_header(b"x-forwarded-host")
        parts = urlsplit(call.request.url)
        url = parts._replace(netloc=host).geturl() if host else call.request.url
        if normalize(str(proof.claims.get("htu"))) != normalize(url):
            raise bad_proof("The proof's htu is another URL.")

    return with_proof(policy, url=check)


@fault(
    "F713",
    requirement="OA-8",
    title="an iat with a fraction is refused",
    operations=_TOKEN,
    source="a claim of an integer type; RFC 7519 section 2: a NumericDate may be a non-integer",
)
def whole_iat(policy: Policy) -> Policy:
    def check(call: Call, proof: Proof) -> None:
        if isinstance(proof.claims.get("iat"), float):
            raise bad_proof("The proof's iat must be an integer.")
        policy.oauth.proof["fresh"](call, proof)

    return with_proof(policy, fresh=check)


_KNOWN_CLAIMS = frozenset({"jti", "htm", "htu", "iat", "nonce", "ath", "exp", "nbf"})


@fault(
    "F714",
    requirement="OA-1",
    title="a proof with a further claim is refused",
    operations=_TOKEN,
    source="a closed schema of the claims; RFC 9449 section 4.2 allows others",
)
def closed_claims(policy: Policy) -> Policy:
    def check(call: Call, proof: Proof) -> None:
        if proof.claims.keys() - _KNOWN_CLAIMS:
            raise bad_proof("The proof has an unknown claim.")
        policy.oauth.proof["claims"](call, proof)

    return with_proof(policy, claims=check)


@fault(
    "F840",
    requirement="OA-6",
    title="of two proofs in one header, joined by a comma, the first one counts",
    operations=_TOKEN,
    source="a proxy that joins headers of one name, and a reader made for it (RFC 9449 section 4.3, item 1)",
)
def first_of_a_list(policy: Policy) -> Policy:
    def read_proof(call: Call) -> Proof | None:
        first, comma, _ = call.request.first_header(b"dpop").partition(",")
        if not comma:
            return policy.oauth.read_proof(call)
        headers = [
            (name, first.encode("latin-1") if name == b"dpop" else value) for name, value in call.request.headers
        ]
        return policy.oauth.read_proof(replace(call, request=replace(call.request, headers=tuple(headers))))

    return with_oauth(policy, read_proof=read_proof)


@fault(
    "F841",
    requirement="OA-6",
    title="an iat that is a text of digits is accepted",
    operations=_TOKEN,
    source="a language or a library that reads numbers out of texts; RFC 7519 section 4.1.6 demands a number",
)
def iat_as_text(policy: Policy) -> Policy:
    def read_number(proof: Proof) -> Proof:
        iat = proof.claims.get("iat")
        if not isinstance(iat, str) or not iat.isdecimal() or len(iat) > _MAX_DIGITS:
            return proof
        return replace(proof, claims={**proof.claims, "iat": int(iat)})

    def reread(name: str) -> Condition:
        return lambda call, proof: policy.oauth.proof[name](call, read_number(proof))

    return with_proof(policy, claims=reread("claims"), fresh=reread("fresh"))


@fault(
    "F881",
    requirement="OA-6",
    title="a fourth part of a proof is ignored",
    operations=_TOKEN,
    source="a text that is split at its dots, of which the first three pieces are taken (RFC 7515 section 7.1)",
)
def fourth_part(policy: Policy) -> Policy:
    def read_proof(call: Call) -> Proof | None:
        headers = [
            (name, b".".join(value.split(b".")[:3]) if name == b"dpop" else value)
            for name, value in call.request.headers
        ]
        return policy.oauth.read_proof(replace(call, request=replace(call.request, headers=tuple(headers))))

    return with_oauth(policy, read_proof=read_proof)


def _verify_unless(policy: Policy, is_exempt: Callable[[Proof], bool], *names: str) -> Policy:
    """These conditions are not asked of a proof that is exempt."""

    def ask(name: str) -> Condition:
        return lambda call, proof: None if is_exempt(proof) else policy.oauth.proof[name](call, proof)

    return with_proof(policy, **{name: ask(name) for name in names})


@fault(
    "F882",
    requirement="OA-6",
    title="an empty signature passes",
    operations=_TOKEN,
    source="a verifier that is not called where there is nothing to verify",
)
def empty_signature(policy: Policy) -> Policy:
    return _verify_unless(policy, lambda proof: proof.text.endswith("."), "signature")


@fault(
    "F883",
    requirement="OA-6",
    title="a signature of zeros passes",
    operations=_TOKEN,
    source="CVE-2022-21449: ECDSA of Java 15 to 18, which did not refuse r and s of zero",
)
def signature_of_zeros(policy: Policy) -> Policy:
    def is_zero(proof: Proof) -> bool:
        signature = decode_part(proof.text.rpartition(".")[2])
        return bool(signature) and not any(signature)

    return _verify_unless(policy, is_zero, "signature")


@fault(
    "F884",
    requirement="OA-6",
    title="the algorithm None passes without a signature, and none does not",
    operations=_TOKEN,
    source="a list of refused algorithms that is compared in one case; RFC 7515 section 4.1.1: alg is case-sensitive",
)
def algorithm_in_another_case(policy: Policy) -> Policy:
    def is_none(proof: Proof) -> bool:
        algorithm = str(proof.header.get("alg"))
        return algorithm.lower() == "none" != algorithm

    return _verify_unless(policy, is_none, "algorithm", "signature")


@fault(
    "X197",
    requirement="OA-6",
    title="the name of an algorithm is accepted in lower case",
    operations=_TOKEN,
    source="a lookup without regard to case, where alg is case-sensitive (RFC 7515 section 4.1.1)",
)
def algorithm_in_lower_case(policy: Policy) -> Policy:
    names = {name.lower(): name for name in policy.oauth.algorithms}

    def has_name(call: Call, proof: Proof) -> None:
        if proof.header.get("alg") not in names:
            policy.oauth.proof["algorithm"](call, proof)

    def is_signed(_call: Call, proof: Proof) -> None:
        algorithm = JWSRegistry.algorithms[names[str(proof.header["alg"]).lower()]]
        head, _, signature = proof.text.rpartition(".")
        if not algorithm.verify(head.encode(), decode_part(signature), import_key(proof.header["jwk"])):
            raise bad_proof("The proof's signature does not verify.")

    return with_proof(policy, algorithm=has_name, signature=is_signed)


@fault(
    "F885",
    requirement="OA-6",
    title="an extension that a proof names as critical is ignored",
    operations=_TOKEN,
    source="a library that does not know crit; RFC 7515 section 4.1.11 takes such a proof for invalid",
)
def ignored_extension(policy: Policy) -> Policy:
    def is_signed(call: Call, proof: Proof) -> None:
        """The signature is not asked for: it covers the header, which has one member fewer here."""
        if "crit" not in proof.header:
            policy.oauth.proof["signature"](call, proof)

    return with_proof(policy, signature=is_signed)


@fault(
    "X49",
    requirement="OA-6",
    title="any typ that ends in +jwt is accepted, so an access token is",
    operations=_TOKEN,
    source="a test of the ending, for the types of RFC 8725 section 3.11 (RFC 9449 section 4.3, item 4)",
)
def any_jwt_type(policy: Policy) -> Policy:
    def kind(call: Call, proof: Proof) -> None:
        if not str(proof.header.get("typ")).endswith("+jwt"):
            policy.oauth.proof["type"](call, proof)

    return with_proof(policy, type=kind)


@fault(
    "X50",
    requirement="OA-6",
    title="htu is compared without regard to case",
    operations=_TOKEN,
    source="both URLs in lower case, for the host (RFC 9449 section 4.3, item 9; RFC 3986 section 6.2.2.1)",
)
def caseless_htu(policy: Policy) -> Policy:
    def url(call: Call, proof: Proof) -> None:
        if str(proof.claims.get("htu")).lower() != call.request.url.lower():
            policy.oauth.proof["url"](call, proof)

    return with_proof(policy, url=url)


@fault(
    "X67",
    requirement="OA-1",
    title="a proof with a query in htu is refused",
    operations=_TOKEN,
    source="URLs that are compared as a whole (RFC 9449 section 4.3, item 9: without query and fragment)",
)
def query_in_htu(policy: Policy) -> Policy:
    def url(call: Call, proof: Proof) -> None:
        if "?" in str(proof.claims.get("htu")):
            raise bad_proof("The proof's htu is another URL.")
        policy.oauth.proof["url"](call, proof)

    return with_proof(policy, url=url)


@fault(
    "X175",
    requirement="OA-6",
    title="an ECDSA signature in DER is accepted beside one of two integers of fixed length",
    operations=_TOKEN,
    source="a verifier that tries the encoding of its cryptographic library as well; RFC 7518 section 3.4 has one",
)
def signature_in_der(policy: Policy) -> Policy:
    def is_signed(call: Call, proof: Proof) -> None:
        head, _, signature = proof.text.rpartition(".")
        size = _SIZES.get(str(proof.header.get("alg")))
        if size:
            with suppress(ValueError):
                raw = b"".join(part.to_bytes(size) for part in decode_dss_signature(decode_part(signature)))
                proof = replace(proof, text=f"{head}.{encode_part(raw)}")
        policy.oauth.proof["signature"](call, proof)

    return with_proof(policy, signature=is_signed)


@fault(
    "X177",
    requirement="OA-6",
    title="an exchange with an Authorization header needs no proof",
    operations=_TOKEN,
    source="a branch for confidential clients, which the service has none of",
)
def no_proof_beside_credentials(policy: Policy) -> Policy:
    def read_proof(call: Call) -> Proof | None:
        return None if call.request.first_header(b"authorization") else policy.oauth.read_proof(call)

    return with_oauth(policy, read_proof=read_proof)
