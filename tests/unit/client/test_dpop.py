"""Proofs as RFC 9449 has them, and altered ones that differ in just that, verified by another library."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
import uuid
from dataclasses import replace
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from joserfc import jws
from joserfc.jwk import import_key

from conformance.client.dpop import Proof, ProofKey, challenge_of, encode
from conformance.profile.schema import facts_schema

URL = "https://shop.example/prefix/api/v1/oauth/token"
ALGORITHMS = facts_schema()["$defs"]["OAuth"]["properties"]["algorithms"]["items"]["enum"]
"""All that a profile may declare."""
KEYS = {name: ProofKey.new(name) for name in ALGORITHMS}
KEY = KEYS["ES256"]
HASHES: dict[str, Any] = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}


def b64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def number(text: str) -> int:
    return int.from_bytes(b64(text), "big")


def parts(compact: str) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    head, body, signature = compact.split(".")
    return json.loads(b64(head)), json.loads(b64(body)), b64(signature)


def verified(compact: str) -> bool:
    """RFC 7515 section 5.2 by another library, with the key that the header shows."""
    header, _, signature = parts(compact)
    signed, jwk, algorithm = compact.rpartition(".")[0].encode(), header["jwk"], header["alg"]
    public: Any
    try:
        if jwk["kty"] == "EC":
            curve: Any = {
                "P-256": ec.SECP256R1(),
                "P-384": ec.SECP384R1(),
                "P-521": ec.SECP521R1(),
                "secp256k1": ec.SECP256K1(),
            }[jwk["crv"]]
            public = ec.EllipticCurvePublicNumbers(number(jwk["x"]), number(jwk["y"]), curve).public_key()
            half = len(signature) // 2
            r, s = int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
            public.verify(encode_dss_signature(r, s), signed, ec.ECDSA(HASHES[algorithm[2:5]]))
        elif jwk["kty"] == "OKP":
            Ed25519PublicKey.from_public_bytes(b64(jwk["x"])).verify(signature, signed)
        else:
            public = rsa.RSAPublicNumbers(number(jwk["e"]), number(jwk["n"])).public_key()
            digest = HASHES[algorithm[2:]]
            pss = padding.PSS(padding.MGF1(digest), digest.digest_size)
            public.verify(signature, signed, pss if algorithm[0] == "P" else padding.PKCS1v15(), digest)
    except InvalidSignature:
        return False
    return True


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_sound_proof_verifies(algorithm: str) -> None:
    """RFC 9449 section 4.2: typ, alg and public jwk in the header; jti, htm, htu and iat claimed; signed by jwk."""
    key = KEYS[algorithm]
    compact = Proof(key).write("POST", URL, "")
    header, claims, _ = parts(compact)
    assert verified(compact)
    assert (header["typ"], header["alg"], set(header)) == ("dpop+jwt", algorithm, {"typ", "alg", "jwk"})
    assert set(header["jwk"]) <= {"kty", "crv", "x", "y", "n", "e", "kid", "use", "alg"}
    assert (claims["htm"], claims["htu"], set(claims)) == ("POST", URL, {"jti", "htm", "htu", "iat"})
    assert uuid.UUID(claims["jti"]).version == 4
    assert isinstance(claims["iat"], int)
    assert abs(claims["iat"] - time.time()) < 3


def test_a_sound_proof_verifies_with_joserfc() -> None:
    """Its own library agrees with the other one."""
    compact = Proof(KEY).write("POST", URL, "n-1")
    registry = jws.JWSRegistry(algorithms=["ES256"], strict_check_header=False)
    read = jws.deserialize_compact(compact, import_key(KEY.public), registry=registry)
    assert json.loads(read.payload)["nonce"] == "n-1"


def test_each_proof_is_new() -> None:
    """jti differs from proof to proof, and nobody sees the private key."""
    proof = Proof(KEY)
    written = [proof.write("POST", URL, "") for _ in range(20)]
    assert len({parts(one)[1]["jti"] for one in written}) == 20
    private = KEY.private["d"]
    assert not any(private in json.dumps(parts(one)[:2]) for one in written)
    assert private not in repr(KEY) + repr(proof)


def test_the_thumbprint_is_rfc_7638() -> None:
    """SHA-256 over the required members in lexical order, without blanks."""
    public = {name: KEY.public[name] for name in ("crv", "kty", "x", "y")}
    digest = hashlib.sha256(json.dumps(public, separators=(",", ":"), sort_keys=True).encode()).digest()
    assert KEY.thumbprint == encode(digest)


def test_a_challenge_is_rfc_7636() -> None:
    """The example of RFC 7636, appendix B."""
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


OTHER = ProofKey.new("ES256")
HEADERS: dict[str, dict[str, Any]] = {
    "typ": {"typ": "JWT"},
    "no typ": {"typ": None},
    "no jwk": {"jwk": None},
    "private jwk": {"jwk": KEY.private},
    "other jwk": {"jwk": OTHER.public},
    "alg none": {"alg": "none"},
    "crit": {"crit": ["x"]},
}
CLAIMS: dict[str, dict[str, Any]] = {
    "no jti": {"jti": None},
    "empty jti": {"jti": ""},
    "htm": {"htm": "GET"},
    "no htm": {"htm": None},
    "htu": {"htu": URL + "/x"},
    "no htu": {"htu": None},
    "no iat": {"iat": None},
    "iat as text": {"iat": "now"},
    "nonce": {"nonce": "other"},
    "extra": {"ath": "x"},
}


def changes(base: dict[str, Any], other: dict[str, Any]) -> set[str]:
    return {name for name in base.keys() | other.keys() if base.get(name, "absent") != other.get(name, "absent")}


@pytest.mark.parametrize("name", HEADERS)
def test_a_changed_header_changes_just_that(name: str) -> None:
    """One header member differs from the sound proof, and the signature is over what is shown."""
    compact = Proof(KEY, header=HEADERS[name], claims={"jti": "j", "iat": 1}).write("POST", URL, "")
    sound = Proof(KEY, claims={"jti": "j", "iat": 1}).write("POST", URL, "")
    assert changes(parts(sound)[0], parts(compact)[0]) == set(HEADERS[name])
    assert parts(sound)[1] == parts(compact)[1]
    assert len(parts(compact)[2]) == 64


@pytest.mark.parametrize("name", CLAIMS)
def test_a_changed_claim_changes_just_that(name: str) -> None:
    """One claim differs from the sound proof, and the signature is good."""
    fixed = {"jti": "j", "iat": 1}
    compact = Proof(KEY, claims={**fixed, **CLAIMS[name]}).write("POST", URL, "n")
    sound = Proof(KEY, claims=fixed).write("POST", URL, "n")
    assert changes(parts(sound)[1], parts(compact)[1]) == set(CLAIMS[name])
    assert parts(sound)[0] == parts(compact)[0]
    assert verified(compact)


def test_age_moves_iat_alone() -> None:
    """A proof may say that it was made earlier, or later, than now."""
    ages = {
        age: parts(replace(Proof(KEY), age_s=age).write("POST", URL, "", lambda: 1000.9))[1]["iat"]
        for age in (0, 60, -60)
    }
    assert ages == {0: 1000, 60: 940, -60: 1060}


def test_another_signer_is_seen_by_the_signature_alone() -> None:
    """`other` signs with a key that is not the one shown."""
    compact = Proof(KEY, signing="other").write("POST", URL, "")
    assert not verified(compact)
    assert parts(compact)[0]["jwk"] == KEY.public


def test_no_signature() -> None:
    """`none` leaves the third part empty."""
    assert Proof(KEY, signing="none", header={"alg": "none"}).write("POST", URL, "").endswith(".")


def test_a_symmetric_signature_over_the_public_key() -> None:
    """`hmac` is what a verifier that trusts the header's alg would take for good."""
    compact = Proof(KEY, signing="hmac", header={"alg": "HS256"}).write("POST", URL, "")
    signed, _, signature = compact.rpartition(".")
    secret = KEY.key.as_pem(private=False)
    assert hmac.digest(secret, signed.encode(), "sha256") == b64(signature)
    assert b"PUBLIC KEY" in secret


def test_the_finished_form_can_be_altered() -> None:
    """`alter` has the last word."""
    assert Proof(KEY, alter=lambda compact: compact + ".x").write("POST", URL, "").count(".") == 3


def test_another_payload_is_signed_like_claims() -> None:
    """What is not a JSON object is not a set of claims, and that is all that is wrong with it."""
    compact = Proof(KEY, payload=b"[]").write("POST", URL, "nonce")
    assert parts(compact)[1] == []
    assert verified(compact)


@pytest.mark.parametrize("algorithm", ["HS256", "none", "ES999", ""])
def test_only_asymmetric_algorithms_make_keys(algorithm: str) -> None:
    """RFC 9449 section 4.3, item 5: none and symmetric ones are not algorithms of a proof."""
    with pytest.raises(ValueError, match="not an asymmetric"):
        ProofKey.new(algorithm)
