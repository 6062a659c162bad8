"""A certificate holds for the very bytes that were signed, and for nothing that was not conformant."""

from __future__ import annotations

import base64
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from securesystemslib.dsse import Envelope

from conformance.cli import main
from conformance.core.errors import CertificateError, UsageError
from conformance.core.files import MAX_BYTES
from conformance.core.model import Run, Waiver
from conformance.core.outcomes import Outcome
from conformance.decisions import certificate
from conformance.decisions.badge import badge
from conformance.reports import runjson
from tests.support.runs import result, run_of
from tests.support.values import replace

TODAY = "2025-12-01"


def keys(private: Any = None) -> tuple[bytes, bytes]:
    private = private or Ed25519PrivateKey.generate()
    secret = private.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
    return secret, private.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)


PRIVATE, PUBLIC = keys()


def conformant(**changes: Any) -> Run:
    good = [result("AUTH-1", name, Outcome.PASSED) for name in ("getApiKeyIdentity", "quotePublicCart")]
    return run_of([*good, *changes.pop("more", ())], **changes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run folder: what is in the journal is its own affair here."""
    return _folder(tmp_path, conformant())


def _folder(path: Path, run: Run) -> Path:
    runjson.write_file(run, path)
    (path / "journal.ndjson").write_text('{"kind":"run"}\n{"kind":"end"}\n')
    return path


def signed(folder: Path, run: Run | None = None, **changes: Any) -> bytes:
    given = {"tier": "all", "today": TODAY, "days": 90, **changes}
    return certificate.create_certificate(run or conformant(), folder, given.pop("key", PRIVATE), **given)


def test_it_says_what_was_certified(folder: Path) -> None:
    """Target, tier, profile, suite, validity, and the digests of all that the verdict rests on."""
    told = certificate.read_certificate(signed(folder), PUBLIC)
    assert (told.tier, told.profile, told.issued, told.until) == ("all", "staging", TODAY, "2026-03-01")
    assert told.target == "https://shop.example.test/commerce"
    assert set(told.digests) == {"run.json", "journal.ndjson", "profile", "contract", "checks", "waivers"}
    assert told.passed == ("AUTH-1",)
    assert certificate.compare_files(told, folder) == ([], [])


def test_it_is_an_in_toto_statement_in_a_dsse_envelope(folder: Path) -> None:
    """As any tool for these reads it; the signature is over the pre-authentication encoding."""
    envelope = json.loads(signed(folder))
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    encoded = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    pem.load_pem_public_key(PUBLIC).verify(signature, encoded)  # type: ignore[union-attr,call-arg]
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert [one["name"] for one in statement["subject"]] == ["run.json", "journal.ndjson"]
    assert statement["predicate"]["result"] == "PASSED"


def _annotations(statement: Any, name: str) -> Any:
    return next(part for part in statement["predicate"]["configuration"] if part["name"] == name)["annotations"]


def _set_parts(statement: Any, **parts: Any) -> None:
    statement["predicate"]["configuration"] = [
        {**part, **parts.get(part["name"], {})} for part in statement["predicate"]["configuration"]
    ]


NO_CERTIFICATES: dict[str, Callable[[Any], Any]] = {
    "no target": lambda statement: statement["predicate"]["configuration"].pop(0),
    "a tier that is a number": lambda statement: _annotations(statement, "target").update(tier=5),
    "a day that there is not": lambda statement: _annotations(statement, "target").update(until="9999-99-99"),
    "half a day": lambda statement: _annotations(statement, "target").update(until="5"),
    "no scope": lambda statement: _set_parts(statement, scope={"annotations": None}),
    "waivers that are not texts": lambda statement: statement["predicate"].update(warnedTests=[5, None]),
    "no subject": lambda statement: statement.update(subject=[]),
    "another subject": lambda statement: statement["subject"][0].update(name="../x"),
}


def _signed_again(folder: Path, change: Callable[[Any], Any]) -> bytes:
    """A certificate whose statement was changed before it was signed, by whoever has a key."""
    statement = json.loads(base64.b64decode(json.loads(signed(folder))["payload"]))
    change(statement)
    envelope = Envelope(certificate._canonical(statement), certificate.PAYLOAD_TYPE, {})
    envelope.sign(certificate._signer(PRIVATE, "")[0])
    return certificate._canonical(envelope.to_dict()) + b"\n"


@pytest.mark.parametrize("name", NO_CERTIFICATES)
def test_a_signed_statement_of_another_form_is_no_certificate(folder: Path, name: str) -> None:
    """A signature says who wrote it, not that it is a certificate."""
    with pytest.raises((CertificateError, UsageError)):
        certificate.read_certificate(_signed_again(folder, NO_CERTIFICATES[name]), PUBLIC)


def test_no_text_of_a_certificate_controls_the_terminal(folder: Path) -> None:
    """No escape sequence is printed, and no text adds a line."""

    def change(statement: Any) -> None:
        _annotations(statement, "suite").update(version="\x1b[31mX")
        _annotations(statement, "target").update(startedAt="\x1b]0;t\x07")
        _set_parts(statement, target={"uri": "http://x\n✓ the certificate is valid"})

    printed = list(certificate.lines(certificate.read_certificate(_signed_again(folder, change), PUBLIC)))
    assert not any("\x1b" in line or "\n" in line for line in printed)
    assert printed[0].startswith("http://x ✓")


def test_no_key_is_in_it(folder: Path) -> None:
    """The public one is, the private one is not."""
    told = signed(folder)
    private = pem.load_pem_private_key(PRIVATE, None)
    secret = private.private_bytes(pem.Encoding.Raw, pem.PrivateFormat.Raw, pem.NoEncryption())
    assert secret not in base64.b64decode(json.loads(told)["payload"])
    assert base64.b64encode(secret) not in told


def test_every_changed_byte_is_seen(folder: Path) -> None:
    """Of the certificate, of run.json and of the journal: 500 places, each changed, dropped or doubled."""
    good = signed(folder)
    files = {name: (folder / name).read_bytes() for name in ("run.json", "journal.ndjson")}
    told = certificate.read_certificate(good, PUBLIC)
    chance = random.Random(5)
    for number in range(500):
        name = chance.choice(["certificate", *files])
        data = good if name == "certificate" else files[name]
        at = chance.randrange(len(data))
        other = bytes([data[at] ^ chance.randrange(1, 256)])
        changed = data[:at] + (other, b"", data[at : at + 1] * 2)[number % 3] + data[at + 1 :]
        if name == "certificate":
            with pytest.raises((CertificateError, UsageError)):
                certificate.read_certificate(changed, PUBLIC)
            continue
        (folder / name).write_bytes(changed)
        assert [problem.split()[0] for problem in certificate.compare_files(told, folder)[0]] == [name]
        (folder / name).write_bytes(data)


def test_a_run_of_any_size_is_certified(folder: Path) -> None:
    """Its journal is read in blocks: that of a long run is longer than a document may be."""
    with (folder / "journal.ndjson").open("ab") as journal:
        journal.truncate(MAX_BYTES + 1)
    content = certificate.read_certificate(signed(folder), PUBLIC)
    assert certificate.compare_files(content, folder) == ([], [])


def test_a_missing_file_is_named(folder: Path) -> None:
    """It is not a pass."""
    told = certificate.read_certificate(signed(folder), PUBLIC)
    (folder / "journal.ndjson").unlink()
    differing, (unreadable,) = certificate.compare_files(told, folder)
    assert (differing, "journal.ndjson" in unreadable) == ([], True)


@pytest.mark.parametrize(
    ("change", "code", "line"),
    [
        (lambda folder: None, 0, "✓ the certificate is valid"),
        (lambda folder: (folder / "run.json").write_text("{}"), 1, "✕ run.json is not the file that was certified"),
        (lambda folder: (folder / "journal.ndjson").unlink(), 2, "journal.ndjson: No such file or directory"),
        (shutil.rmtree, 2, "there is no such folder"),
        (
            lambda folder: ((folder / "run.json").write_text("{}"), (folder / "journal.ndjson").unlink()),
            1,
            "journal.ndjson: No such file or directory",
        ),
    ],
    ids=["none", "another file", "no file", "no folder", "both"],
)
def test_a_file_that_cannot_be_read_is_no_verdict_on_it(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, change: Any, code: int, line: str
) -> None:
    """`verify` ends with 2, as for a certificate that cannot be read; a file that differs decides, with 1."""
    path = tmp_path_factory.mktemp("certificates") / "c.json"
    path.write_bytes(signed(folder, days=3660))
    change(folder)
    done = CliRunner().invoke(main, ["verify", str(path), str(folder)])
    assert (done.exit_code, line in done.output) == (code, True), done.output


def test_another_key_is_refused(folder: Path) -> None:
    """Whoever trusts one key trusts no other; without one, the certificate's own is checked."""
    with pytest.raises(CertificateError, match=r"cert\.json: the signature is not good"):
        certificate.read_certificate(signed(folder), keys()[1], where="cert.json")
    assert (
        certificate.read_certificate(signed(folder)).signer
        == certificate.read_certificate(signed(folder), PUBLIC).signer
    )


def _with(data: bytes, **members: Any) -> bytes:
    """A certificate of which members of the envelope were changed, written as ours are."""
    value = json.loads(data) | members
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _payload(data: bytes, **members: Any) -> str:
    """The payload with other members, in base64."""
    told = json.loads(base64.b64decode(json.loads(data)["payload"])) | members
    return base64.b64encode(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).decode()


@pytest.mark.parametrize(
    "change",
    [
        lambda good: _with(good, signatures=[]),
        lambda good: json.dumps({k: v for k, v in json.loads(good).items() if k != "signatures"}).encode(),
        lambda good: _with(good, payload=_payload(good, subject=[])),
        lambda good: _with(good, payload=_payload(good, predicate={})),
        lambda good: _with(good, payload=_payload(good, predicate={"configuration": [{"name": "signer"}]})),
        lambda good: _with(good, payload="e30="),
        lambda good: _with(good, payload="?"),
        lambda good: json.dumps(json.loads(good), indent=1).encode(),
        lambda good: good[: len(good) - 9],
    ],
    ids=["no signature", "no signatures", "subject", "predicate", "signer", "empty", "no base64", "layout", "cut off"],
)
@pytest.mark.parametrize("key", [PUBLIC, None], ids=["trusted key", "own key"])
def test_a_changed_certificate_is_told_from_what_is_none(folder: Path, change: Any, key: bytes | None) -> None:
    """It exits 1 and names the file: the signature is what was asked about."""
    with pytest.raises(CertificateError, match=r"^cert\.json: ") as error:
        certificate.read_certificate(change(signed(folder)), key, where="cert.json")
    assert error.value.exit_code == 1


def test_an_encrypted_key_names_where_its_password_is_read_from(folder: Path) -> None:
    """Without one, and with a wrong one; with the right one it signs."""
    locked = Ed25519PrivateKey.generate().private_bytes(
        pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.BestAvailableEncryption(b"right")
    )
    for password in ("", "wrong"):
        with pytest.raises(UsageError, match="CONFORMANCE_KEY_PASSWORD"):
            signed(folder, key=locked, password=password)
    assert certificate.read_certificate(signed(folder, key=locked, password="right")).tier == "all"


@pytest.mark.parametrize(
    "key",
    [b"", b"-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----", PUBLIC],
    ids=["nothing", "no key inside", "a public key"],
)
def test_what_is_no_private_key_is_told(folder: Path, key: bytes) -> None:
    """With the command that makes one."""
    with pytest.raises(UsageError, match="openssl genpkey"):
        signed(folder, key=key)


def test_a_key_of_another_kind_is_refused(folder: Path) -> None:
    """Ed25519 only: to sign, and to verify."""
    secret, public = keys(generate_private_key(65537, 2048))
    with pytest.raises(UsageError, match="Ed25519"):
        signed(folder, key=secret)
    with pytest.raises(UsageError, match="Ed25519"):
        certificate.read_certificate(signed(folder), public)


@pytest.mark.parametrize(
    ("run", "why", "code"),
    [
        (conformant(filtered=True), "filtered", 3),
        (conformant(complete=False, interrupted="SIGTERM"), "SIGTERM", 3),
        (conformant(more=[result("IDEM-1", "quotePublicCart", Outcome.FAILED)]), "nonconformant", 1),
        (conformant(more=[result("IDEM-1", "quotePublicCart", Outcome.INCONCLUSIVE)]), "incomplete", 3),
        (run_of([]), "incomplete", 3),
    ],
)
def test_only_a_whole_conformant_run_is_certified(tmp_path: Path, run: Run, why: str, code: int) -> None:
    """Whatever its run.json claims. The exit code is the verdict's: nothing is wrong with the command line."""
    with pytest.raises(certificate.CertificateRefusal, match=why) as error:
        signed(_folder(tmp_path, run), run)
    assert error.value.exit_code == code


def test_a_tier_is_certified_by_itself(tmp_path: Path) -> None:
    """What fails in candidate operations does not count for stable ones, and the certificate says which it is of."""
    run = conformant(more=[result("IDEM-1", "quotePublicCart", Outcome.FAILED)])
    folder = _folder(tmp_path, run)
    assert certificate.read_certificate(signed(folder, run, tier="stable")).tier == "stable"


def test_waivers_are_told(tmp_path: Path) -> None:
    """A failure that was accepted stands in the certificate, with who answers for it until when."""
    waiver = Waiver("IDEM-1", "a proxy", "edge", "EDGE-1", "2026-01-01", "quotePublicCart", state="active")
    run = conformant(more=[result("IDEM-1", "quotePublicCart", Outcome.FAILED)], waivers=(waiver,))
    told = certificate.read_certificate(signed(_folder(tmp_path, run), run))
    assert told.waived == ("IDEM-1 (waived until 2026-01-01 by edge, EDGE-1: a proxy)",)
    assert "IDEM-1" not in told.passed


def test_a_run_json_that_the_journal_does_not_tell_is_refused(folder: Path) -> None:
    """It is a report, and reports are made from the journal."""
    (folder / "run.json").write_text(runjson.render(replace(conformant(), seed=1)))
    with pytest.raises(UsageError, match="differs from the journal"):
        signed(folder)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"\xff", b'{"payload":"e30=","payloadType":"x","signatures":[]}\n', b"[" * 9999]
)
def test_what_is_no_certificate_is_told(data: bytes) -> None:
    """In a line, and never as a traceback."""
    with pytest.raises(UsageError, match="not a certificate") as error:
        certificate.read_certificate(data)
    assert error.value.exit_code == 2


def test_the_badge_is_a_picture_that_obeys_nobody(folder: Path) -> None:
    """Well-formed SVG without scripts, whatever the target is called."""
    told = replace(certificate.read_certificate(signed(folder)), target='x"/><script>alert(1)</script>\x1b', tier="<b>")
    tree = ET.fromstring(badge(told))
    assert tree.tag.endswith("svg")
    assert not [one for one in tree.iter() if one.tag.endswith("script")]
