"""DPoP proofs (RFC 9449 section 4.3). `read_proof` parses one; each condition checks one point of the list.

Condition 10 (nonce) holds where the policy gives nonces; condition 12 (access token hash) is for protected resources.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry, deserialize_compact

from conformance.reference.call import Call, JsonValue, Refusal, dumps

ALGORITHMS = ("ES256", "ES384", "PS256", "Ed25519")
_REQUIRED_MEMBERS: Mapping[str, tuple[str, ...]] = {"EC": ("crv", "x", "y"), "OKP": ("crv", "x"), "RSA": ("e", "n")}
_KEYS: Mapping[str, Any] = {"EC": ECKey, "OKP": OKPKey, "RSA": RSAKey}
_CHALLENGE = (("WWW-Authenticate", 'DPoP error="invalid_dpop_proof"'),)
_PRIVATE = ("d", "p", "q", "dp", "dq", "qi", "oth", "k")


class _Registry(JWSRegistry):
    max_header_length = 8192
    """An RSA key in the header exceeds the library's 512."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A parsed proof. `jkt` is the RFC 7638 thumbprint of the key in its header, "" where there is none."""

    text: str
    header: Mapping[str, Any]
    claims: Mapping[str, Any]

    @property
    def jkt(self) -> str:
        jwk = self.header.get("jwk")
        if not isinstance(jwk, dict):
            return ""
        names = _REQUIRED_MEMBERS.get(str(jwk.get("kty")), ("k",))
        members = {name: jwk.get(name, "") for name in sorted((*names, "kty"))}
        return encode_part(hashlib.sha256(dumps(members)).digest())


def encode_part(data: bytes) -> str:
    """base64url without padding (RFC 7515 section 2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_part(part: str) -> bytes:
    """Base64url without padding (RFC 7515 section 2). Raises ValueError."""
    if "=" in part or not part.isascii():
        raise ValueError("padding or foreign characters")
    return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)


def _object(part: str) -> Mapping[str, Any]:
    value: JsonValue = json.loads(decode_part(part).decode())
    if not isinstance(value, dict):
        raise ValueError("not an object")
    dumps(value)  # no NaN, no lone surrogates
    return value


def bad_proof(message: str) -> Refusal:
    return Refusal("bad_proof", message, headers=_CHALLENGE)


def read_proof(call: Call) -> Proof | None:
    """Conditions 1 and 2: exactly one header field, one well-formed JWT."""
    values = call.request.header_values(b"dpop")
    if not values:
        raise Refusal("missing_proof", "A DPoP header is required.", headers=_CHALLENGE)
    if len(values) > 1:
        raise bad_proof("Exactly one DPoP header is required.")
    parts = values[0].strip(" ").split(".")
    try:
        header, claims, _ = parts
        decode_part(parts[2])
        return Proof(".".join(parts), _object(header), _object(claims))
    except (ValueError, RecursionError, binascii.Error):
        raise bad_proof("The DPoP header is not a well-formed JWT.") from None


def has_claims(_call: Call, proof: Proof) -> None:
    """Condition 3: all required claims (section 4.2), each of its type."""
    claims = proof.claims
    texts = all(isinstance(claims.get(name), str) and claims[name] for name in ("jti", "htm", "htu"))
    iat = claims.get("iat")
    if not texts or len(claims["jti"]) > 500 or isinstance(iat, bool) or not isinstance(iat, (int, float)):
        raise bad_proof("A required claim of the proof is missing or of the wrong type.")


def is_dpop_type(_call: Call, proof: Proof) -> None:
    """Condition 4."""
    if proof.header.get("typ") != "dpop+jwt":
        raise bad_proof("The proof's typ must be dpop+jwt.")


def has_asymmetric_algorithm(call: Call, proof: Proof) -> None:
    """Condition 5: registered, asymmetric, acceptable; never none."""
    if proof.header.get("alg") not in call.policy.oauth.algorithms:
        raise bad_proof("The proof's algorithm is not acceptable.")


def is_signed_by_its_key(_call: Call, proof: Proof) -> None:
    """Condition 6."""
    jwk = proof.header.get("jwk")
    if not isinstance(jwk, dict) or str(jwk.get("kty")) not in _KEYS or "crit" in proof.header:
        raise bad_proof("The proof must carry its public key.")
    public = {name: value for name, value in jwk.items() if name not in _PRIVATE}
    algorithm = str(proof.header.get("alg"))
    try:
        key = _KEYS[str(jwk["kty"])].import_key(public)
        deserialize_compact(proof.text, key, registry=_Registry(algorithms=[algorithm], strict_check_header=False))
    except Exception:  # noqa: BLE001 - a hostile key may raise any exception in a cryptographic library
        raise bad_proof("The proof's signature does not verify.") from None


def has_public_key(_call: Call, proof: Proof) -> None:
    """Condition 7: no private key in the header."""
    jwk = proof.header.get("jwk")
    if not isinstance(jwk, dict) or any(name in jwk for name in _PRIVATE):
        raise bad_proof("The proof must not carry a private key.")


def is_for_this_method(call: Call, proof: Proof) -> None:
    """Condition 8."""
    if proof.claims.get("htm") != call.request.method:
        raise bad_proof("The proof's htm is another method.")


def is_for_this_url(call: Call, proof: Proof) -> None:
    """Condition 9: htu is this URL without query and fragment, normalised (RFC 3986 section 6.2.2 and 6.2.3)."""
    if normalize(str(proof.claims.get("htu"))) != normalize(call.request.url):
        raise bad_proof("The proof's htu is another URL.")


def normalize(url: str) -> tuple[str, str, str] | None:
    """Scheme, authority and path for comparison; query and fragment are ignored. None where it is not a URL."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return parts.scheme.lower(), f"{(parts.hostname or '').lower()}:{port}", parts.path or "/"
    except ValueError:
        return None


def has_current_nonce(call: Call, proof: Proof) -> None:
    """Condition 10."""
    nonce = call.policy.oauth.nonce
    if nonce is None:
        return
    if not hmac.compare_digest(str(proof.claims.get("nonce", "")).encode("utf-8", "replace"), nonce(call).encode()):
        raise nonce_challenge(nonce(call))


def nonce_challenge(nonce: str) -> Refusal:
    """The refusal that supplies the nonce of the next proof (RFC 9449, section 8)."""
    headers = (("WWW-Authenticate", 'DPoP error="use_dpop_nonce"'), ("DPoP-Nonce", nonce))
    return Refusal("use_dpop_nonce", "The proof needs the nonce of the DPoP-Nonce header.", headers=headers)


def is_fresh(call: Call, proof: Proof) -> None:
    """Condition 11: iat neither too old nor too far in the future."""
    iat, rules = proof.claims.get("iat"), call.policy.oauth
    earliest, latest = call.now - rules.clock_behind_s, call.now + rules.clock_ahead_s
    # compared, not subtracted: an integer may be too large for a float
    if not isinstance(iat, (int, float)) or not earliest <= iat <= latest:
        raise bad_proof("The proof's iat is out of the acceptable window.")


CONDITIONS = {
    "claims": has_claims,
    "type": is_dpop_type,
    "algorithm": has_asymmetric_algorithm,
    "signature": is_signed_by_its_key,
    "public": has_public_key,
    "method": is_for_this_method,
    "url": is_for_this_url,
    "nonce": has_current_nonce,
    "fresh": is_fresh,
}
