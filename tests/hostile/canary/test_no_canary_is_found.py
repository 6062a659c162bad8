"""No secret, nor anything derived of one in a run, reaches a file, the terminal or a process list, in any mode.

Every key of the profile is a canary, and so is each ticket, code, verifier, token, proof and private key that the
target saw or gave out. The target sends them back in every form and into every place.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.hostile.canary.canaries import Canaries, echoing, wait_for
from tests.hostile.canary.conftest import Tally, kept
from tests.support.commands import TIMEOUT_S

pytestmark = [pytest.mark.e2e, pytest.mark.slow(every=6)]

SOME = "check_authentication or check_oauth or check_dpop or check_hosted or (CONF-1 and AfterSales)"
FEW = "check_hosted or check_dpop or (AUTH-1 and getApiKeyIdentity) or OA-2 or OA-9"
FORMATS = {
    "allure-results", "allurerc.json", "ctrf-report.json", "exchanges.har", "journal.ndjson", "junit.xml",
    "report.html", "report.sarif", "run.json", "summary.md",
}  # fmt: skip
KINDS = {"authorization", "proof", "ticket", "code", "codeVerifier", "access token", "refresh token"}


def made(own: Canaries, given: Sequence[object], *more: object, out: str = "out") -> Path:
    """A run of some checks that journalled something, and its folder."""
    own.run("run", *given, "--report-dir", out, "--seed", "1", *more, expect={1, 3})
    folder = own.desk.place / out
    assert {path.name for path in folder.iterdir()} == FORMATS
    assert (folder / "journal.ndjson").read_bytes().count(b'"kind":"exchange"') > 20
    return folder


@pytest.mark.parametrize("manner", ["gentle", "hostile"])
@pytest.mark.parametrize("split", [(), ("-n", "2")], ids=["one process", "two"])
def test_a_run_against_a_target_that_echoes(own: Canaries, manner: str, split: tuple[str, ...], tally: Tally) -> None:
    """Whatever it answers; the controls succeed with a gentle one, so that all kinds of secrets were about."""
    with echoing(own, manner=manner) as given:
        folder = made(own, given, "-k", SOME, *split)
    if manner == "gentle":
        assert set(own.seen.values()) >= KINDS
        assert "«redacted:" in (folder / "report.html").read_text()
    tally.nothing_in(own)


def test_a_run_that_stops_at_the_first_failure(own: Canaries, tally: Tally) -> None:
    """The failure is told in the terminal, with the exchange that decided and its curl line."""
    with echoing(own, fault="F031") as given:
        done = own.run("run", *given, "-x", "-k", "check_authentication", "--report-dir", "out", expect={1})
    assert "curl" in done.stdout
    tally.nothing_in(own)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_a_run_that_is_cut_short(own: Canaries, number: signal.Signals, tally: Tally) -> None:
    """In the middle, by Ctrl-C or killed; a report is made of what there was."""
    with echoing(own) as given, own.watch.on():
        process = own.started("run", *given, "-k", SOME, "--report-dir", "out", "--concurrency", "2")
        wait_for(own.desk.place / "out" / "journal.ndjson", b'"kind":"result"', 10, process)
        os.killpg(process.pid, number)
        own.ended(process, *process.communicate(timeout=TIMEOUT_S), {130, -9})
    own.run("report", "out", expect={0})
    tally.nothing_in(own)


DEMO = """
import contextlib, json, pathlib, sys
from conformance.runner import embedded_reference as embedded
place, plain = pathlib.Path(sys.argv.pop(1)), embedded.environment
def noting(variables):
    place.write_text(json.dumps(dict(variables)))
    return plain(variables)
embedded.environment = noting
from conformance.cli import main
main(sys.argv[1:])
"""
"""The command itself, and beside it a note of the keys that its reference made up."""


def test_the_demo(own: Canaries, tally: Tally) -> None:
    """Its reference makes up its own keys."""
    note = kept(own) / "demo.json"
    own.run(note, "demo", "--fault", "F031", "-k", FEW, "--report-dir", "out", expect={1}, main=DEMO)
    own.keys = json.loads(note.read_text())
    assert len(own.keys) >= 9
    tally.nothing_in(own)


WRONG = {
    "inline": ('secret = { env = "CANARY_FULL" }', 'secret = "KEY"'),
    "as a variable's name": ('secret = { env = "CANARY_FULL" }', 'secret = { env = "KEY" }'),
    "as a file's name": ('secret = { env = "CANARY_FULL" }', 'secret = { file = "KEY" }'),
    "as a program": ('secret = { env = "CANARY_FULL" }', 'secret = { command = ["KEY"] }'),
    "under another name": ('secret = { env = "CANARY_FULL" }', 'secret = { value = "KEY" }'),
    "in the keyring's place": ('secret = { env = "CANARY_FULL" }', 'secret = { keyring = "KEY" }'),
    "as a scope": ('scopes = ["webhooks:write"]', 'scopes = ["KEY"]'),
    "as a status": ('status = "active"', 'status = "KEY"'),
    "as the format": ('format = "Bearer {key}"', 'format = "Bearer KEY"'),
    "in a torn format": ('format = "Bearer {key}"', 'format = "Bearer {key} KEY {"'),
    "in a header": ("[operations.quotePublicCart]\n", '[operations.quotePublicCart]\nheaders = { A = "KEY{" }\n'),
    "in the base URL": ('base_url = "http://127.0.0.1:8765"', 'base_url = "http://user:KEY@127.0.0.1:99999"'),
    "in a variable": ("[variables]\n", '[variables]\nkey = "KEY{x}"\n'),
    "in no TOML": ("[limits]\n", 'secret = "KEY\n[limits]\n'),
    "in a fixture": ("[fixtures.cart.open]\n", '[fixtures.cart.bad]\ncommand = "KEY"\n[fixtures.cart.open]\n'),
    "as a name": ('name = "reference"', 'name = "KEY x"'),
}  # fmt: skip


@pytest.mark.parametrize("place", WRONG)
def test_a_broken_profile(own: Canaries, place: str, tally: Tally) -> None:
    """The message says where it is broken, and does not quote what stands there if it may be a key."""
    key = own.keys["full"].replace('"', "").replace("{", "")
    own.seen[key] = "key in the wrong place"
    before, behind = WRONG[place]
    text = own.profile.read_text()
    assert before in text
    profile = kept(own) / "broken.toml"
    profile.write_text(text.replace(before, behind.replace("KEY", key), 1))
    done = own.run("run", "--profile", profile, "--report-dir", "out", expect={2})
    assert done.stderr.startswith("error: ") and len(done.stderr.splitlines()) == 1
    tally.nothing_in(own)


@pytest.mark.parametrize(
    "program",
    [
        'cat "$1" >&2; cat "$1"; exit 3',
        'cat "$1" "$1"',
        'cat "$1" >&2; sleep 30',
        'cat "$1"; printf "\\377"',
    ],
    ids=["fails", "says it twice", "hangs", "is not UTF-8"],
)
def test_a_program_that_fails_and_prints_the_secret(own: Canaries, program: str, tally: Tally) -> None:
    """On its standard error and on its output: neither is passed on."""
    file = kept(own) / "told"
    file.write_text(own.keys["full"] + "\n")
    command = json.dumps(["sh", "-c", program, "sh", str(file)])
    profile = kept(own) / "failing.toml"
    profile.write_text(own.profile.read_text().replace('{ env = "CANARY_FULL" }', f"{{ command = {command} }}"))
    own.run("run", "--profile", profile, "--report-dir", "out", expect={2})
    tally.nothing_in(own)


CRASH = """
import os, sys, {module}
def crash(*given, **named):
    secret = os.environ["CANARY_FULL"]
    raise KeyError(f"a bug of ours with {{secret}} and {{secret.encode().hex()}}")
{module}.{name} = crash
from conformance.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("conformance.engine.session", "open_context"),
        ("conformance.engine.session", "Session.assemble_run"),
        ("conformance.engine.session", "instances"),
        ("conformance.runner.plugin", "_write_reports"),
        ("conformance.client.transport", "Transport.send"),
        ("conformance.judge.invariants", "Invariants.judge"),
    ],
)
def test_a_crash_of_the_suite(own: Canaries, module: str, name: str, tally: Tally) -> None:
    """An exception with a secret in it: neither its line nor the traceback in the file says it, asked for or not."""
    own.desk = type(own.desk)(own.desk.place, own.desk.service, {**own.desk.extra, "CONFORMANCE_TRACEBACK": "1"})
    main = CRASH.format(module=module, name=name)
    with echoing(own) as given:
        one = ("-k", "AUTH-1 and getApiKeyIdentity", "--report-dir", "out")
        done = own.run("run", *given, *one, main=main, expect={5})
    assert "a bug of ours" in done.stdout + done.stderr
    tally.nothing_in(own)


def test_plain_pytest_with_its_own_reports(own: Canaries, tally: Tally) -> None:
    """Its terminal, its junit.xml and its Allure results are told the results too."""
    place = own.desk.place
    with echoing(own, fault="F031") as given, own.watch.on():
        done = own.desk.pytest(
            "-p", "allure_pytest.plugin", "--alluredir", "allure", "--junitxml", "plain.xml", "-rA", "-l", "-k", FEW,
            "--conformance-report-dir", "out", target=[*given], env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )  # fmt: skip
    own.said += [done.out.encode(), done.err.encode()]
    assert done.code == 1, done.text
    assert (place / "plain.xml").stat().st_size > 1000
    assert list((place / "allure").iterdir())
    tally.nothing_in(own)


def test_what_is_done_with_runs_afterwards(own: Canaries, tally: Tally) -> None:
    """Every command on runs that are left behind, in every format that it writes."""
    with echoing(own, fault="F031") as given:
        made(own, given, "-k", FEW, out="reports/bad")
    with echoing(own) as given:
        made(own, given, "-k", FEW, out="reports/good")
    own.run("rerun", "reports/good", "--show", expect={0})
    own.run("rerun", "reports/bad", "--failed", "--show", expect={0})
    own.run("rerun", "reports/good", "--failed", expect={4})
    own.run("report", "reports/bad", "-o", "again", expect={0})
    for name in ("AUTH-1", "OA-2", "HO-1", "ERR-4"):
        own.run("explain", name, "--run", "reports/bad", expect={0, 2})
    out = ("--html", "c.html", "--json", "c.json", "--markdown", "c.md")
    own.run("compare", "reports/good", "reports/bad", *out, expect={0})
    own.run("history", "reports", "--html", "h.html", "--json", "h.json", expect={0})
    own.run("gate", "reports/bad", "--json", "g.json", "--format", "github", expect={1})
    own.run("gate", "reports/bad", "--baseline", "reports/good", expect={0, 1, 3})
    written = ("c.html", "c.json", "c.md", "h.html", "h.json", "g.json", "again/report.html")
    assert all((own.desk.place / name).stat().st_size > 100 for name in written)
    tally.nothing_in(own)


def test_a_certificate(own: Canaries, tally: Tally) -> None:
    """Of a whole conformant run, whose target is not an echo."""
    own.watch.lines.clear()
    for command in (
        "openssl genpkey -algorithm ed25519 -out key.pem",
        "openssl pkey -in key.pem -pubout -out public.pem",
    ):
        assert os.system(f"cd {own.desk.place} && {command}") == 0
    with echoing(own, manner="silent") as given:
        own.run("run", *given, "--report-dir", "out", expect={0})
    own.run("certify", "out", "--key", "key.pem", "--badge", "badge.svg", expect={0})
    own.run("verify", "out/certificate.json", "out", "--key", "public.pem", expect={0})
    assert set(own.seen.values()) >= KINDS | {"private key of proofs"}
    assert own.watch.environments
    tally.nothing_in(own)
