"""A conformant run as a signed statement: an in-toto test-result attestation in a DSSE envelope, Ed25519.

The statement's subjects are the run's files; its configuration names profile, contract, checks and waivers by digest.
The file has one canonical form, so that any changed byte is detected: https://github.com/in-toto/attestation (predicate
test-result v0.1), https://github.com/secure-systems-lab/dsse.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import to_builtins

from conformance.core.errors import CertificateError, ConformanceError, UsageError
from conformance.core.exit_codes import EXIT_CODES
from conformance.core.files import MAX_BYTES, open_regular, read_regular
from conformance.core.model import Run
from conformance.core.outcomes import Outcome, Stability, Verdict
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
SUBJECTS: Final = (runjson.FILE, JOURNAL)
_MAX_LINE: Final = 400
_ENCRYPTION_HINT: Final = "the password of an encrypted key is read from CONFORMANCE_KEY_PASSWORD"


@dataclass(frozen=True, slots=True)
class Certificate:
    """The content of a certificate with a verified signature."""

    target: str
    tier: str
    profile: str
    suite: str
    issued: str
    until: str
    """The last day of validity, an ISO date."""
    started_at: str
    """When the run began."""
    digests: Mapping[str, str]
    """sha256 of run.json, journal.ndjson, profile, contract, checks and waivers."""
    scope: str
    """What the verdict rests on: `20 of 20 operations, 74 of 75 requirements, 12 exclusions`."""
    policy: tuple[str, ...]
    """The restrictions of the policy, in words."""
    exclusions: tuple[str, ...]
    """The exclusions of the profile, each with its reason."""
    passed: tuple[str, ...]
    waived: tuple[str, ...]
    """Requirements of which a failure was accepted, and why."""
    signer: str
    """The key id of the signer."""


class CertificateRefusal(ConformanceError):
    """The run certifies nothing. The exit code is that of its verdict, and never that of a success."""

    def __init__(self, problem: str, decision: Decision, *, hint: str) -> None:
        super().__init__(problem, hint=hint)
        self.exit_code = decision.exit_code or EXIT_CODES[Verdict.INCOMPLETE]


def create_certificate(
    run: Run, directory: Path, key: bytes, *, tier: str, today: str, days: int, password: str = ""
) -> bytes:
    """The certificate's bytes for the run in a folder. `key`: an Ed25519 private key (PEM).

    Raises CertificateRefusal on a run that certifies nothing, UsageError on files that do not agree with each other and
    on another key.
    """
    from securesystemslib.dsse import Envelope

    decision = _check(run, tier, today)
    rendered = runjson.render(run).encode("utf-8", "surrogatepass")
    if _read_file(directory / runjson.FILE, len(rendered), "make it with `conformance report`") != rendered:
        raise UsageError(
            "differs from the journal", where=str(directory / runjson.FILE), hint="`conformance report` makes it"
        )
    signer, public = _signer(key, password)
    until = (date.fromisoformat(today) + timedelta(days=days)).isoformat()
    digests = {name: _digest(directory / name) for name in SUBJECTS}
    statement = _statement(run, decision, digests, today=today, until=until, signer=public)
    envelope = Envelope(_canonical(statement), PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return _canonical(envelope.to_dict()) + b"\n"


def _check(run: Run, tier: str, today: str) -> Decision:
    """The decision on a run that may be certified. Raises CertificateRefusal."""
    decision = decide(run, Policy(tier=tier), today=today)
    if run.observed:
        raise CertificateRefusal("an observed run certifies nothing", decision, hint="run every check")
    if run.filtered:
        raise CertificateRefusal("a filtered run certifies nothing", decision, hint="run every check")
    if not run.complete:
        reason = clean(one_line(run.interrupted)) or "it crashed"
        raise CertificateRefusal(f"the run was cut short: {reason}", decision, hint="run it to its end")
    if not decision.passed:
        tier_note = "" if tier == ALL else f" in the tier {tier}"
        message = f"the run is {decision.verdict}{tier_note}: {decision.scope.summary}"
        raise CertificateRefusal(message, decision, hint="`conformance gate` lists the obstacles")
    return decision


def _scope(decision: Decision) -> dict[str, Any]:
    """The scope of the verdict, as it is signed."""
    scope = decision.scope
    return {
        "summary": scope.summary,
        "policy": list(decision.policy),
        "operations": list(scope.proven),
        "judged": list(scope.judged),
        "exclusions": [{"fact": exclusion.fact, "reason": exclusion.reason} for exclusion in scope.exclusions],
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
    configuration = [
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
            "warnedTests": _waived_requirements(decision),
        },
        TestResult(),
    )
    predicate.configuration.extend(descriptor.pb for descriptor in configuration)
    subjects = [ResourceDescriptor(name=name, digest={"sha256": digest}).pb for name, digest in digests.items()]
    statement = Statement(subjects, PREDICATE, MessageToDict(predicate))
    statement.validate()
    statement_json: dict[str, Any] = MessageToDict(statement.pb)
    return {"_type": statement_json.pop("type", statement.pb.type), **statement_json}


def _waived_requirements(decision: Decision) -> list[str]:
    accepted = [waiver for result, waiver in decision.excused if result.outcome is Outcome.FAILED]
    return sorted({f"{w.requirement} (waived until {w.until} by {w.owner}, {w.issue}: {w.reason})" for w in accepted})


def waivers_digest(run: Run) -> str:
    """sha256 over the run's waivers and their states."""
    return _sha256(_canonical([to_builtins(waiver) for waiver in run.waivers]))


def read_certificate(data: bytes, key: bytes | None = None, *, where: str = "") -> Certificate:
    """Reads and verifies a certificate. `key`: the trusted public key (PEM); without it, the key in the certificate is
    used. `where`: the file's name, for errors.

    Raises CertificateError where the content was changed after signing, and UsageError where it is not a certificate.
    """
    trusted = _public(key) if key else None
    envelope = _envelope(data, where)
    statement = json.loads(envelope.payload)
    try:
        descriptors = {item["name"]: item for item in statement["predicate"]["configuration"]}
        named_key = _public(_unbase64(descriptors["signer"]["content"]))
    except (ValueError, KeyError, TypeError, UsageError):
        raise _unreadable(data, where) from None
    signer = _verify(envelope, trusted or named_key, where)
    if named_key.keyid != signer.keyid:
        raise CertificateError("it was signed by another key than the one it names", where=where)
    if "scope" not in descriptors:
        raise UsageError(
            "is a certificate of an earlier version, without a scope", where=where, hint="certify the run again"
        )
    try:
        return _content(statement, descriptors, signer.keyid)
    except (ValueError, KeyError, TypeError, AttributeError):  # ValidationError of msgspec is a ValueError
        raise UsageError("is signed, and is not a certificate of a run", where=where) from None


def _content(statement: Mapping[str, Any], descriptors: Mapping[str, Any], signer: str) -> Certificate:
    """The content of a statement. Raises ValueError, KeyError, TypeError or AttributeError where it is not one."""
    facts, scope = descriptors["target"]["annotations"], descriptors["scope"]["annotations"]
    subjects = {item["name"]: item["digest"]["sha256"] for item in statement["subject"]}
    if {*subjects} != {*SUBJECTS} or facts["tier"] not in (ALL, *Stability):
        raise ValueError("not a certificate of a run")
    for day in (facts["issued"], facts["until"]):
        date.fromisoformat(day)
    digests = {name: item["digest"]["sha256"] for name, item in descriptors.items() if "digest" in item}
    content = {
        "target": descriptors["target"]["uri"],
        "tier": facts["tier"],
        "profile": descriptors["profile"]["annotations"]["name"],
        "suite": descriptors["suite"]["annotations"]["version"],
        "issued": facts["issued"],
        "until": facts["until"],
        "started_at": facts["startedAt"],
        "digests": {**subjects, **digests},
        "scope": scope["summary"],
        "policy": scope["policy"],
        "exclusions": [f"{item['fact']}: {item['reason']}" for item in scope["exclusions"]],
        "passed": statement["predicate"].get("passedTests", ()),
        "waived": statement["predicate"].get("warnedTests", ()),
        "signer": signer,
    }
    return msgspec.convert(content, Certificate)


def lines(certificate: Certificate) -> Iterator[str]:
    """The certificate as lines for a terminal."""
    first, *others = (clean(one_line(text, _MAX_LINE)) for text in _texts(certificate))
    yield first
    yield from (f"  {text}" for text in others)


def _texts(certificate: Certificate) -> Iterator[str]:
    tier = "" if certificate.tier == ALL else f", tier {certificate.tier}"
    yield f"{certificate.target} is conformant{tier}: {certificate.scope}"
    for restriction in certificate.policy:
        yield f"under a policy: {restriction}"
    yield f"profile {certificate.profile}, suite {certificate.suite}, run of {certificate.started_at}"
    yield f"certified {certificate.issued}, holds until {certificate.until}, by the key {certificate.signer}"
    for exclusion in certificate.exclusions:
        yield f"excluded by the profile: {exclusion}"
    for waiver_text in certificate.waived:
        yield f"accepted: {waiver_text}"


def compare_files(certificate: Certificate, directory: Path) -> tuple[list[str], list[str]]:
    """The files of a run's folder that differ from the certificate, and those that cannot be read, one line each."""
    if not directory.exists():
        return [], [f"{directory}: there is no such folder"]
    differences, unreadable = list[str](), list[str]()
    for name in SUBJECTS:
        try:
            digest = _digest(directory / name)
        except UsageError as error:
            unreadable.append(str(error))
            continue
        certified = certificate.digests[name]
        if digest != certified:
            differences.append(f"{name} is not the file that was certified: sha256 {digest}, certified {certified}")
    return differences, unreadable


def _envelope(data: bytes, where: str) -> Any:
    from securesystemslib.dsse import Envelope

    unreadable = _unreadable(data, where)
    try:
        value = json.loads(data)
        if len(data) > MAX_BYTES or _canonical(value) + b"\n" != data:
            raise unreadable
        envelope = Envelope.from_dict(json.loads(data))
        if envelope.payload_type != PAYLOAD_TYPE or _canonical(envelope.to_dict()) + b"\n" != data:
            raise unreadable
        statement = json.loads(envelope.payload)
        if statement["predicateType"] != PREDICATE or not statement["predicate"]["configuration"]:
            raise unreadable
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise unreadable from error
    except Exception as error:
        if type(error).__module__.startswith("securesystemslib"):
            raise unreadable from error
        raise
    return envelope


def _unreadable(data: bytes, where: str) -> ConformanceError:
    """The error for a file that is not a certificate, or was changed after signing."""
    if PAYLOAD_TYPE.encode() in data:
        return CertificateError("is not what was signed: it was changed, or its signature is missing", where=where)
    return UsageError("is not a certificate", where=where, hint="`conformance certify` writes one")


def _verify(envelope: Any, public: SSlibKey, where: str) -> SSlibKey:
    from securesystemslib.exceptions import VerificationError

    try:
        envelope.verify([public], 1)
    except (VerificationError, ValueError):
        raise CertificateError(
            "the signature is not good", where=where, hint="another key signed it, it was changed, or it has none"
        ) from None
    return public


def _signer(key: bytes, password: str) -> tuple[Any, bytes]:
    """The signer and its public key (PEM)."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    hint = "openssl genpkey -algorithm ed25519 -out key.pem"
    try:
        private = load_pem_private_key(key, password.encode() or None)
    except TypeError as error:  # an encrypted key without a password, or a password for an unencrypted key
        raise UsageError(str(error).rstrip("."), where="--key", hint=_ENCRYPTION_HINT) from None
    except ValueError as error:
        hint = _ENCRYPTION_HINT if password else hint
        raise UsageError(f"no private key can be read: {error}", where="--key", hint=hint) from None
    if not isinstance(private, Ed25519PrivateKey):
        raise UsageError("is not an Ed25519 key", where="--key", hint=hint)
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
        raise UsageError("is not an Ed25519 key", where="--key")
    return SSlibKey.from_crypto(public)


def _pem(key: Ed25519PublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _read_file(path: Path, size: int, hint: str) -> bytes:
    """The content of a file that should have that size."""
    try:
        return read_regular(path, max(size, MAX_BYTES))
    except OSError as error:
        raise UsageError(error.strerror or "cannot be read", where=str(path), hint=hint) from None


def _digest(path: Path) -> str:
    """sha256 of a file, read in blocks."""
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
