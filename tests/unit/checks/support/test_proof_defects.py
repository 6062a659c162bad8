"""Defects of proofs: each changes what its name says, and nothing else."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from conformance.checks.support.proof_defects import CONDITIONS
from conformance.client.dpop import Proof, ProofKey, decode, encode

URL = "https://shop.example/api/v1/oauth/token"


class SentRequest:
    """What a defect looks at of a request: its good proof."""

    def __init__(self, algorithm: str) -> None:
        self.proof = Proof(ProofKey.new(algorithm))


@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "ES512", "ES256K"])
def test_a_signature_in_der_is_a_good_one_in_another_encoding(algorithm: str) -> None:
    """A library for ECDSA takes it as it stands, so that a target may: RFC 7518 section 3.4 has another encoding."""
    request = SentRequest(algorithm)
    proof = CONDITIONS["6-signature-in-der"](request, URL)  # type: ignore[arg-type]
    assert proof is not None
    signing_input, _, signature = proof.write("POST", URL, "").rpartition(".")
    public = proof.key.key.public_key
    assert isinstance(public, ec.EllipticCurvePublicKey)
    sizes = {"ES256": hashes.SHA256(), "ES384": hashes.SHA384(), "ES512": hashes.SHA512(), "ES256K": hashes.SHA256()}
    public.verify(decode(signature), signing_input.encode(), ec.ECDSA(sizes[algorithm]))


@pytest.mark.parametrize("raw", [b"", b"a", b"ab", b"abc", b"\xff\xfe"])
def test_base64url_is_read_as_it_is_written(raw: bytes) -> None:
    assert decode(encode(raw)) == raw
