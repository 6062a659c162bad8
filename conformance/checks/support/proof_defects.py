"""Proofs of possession with one defect each, by the conditions of RFC 9449 section 4.3."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from conformance.checks.support.oauth_exchange import proof_of
from conformance.checks.support.redirect_uris import ALMOST
from conformance.client.dpop import Proof, decode, encode
from conformance.client.request import Request

Defect = Callable[[Request, str], Proof | None]
"""The request and the URL it goes to -> the proof with one defect; None sends none."""


def _header(**members: object) -> Defect:
    return lambda request, url: replace(proof_of(request), header=members)


def _claims(**members: object) -> Defect:
    return lambda request, url: replace(proof_of(request), claims=members)


def _private_key(request: Request, url: str) -> Proof:
    proof = proof_of(request)
    return replace(proof, header={"jwk": proof.key.private})


def _shown_secret(request: Request, url: str) -> Proof:
    """Signed with a symmetric key, which a proof must not be (RFC 9449 section 4.3, item 5), and which it shows."""
    jwk = {"kty": "oct", "k": encode(secrets.token_bytes(32))}
    return replace(proof_of(request), header={"alg": "HS256", "jwk": jwk}, signing="shown")


def _other_htu(change: Callable[[str], str]) -> Defect:
    return lambda request, url: replace(proof_of(request), claims={"htu": change(url)})


def other_host(url: str) -> str:
    return urlunsplit(urlsplit(url)._replace(netloc="other.example"))


def other_port(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    bare = host.rpartition(":")[0] if parts.port else host  # the brackets of an IPv6 address stay
    return urlunsplit(parts._replace(netloc=f"{bare}:{1 + (parts.port or 8442) % 65535}"))


def other_scheme(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(scheme="http" if parts.scheme == "https" else "https"))


def spoil_signature(compact: str) -> str:
    head, _, signature = compact.rpartition(".")
    return f"{head}.{signature[:8]}{'A' if signature[8] != 'A' else 'B'}{signature[9:]}"


def _without_signature(compact: str) -> str:
    return compact[: compact.rindex(".") + 1]


def _with_zeros(compact: str) -> str:
    """With a signature of as many zero bytes, which some verifiers of ECDSA take for a good one (CVE-2022-21449)."""
    head, _, signature = compact.rpartition(".")
    return f"{head}.{'A' * len(signature)}"


def _in_der(compact: str) -> str:
    """With an ECDSA signature as the two integers of X9.62 in DER, not as their plain bytes (RFC 7518 section 3.4)."""
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    head, _, signature = compact.rpartition(".")
    raw = decode(signature)
    r, s = (int.from_bytes(half) for half in (raw[: len(raw) // 2], raw[len(raw) // 2 :]))
    return f"{head}.{encode(encode_dss_signature(r, s))}"


_UNKNOWN_CRIT: Final = "6-unknown-crit"
_SIGNATURE_IN_DER: Final = "6-signature-in-der"
_JTI_NO_TEXT: Final = "3-jti-no-text"
_HTU_IN_OTHER_CASE, _HTU_WITH_SLASH = "9-htu-case-of-the-path", "9-htu-final-slash"
_IAT_NO_NUMBER, _IAT_AS_TEXT = "11-iat-no-number", "11-iat-as-text"
_EXTENSION: Final = "urn:example:no-such-extension"
_KEY_ID: Final = "the-key-of-this-proof"
"""A kid says which key it is (RFC 7515 section 4.1.4), and nothing of its signature."""
CONDITIONS: dict[str, Defect] = {
    "1-absent": lambda request, url: None,
    "1-two-headers": lambda request, url: replace(proof_of(request), copies=2),
    "1-two-in-one-header": lambda request, url: replace(proof_of(request), alter=lambda proof: f"{proof}, {proof}"),
    "2-no-jwt": lambda request, url: replace(proof_of(request), alter=lambda compact: "not-a-jwt"),
    "2-two-parts": lambda request, url: replace(proof_of(request), alter=lambda compact: compact.rpartition(".")[0]),
    "2-four-parts": lambda request, url: replace(proof_of(request), alter=lambda compact: f"{compact}.AAAA"),
    "2-claims-no-object": lambda request, url: replace(proof_of(request), payload=b'["jti", "htm", "htu", "iat"]'),
    "3-no-jti": _claims(jti=None),
    "3-no-htm": _claims(htm=None),
    "3-no-htu": _claims(htu=None),
    "3-no-iat": _claims(iat=None),
    _JTI_NO_TEXT: _claims(jti=7),
    "4-typ-jwt": _header(typ="JWT"),
    "4-no-typ": _header(typ=None),
    "4-typ-no-text": _header(typ=7),
    "4-typ-of-an-access-token": _header(typ="at+jwt"),
    "5-alg-no-text": _header(alg=7),
    "5-alg-lower-case": lambda request, url: replace(
        proof_of(request), header={"alg": proof_of(request).key.algorithm.lower()}
    ),
    "5-alg-none": lambda request, url: replace(proof_of(request), header={"alg": "none"}, signing="none"),
    "5-alg-none-capital": lambda request, url: replace(proof_of(request), header={"alg": "None"}, signing="none"),
    "5-alg-hs256": lambda request, url: replace(proof_of(request), header={"alg": "HS256"}, signing="hmac"),
    "5-alg-hs256-with-a-shown-secret": _shown_secret,
    "6-other-key": lambda request, url: replace(proof_of(request), signing="other"),
    "6-spoilt-signature": lambda request, url: replace(
        proof_of(request), alter=spoil_signature, header={"kid": _KEY_ID}
    ),
    "6-no-signature": lambda request, url: replace(proof_of(request), alter=_without_signature),
    "6-signature-of-zeros": lambda request, url: replace(proof_of(request), alter=_with_zeros),
    _SIGNATURE_IN_DER: lambda request, url: replace(proof_of(request), alter=_in_der),
    _UNKNOWN_CRIT: _header(crit=[_EXTENSION], **{_EXTENSION: True}),
    "6-no-jwk": _header(jwk=None),
    "6-jwk-no-object": _header(jwk="key"),
    "6-jwk-of-no-known-type": _header(jwk={"kty": "none", "x": "AAAA"}),
    "7-private-key": _private_key,
    "8-htm-get": _claims(htm="GET"),
    "8-htm-lower-case": _claims(htm="post"),
    "8-htm-no-text": _claims(htm=7),
    "9-htu-other-host": _other_htu(other_host),
    "9-htu-other-port": _other_htu(other_port),
    "9-htu-other-scheme": _other_htu(other_scheme),
    _HTU_IN_OTHER_CASE: _other_htu(ALMOST["case-of-the-path"]),
    _HTU_WITH_SLASH: _other_htu(ALMOST["final-slash"]),
    "9-htu-longer-path": _other_htu(lambda url: url + "/more"),
    "9-htu-no-text": _claims(htu=7),
    "9-htu-shorter-path": _other_htu(lambda url: url.rstrip("/")[:-1]),
    "10-other-nonce": _claims(nonce="not-the-nonce-of-anyone"),
    _IAT_NO_NUMBER: _claims(iat="yesterday"),
    _IAT_AS_TEXT: lambda request, url: replace(proof_of(request), claims={"iat": str(int(time.time()))}),
}
"""By number of the condition in RFC 9449 section 4.3. OA-8 covers the window of condition 11."""
OF_PATHS: Final = [CONDITIONS[name] for name in (_HTU_IN_OTHER_CASE, _HTU_WITH_SLASH)]
"""These need a path in the URL of the token endpoint."""
OF_NONCES: Final = [CONDITIONS["10-other-nonce"]]
"""These need a nonce of the target."""
OF_ECDSA: Final = [CONDITIONS[_SIGNATURE_IN_DER]]
"""These need a key of ECDSA."""
OF_AGE: Final = [CONDITIONS[name] for name in (_IAT_NO_NUMBER, _IAT_AS_TEXT)]
"""These mean nothing to a target that judges age by nonces."""
WARNED: Final = [
    CONDITIONS[name]
    for name in (_SIGNATURE_IN_DER, _UNKNOWN_CRIT, _JTI_NO_TEXT, _HTU_IN_OTHER_CASE, _HTU_WITH_SLASH, _IAT_AS_TEXT)
]
"""What only RFC 7515 section 4.1.11, RFC 7518 section 3.4, RFC 7519 section 4.1.7 and RFC 3986 section 6.2 refuse."""
