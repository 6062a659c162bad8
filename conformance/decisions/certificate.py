"""A conformant run as a signed statement: an in-toto test-result attestation in a DSSE envelope, Ed25519.

The statement's subjects are the run's own files; its configuration names, by digest, what they were made with. The
file is written in one canonical way, so that a change of any byte is seen: https://github.com/in-toto/attestation
(predicate test-result v0.1), https://github.com/secure-systems-lab/dsse.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from conformance.client.journal import NAME as JOURNAL
from conformance.codec import to_json
from conformance.decisions.gate import ALL, Policy, decide, of_tier
from conformance.errors import UsageError
from conformance.model import Outcome, Run, Verdict
from conformance.reports import runjson
from conformance.reports.shaping.text import clean, one_line

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from securesystemslib.signer import SSlibKey

FILE: Final = "certificate.json"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
PREDICATE: Final = "https://in-toto.io/attestation/test-result/v0.1"
VALID_DAYS: Final = 90
_SUBJECTS: Final = (runjson.FILE, JOURNAL)
_LARGEST: Final = 16_000_000


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a certificate says, once its signature was found good."""

    target: str
    tier: str
    profile: str
    suite: str
    issued: str
    until: str
    """The last day that it holds, an ISO date."""
    started_at: str
    """When the run began."""
    digests: Mapping[str, str]
    """sha256 of run.json, journal.ndjson, profile, contract, checks and waivers."""
    passed: tuple[str, ...]
    waived: tuple[str, ...]
    """Requirements of which a failure was accepted, and why."""
    signer: str
    """The key id of whoever signed."""


def certified(run: Run, directory: Path, key: bytes, *, tier: str, today: str, days: int, password: str = "") -> bytes:
    """The certificate's bytes for the run in a folder. `key`: an Ed25519 private key (PEM).

    Raises UsageError on a run that certifies nothing, on files that do not agree with each other, and on another key.
    """
    from securesystemslib.dsse import Envelope

    _check(run, tier)
    written = _read(directory / runjson.FILE, "make it with `conformance report`")
    if written != runjson.render(run).encode("utf-8", "surrogatepass"):
        raise UsageError(
            "is not what the journal tells", where=str(directory / runjson.FILE), hint="`conformance report` makes it"
        )
    signer, public = _signer(key, password)
    until = (date.fromisoformat(today) + timedelta(days=days)).isoformat()
    digests = {name: _sha256(_read(directory / name)) for name in _SUBJECTS}
    statement = _statement(run, digests, tier=tier, today=today, until=until, signer=public)
    envelope = Envelope(_canonical(statement), PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return _canonical(envelope.to_dict()) + b"\n"


def _check(run: Run, tier: str) -> None:
    hint = "`conformance gate` says what stands in the way"
    if run.filtered:
        raise UsageError("a filtered run certifies nothing", hint="run every check")
    if not run.complete:
        why = clean(one_line(run.interrupted)) or "it crashed"
        raise UsageError(f"the run was cut short: {why}", hint="run it to its end")
    verdict = decide(run, Policy(tier=tier)).verdict
    if verdict is not Verdict.CONFORMANT:
        raise UsageError(f"the run is {verdict}" + ("" if tier == ALL else f" in the tier {tier}"), hint=hint)


def _statement(
    run: Run, digests: Mapping[str, str], *, tier: str, today: str, until: str, signer: bytes
) -> dict[str, Any]:
    from google.protobuf.json_format import MessageToDict, ParseDict
    from in_toto_attestation.predicates.test_result.v0.test_result_pb2 import TestResult
    from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
    from in_toto_attestation.v1.statement import Statement

    facts = {"tier": tier, "issued": today, "until": until, "startedAt": run.started_at, "seed": str(run.seed)}
    made_with = [
        ResourceDescriptor(name="target", uri=run.target, annotations=facts),
        ResourceDescriptor(name="suite", annotations={"version": run.suite.version}),
        ResourceDescriptor(
            name="profile", digest={"sha256": run.profile.digest}, annotations={"name": run.profile.name}
        ),
        ResourceDescriptor(name="contract", digest={"sha256": run.suite.contract}),
        ResourceDescriptor(name="checks", digest={"sha256": run.suite.checks}),
        ResourceDescriptor(name="waivers", digest={"sha256": waivers_digest(run)}),
        ResourceDescriptor(name="signer", media_type="application/x-pem-file", content=signer),
    ]
    results = of_tier(run, tier)
    failed = {result.requirement for result in results if result.outcome is Outcome.FAILED}
    passed = {result.requirement for result in results if result.outcome is Outcome.PASSED} - failed
    predicate = ParseDict(
        {
            "result": "WARNED" if failed else "PASSED",
            "passedTests": sorted(passed),
            "warnedTests": _waived(run, failed),
        },
        TestResult(),
    )
    predicate.configuration.extend(one.pb for one in made_with)
    subjects = [ResourceDescriptor(name=name, digest={"sha256": digest}).pb for name, digest in digests.items()]
    statement = Statement(subjects, PREDICATE, MessageToDict(predicate))
    statement.validate()
    told: dict[str, Any] = MessageToDict(statement.pb)
    return {"_type": told.pop("type", statement.pb.type), **told}


def _waived(run: Run, failed: set[str]) -> list[str]:
    active = [waiver for waiver in run.waivers if waiver.state == "active" and waiver.requirement in failed]
    return sorted({f"{w.requirement} (waived until {w.until} by {w.owner}, {w.issue}: {w.reason})" for w in active})


def waivers_digest(run: Run) -> str:
    """sha256 over the run's waivers and what became of them."""
    return _sha256(_canonical([to_json(waiver) for waiver in run.waivers]))


def read(data: bytes, key: bytes | None = None) -> Certificate:
    """What a certificate says. `key`: the public key (PEM) that is trusted; without it, the one that it brings along.

    Raises UsageError on whatever is not exactly as it was signed.
    """
    envelope = _envelope(data)
    told = json.loads(envelope.payload)
    held = {one["name"]: one for one in told["predicate"]["configuration"]}
    trusted = key or _unbase64(held["signer"]["content"])
    signer = _verified(envelope, trusted)
    if key is not None and _public(_unbase64(held["signer"]["content"])).keyid != signer.keyid:
        raise UsageError("the key that signed is not the one that it names")
    facts = held["target"]["annotations"]
    digests = {one["name"]: one["digest"]["sha256"] for one in told["subject"]}
    digests |= {name: one["digest"]["sha256"] for name, one in held.items() if "digest" in one}
    return Certificate(
        target=held["target"]["uri"],
        tier=facts["tier"],
        profile=held["profile"]["annotations"]["name"],
        suite=held["suite"]["annotations"]["version"],
        issued=facts["issued"],
        until=facts["until"],
        started_at=facts["startedAt"],
        digests=digests,
        passed=tuple(told["predicate"].get("passedTests", ())),
        waived=tuple(told["predicate"].get("warnedTests", ())),
        signer=signer.keyid,
    )


def lines(certificate: Certificate) -> Iterator[str]:
    """What a certificate says, for a terminal."""
    tier = "" if certificate.tier == ALL else f", tier {certificate.tier}"
    yield f"{clean(certificate.target)} is conformant{tier}: {len(certificate.passed)} requirements passed"
    yield f"  profile {clean(certificate.profile)}, suite {certificate.suite}, run of {certificate.started_at}"
    yield f"  certified {certificate.issued}, holds until {certificate.until}, by the key {certificate.signer}"
    for waived in certificate.waived:
        yield f"  accepted: {clean(one_line(waived))}"


def differences(certificate: Certificate, directory: Path) -> Iterator[str]:
    """What in a run's folder is not what was certified, a line each."""
    for name in _SUBJECTS:
        try:
            found = _sha256(_read(directory / name))
        except UsageError as error:
            yield str(error)
            continue
        if found != certificate.digests[name]:
            yield f"{name} was changed since: sha256 {found}, certified {certificate.digests[name]}"


def _envelope(data: bytes) -> Any:
    from securesystemslib.dsse import Envelope

    broken = UsageError("is no certificate, or was changed", hint="it holds exactly what `conformance certify` wrote")
    try:
        value = json.loads(data)
        if len(data) > _LARGEST or _canonical(value) + b"\n" != data:
            raise broken
        envelope = Envelope.from_dict(json.loads(data))
        if envelope.payload_type != PAYLOAD_TYPE or _canonical(envelope.to_dict()) + b"\n" != data:
            raise broken
        told = json.loads(envelope.payload)
        if told["predicateType"] != PREDICATE or not told["predicate"]["configuration"]:
            raise broken
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise broken from error
    except Exception as error:
        if type(error).__module__.startswith("securesystemslib"):
            raise broken from error
        raise
    return envelope


def _verified(envelope: Any, key: bytes) -> SSlibKey:
    from securesystemslib.exceptions import VerificationError

    public = _public(key)
    try:
        envelope.verify([public], 1)
    except (VerificationError, ValueError):
        raise UsageError("the signature is not good", hint="another key signed it, or it was changed") from None
    return public


def _signer(key: bytes, password: str) -> tuple[Any, bytes]:
    """Whoever signs, and the public key (PEM)."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    hint = "openssl genpkey -algorithm ed25519 -out key.pem"
    try:
        private = load_pem_private_key(key, password.encode() or None)
    except (ValueError, TypeError) as error:
        raise UsageError(f"no private key can be read: {error}", where="--key", hint=hint) from None
    if not isinstance(private, Ed25519PrivateKey):
        raise UsageError("is no Ed25519 key", where="--key", hint=hint)
    return CryptoSigner(private), _pem(private.public_key())


def _public(key: bytes) -> SSlibKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey

    try:
        public = load_pem_public_key(key)
    except (ValueError, UnsupportedAlgorithm):
        hint = "openssl pkey -in key.pem -pubout -out public.pem"
        raise UsageError("no public key can be read", where="--key", hint=hint) from None
    if not isinstance(public, Ed25519PublicKey):
        raise UsageError("is no Ed25519 key", where="--key")
    return SSlibKey.from_crypto(public)


def _pem(key: Ed25519PublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _read(path: Path, hint: str = "") -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(error.strerror or "cannot be read", where=str(path), hint=hint) from None


def _unbase64(text: str) -> bytes:
    import base64

    return base64.b64decode(text, validate=True)


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
