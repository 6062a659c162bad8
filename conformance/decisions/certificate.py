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

from msgspec import to_builtins

from conformance.core.errors import CertificateError, ConformanceError, UsageError
from conformance.core.files import open_regular
from conformance.core.model import Outcome, Run
from conformance.decisions.gate import ALL, Decision, Policy, decide, of_tier
from conformance.journal.journal import NAME as JOURNAL
from conformance.reports import runjson
from conformance.reports.shaping.text import clean, one_line

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from securesystemslib.signer import SSlibKey

FILE: Final = "certificate.json"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
PREDICATE: Final = "https://in-toto.io/attestation/test-result/v0.1"
_SUBJECTS: Final = (runjson.FILE, JOURNAL)
_LARGEST: Final = 16_000_000
_LOCKED: Final = "the password of an encrypted key is read from CONFORMANCE_KEY_PASSWORD"


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
    scope: str
    """What the verdict rests on: `20 of 20 operations, 74 of 75 requirements, 12 exclusions`."""
    policy: tuple[str, ...]
    """What the verdict was narrowed to, in words."""
    exclusions: tuple[str, ...]
    """What the profile says is not there or cannot be seen, each with its reason."""
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

    decision = _check(run, tier, today)
    written = _read(directory / runjson.FILE, "make it with `conformance report`")
    if written != runjson.render(run).encode("utf-8", "surrogatepass"):
        raise UsageError(
            "is not what the journal tells", where=str(directory / runjson.FILE), hint="`conformance report` makes it"
        )
    signer, public = _signer(key, password)
    until = (date.fromisoformat(today) + timedelta(days=days)).isoformat()
    digests = {name: _sha256(_read(directory / name)) for name in _SUBJECTS}
    statement = _statement(run, decision, digests, today=today, until=until, signer=public)
    envelope = Envelope(_canonical(statement), PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return _canonical(envelope.to_dict()) + b"\n"


def _check(run: Run, tier: str, today: str) -> Decision:
    hint = "`conformance gate` says what stands in the way"
    if run.filtered:
        raise UsageError("a filtered run certifies nothing", hint="run every check")
    if not run.complete:
        why = clean(one_line(run.interrupted)) or "it crashed"
        raise UsageError(f"the run was cut short: {why}", hint="run it to its end")
    decision = decide(run, Policy(tier=tier), today=today)
    if not decision.passed:
        where = "" if tier == ALL else f" in the tier {tier}"
        raise UsageError(f"the run is {decision.verdict}{where}: {decision.scope.summary}", hint=hint)
    return decision


def _scope(decision: Decision) -> dict[str, Any]:
    """What the verdict rests on, as it is signed."""
    scope = decision.scope
    return {
        "summary": scope.summary,
        "policy": list(decision.policy),
        "operations": list(scope.proven),
        "judged": list(scope.judged),
        "exclusions": [{"fact": one.fact, "reason": one.reason} for one in scope.exclusions],
    }


def _statement(
    run: Run, decision: Decision, digests: Mapping[str, str], *, today: str, until: str, signer: bytes
) -> dict[str, Any]:
    from google.protobuf.json_format import MessageToDict, ParseDict
    from in_toto_attestation.predicates.test_result.v0.test_result_pb2 import TestResult
    from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
    from in_toto_attestation.v1.statement import Statement

    tier = decision.tier
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
        ResourceDescriptor(name="scope", annotations=_scope(decision)),
        ResourceDescriptor(name="signer", media_type="application/x-pem-file", content=signer),
    ]
    results = of_tier(run, tier)
    failed = {result.requirement for result in results if result.outcome is Outcome.FAILED}
    passed = {result.requirement for result in results if result.outcome is Outcome.PASSED} - failed
    predicate = ParseDict(
        {
            "result": "WARNED" if failed else "PASSED",
            "passedTests": sorted(passed),
            "warnedTests": _waived(decision),
        },
        TestResult(),
    )
    predicate.configuration.extend(one.pb for one in made_with)
    subjects = [ResourceDescriptor(name=name, digest={"sha256": digest}).pb for name, digest in digests.items()]
    statement = Statement(subjects, PREDICATE, MessageToDict(predicate))
    statement.validate()
    told: dict[str, Any] = MessageToDict(statement.pb)
    return {"_type": told.pop("type", statement.pb.type), **told}


def _waived(decision: Decision) -> list[str]:
    accepted = [waiver for result, waiver in decision.excused if result.outcome is Outcome.FAILED]
    return sorted({f"{w.requirement} (waived until {w.until} by {w.owner}, {w.issue}: {w.reason})" for w in accepted})


def waivers_digest(run: Run) -> str:
    """sha256 over the run's waivers and what became of them."""
    return _sha256(_canonical([to_builtins(waiver) for waiver in run.waivers]))


def read(data: bytes, key: bytes | None = None, *, where: str = "") -> Certificate:
    """What a certificate says. `key`: the public key (PEM) that is trusted; without it, the one that it brings along.
    `where`: the file's name, for errors.

    Raises CertificateError on whatever is not exactly as it was signed, and UsageError on what is no certificate.
    """
    trusted = _public(key) if key else None
    envelope = _envelope(data, where)
    told = json.loads(envelope.payload)
    try:
        held = {one["name"]: one for one in told["predicate"]["configuration"]}
        own = _public(_unbase64(held["signer"]["content"]))
    except (ValueError, KeyError, TypeError, UsageError):
        raise _unreadable(data, where) from None
    signer = _verified(envelope, trusted or own, where)
    if own.keyid != signer.keyid:
        raise CertificateError("the key that signed is not the one that it names", where=where)
    facts = held["target"]["annotations"]
    digests = {one["name"]: one["digest"]["sha256"] for one in told["subject"]}
    if "scope" not in held:
        raise UsageError(
            "is a certificate of an earlier version, without a scope", where=where, hint="certify the run again"
        )
    scope = held["scope"]["annotations"]
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
        scope=scope["summary"],
        policy=tuple(scope["policy"]),
        exclusions=tuple(f"{one['fact']}: {one['reason']}" for one in scope["exclusions"]),
        passed=tuple(told["predicate"].get("passedTests", ())),
        waived=tuple(told["predicate"].get("warnedTests", ())),
        signer=signer.keyid,
    )


def lines(certificate: Certificate) -> Iterator[str]:
    """What a certificate says, for a terminal."""
    tier = "" if certificate.tier == ALL else f", tier {certificate.tier}"
    yield f"{clean(certificate.target)} is conformant{tier}: {clean(one_line(certificate.scope))}"
    for narrowed in certificate.policy:
        yield f"  under a policy: {clean(one_line(narrowed))}"
    yield f"  profile {clean(certificate.profile)}, suite {certificate.suite}, run of {certificate.started_at}"
    yield f"  certified {certificate.issued}, holds until {certificate.until}, by the key {certificate.signer}"
    for excluded in certificate.exclusions:
        yield f"  excluded by the profile: {clean(one_line(excluded))}"
    for waived in certificate.waived:
        yield f"  accepted: {clean(one_line(waived))}"


def differences(certificate: Certificate, directory: Path) -> Iterator[str]:
    """What in a run's folder is not what was certified, a line each."""
    for name in _SUBJECTS:
        try:
            found = _digest(directory / name)
        except UsageError as error:
            yield str(error)
            continue
        if found != certificate.digests[name]:
            yield f"{name} was changed since: sha256 {found}, certified {certificate.digests[name]}"


def _envelope(data: bytes, where: str) -> Any:
    from securesystemslib.dsse import Envelope

    broken = _unreadable(data, where)
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


def _unreadable(data: bytes, where: str) -> ConformanceError:
    """Why a file cannot be read as a certificate: it was one and was changed, or it never was one."""
    if PAYLOAD_TYPE.encode() in data:
        return CertificateError("is not what was signed: it was changed, or its signature is missing", where=where)
    return UsageError("is no certificate", where=where, hint="`conformance certify` writes one")


def _verified(envelope: Any, public: SSlibKey, where: str) -> SSlibKey:
    from securesystemslib.exceptions import VerificationError

    try:
        envelope.verify([public], 1)
    except (VerificationError, ValueError):
        raise CertificateError(
            "the signature is not good", where=where, hint="another key signed it, it was changed, or it has none"
        ) from None
    return public


def _signer(key: bytes, password: str) -> tuple[Any, bytes]:
    """Whoever signs, and the public key (PEM)."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    hint = "openssl genpkey -algorithm ed25519 -out key.pem"
    try:
        private = load_pem_private_key(key, password.encode() or None)
    except TypeError as error:  # the key is encrypted and there is no password, or the other way round
        raise UsageError(str(error).rstrip("."), where="--key", hint=_LOCKED) from None
    except ValueError as error:
        hint = _LOCKED if password else hint
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
        with open_regular(path) as file:
            return file.read()
    except OSError as error:
        raise UsageError(error.strerror or "cannot be read", where=str(path), hint=hint) from None


def _digest(path: Path) -> str:
    """sha256 of a file that need not fit into the memory."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(error.strerror or "cannot be read", where=str(path)) from None


def _unbase64(text: str) -> bytes:
    import base64

    return base64.b64decode(text, validate=True)


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
