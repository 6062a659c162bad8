"""DPoP proofs (RFC 9449 section 4.2): valid ones, and ones with exactly one defect.

A proof is built when it is sent: its jti and iat are new each time.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, OKPKey, RSAKey


_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "ES256K": "secp256k1"}


def encode(raw: bytes) -> str:
    """base64url without padding (RFC 7515 section 2)."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """base64url without padding. Raises ValueError on what is not (RFC 7515 section 2)."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(frozen=True)
class ProofKey:
    """A key pair for proofs, with the JWS algorithm that it signs with."""

    algorithm: str
    key: ECKey | RSAKey | OKPKey = field(repr=False)

    @classmethod
    def new(cls, algorithm: str = "ES256") -> ProofKey:
        """A new pair. Raises ValueError on an algorithm that no proof may use (RFC 9449 section 4.3, item 5)."""
        from joserfc.jwk import ECKey, OKPKey, RSAKey

        if algorithm in _CURVES:
            return cls(algorithm, ECKey.generate_key(_CURVES[algorithm]))
        if algorithm in ("EdDSA", "Ed25519"):
            return cls(algorithm, OKPKey.generate_key("Ed25519"))
        if algorithm[:2] in ("RS", "PS"):
            return cls(algorithm, RSAKey.generate_key(2048))
        raise ValueError(f"{algorithm} is not an asymmetric signature algorithm that this suite can use")

    @cached_property
    def public(self) -> dict[str, Any]:
        return dict(cast(Mapping[str, Any], self.key.as_dict(private=False)))

    @property
    def private(self) -> dict[str, Any]:
        return dict(cast(Mapping[str, Any], self.key.as_dict(private=True)))

    @cached_property
    def thumbprint(self) -> str:
        """RFC 7638."""
        return str(self.key.thumbprint())


@dataclass(frozen=True)
class Proof:
    """How a proof differs from a valid one: each field is one change that a check may make.

    `header` and `claims` overwrite members, a value of None removes one; `alter` rewrites the finished compact form;
    `copies` is the number of headers sent; `payload` replaces the claims by any bytes.
    """

    key: ProofKey
    header: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)
    signing: str = "own"
    """`own`, `other` (another key than the one shown), `none`, `hmac` (HS256 with the public key as its secret), or
    `shown` (HS256 with the secret that the header shows)."""
    alter: Callable[[str], str] | None = None
    copies: int = 1
    age_s: float = 0.0
    """Age of iat in seconds; negative values lie in the future."""
    payload: bytes | None = None
    new_id_on_retry: bool = False
    """Whether a retry of the sender gets another fixed `jti`: a server may count the first one as used."""

    def for_retry(self) -> Proof:
        return replace(self, claims={**self.claims, "jti": str(uuid.uuid4())}) if self.new_id_on_retry else self

    def write(self, method: str, url: str, nonce: str, clock: Callable[[], float] = time.time) -> str:
        """The compact serialization for one request. `url` is the htu: without query and fragment."""
        header = {"typ": "dpop+jwt", "alg": self.key.algorithm, "jwk": self.key.public, **self.header}
        claims: dict[str, Any] = {"jti": str(uuid.uuid4()), "htm": method, "htu": url, "iat": int(clock() - self.age_s)}
        if nonce:
            claims["nonce"] = nonce
        claims |= self.claims
        claims_payload = json.dumps({name: value for name, value in claims.items() if value is not None}).encode()
        compact = self._sign(
            {name: value for name, value in header.items() if value is not None},
            claims_payload if self.payload is None else self.payload,
        )
        return self.alter(compact) if self.alter else compact

    def _sign(self, header: dict[str, Any], payload: bytes) -> str:
        signing_input = f"{encode(json.dumps(header).encode())}.{encode(payload)}"
        if self.signing == "none":
            return f"{signing_input}."
        if self.signing in ("hmac", "shown"):
            secret = decode(header["jwk"]["k"]) if self.signing == "shown" else self.key.key.as_pem(private=False)
            return f"{signing_input}.{encode(hmac.new(secret, signing_input.encode(), hashlib.sha256).digest())}"
        from joserfc import jws

        key = ProofKey.new(self.key.algorithm) if self.signing == "other" else self.key
        algorithm = jws.JWSRegistry.algorithms[key.algorithm]
        return f"{signing_input}.{encode(algorithm.sign(signing_input.encode(), key.key))}"


def new_verifier() -> str:
    """64 unreserved characters: a verifier, and so a plain challenge, has 43 to 128 (RFC 7636 section 4.1)."""
    return secrets.token_urlsafe(48)


def challenge_of(verifier: str) -> str:
    """The S256 code challenge of a PKCE verifier (RFC 7636 section 4.2)."""
    return encode(hashlib.sha256(verifier.encode()).digest())
