"""The commands on finished runs, as a person types them."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.commands import REFERENCE, Desk, Done, shared_reference

pytestmark = pytest.mark.e2e

SOME = ("-k", "AUTH-1 or STA-2", "--seed", "3", "-q")


@dataclass(frozen=True)
class Kept:
    """A whole conformant run, and two that were filtered: one good, one of a target with a fault."""

    desk: Desk
    whole: Path
    good: Path
    bad: Path
    ended: Done


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    desk = Desk(tmp_path_factory.mktemp("after"), shared_reference())
    whole, good, bad = (desk.place / "reports" / name for name in ("whole", "good", "bad"))
    assert desk.conformance("run", *desk.target(), "--report-dir", whole, "-q").code == 0
    assert desk.conformance("run", *desk.target(), "--report-dir", good, *SOME).code == 3
    ended = desk.conformance("run", *desk.target("F031"), "--report-dir", bad, *SOME)
    assert ended.code == 1
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "key.pem"], cwd=desk.place, check=True)
    subprocess.run(["openssl", "pkey", "-in", "key.pem", "-pubout", "-out", "public.pem"], cwd=desk.place, check=True)
    return Kept(desk, whole, good, bad, ended)


def test_a_whole_run_is_certified_and_verified(kept: Kept) -> None:
    """With the files, without them, and with the key that is trusted; a badge beside it."""
    place = kept.desk.place
    done = kept.desk.conformance("certify", kept.whole, "--key", "key.pem", "--badge", "badge.svg", "-o", "cert.json")
    assert (done.code, done.err) == (0, ""), done.text
    assert "is conformant" in done.out
    assert (place / "badge.svg").read_text().startswith("<svg")
    done = kept.desk.conformance("verify", "cert.json", kept.whole, "--key", "public.pem")
    assert (done.code, "run.json and journal.ndjson are those" in done.out) == (0, True), done.text
    done = kept.desk.conformance("verify", "cert.json")
    assert (done.code, "compare its id" in done.out) == (0, True), done.text
    done = kept.desk.conformance("verify", "cert.json", kept.good, "--key", "public.pem")
    assert (done.code, done.out.count("is not the file that was certified")) == (1, 2), done.text


def test_reports_beside_files_of_others(kept: Kept, tmp_path: Path) -> None:
    """Results of another tool for Allure stay, exit 2. Replaced files are named, but in the run's folder."""
    (tmp_path / "allure-results").mkdir()
    (tmp_path / "allure-results" / "history.json").write_text("{}")
    for name in ("junit.xml", "notes.txt"):
        (tmp_path / name).write_text("of another tool")
    done = kept.desk.conformance("report", kept.good, "-o", tmp_path)
    assert done.code == 2, done.text
    replaced, error = done.err.splitlines()
    assert replaced == f"replaced in {tmp_path}: junit.xml"
    assert f"{tmp_path}/allure-results: has files that the suite did not write, such as history.json" in error
    assert (tmp_path / "allure-results" / "history.json").read_text() == "{}"
    done = kept.desk.conformance("report", kept.good, "-o", tmp_path / "new")
    assert (done.code, done.err) == (0, ""), done.text
    done = kept.desk.conformance("report", kept.good)
    assert (done.code, done.err) == (0, ""), done.text


@pytest.mark.slow
def test_a_certificate_that_is_not_good_exits_1_and_is_named(kept: Kept) -> None:
    """A wrong key, a changed payload, no signature; 2 is for a file that is not a certificate or cannot be read."""
    place = kept.desk.place
    assert kept.desk.conformance("certify", kept.whole, "--key", "key.pem", "-o", "signed.json").code == 0
    envelope = json.loads((place / "signed.json").read_text())
    (place / "changed.json").write_text(json.dumps({**envelope, "payload": "e30="}))
    (place / "unsigned.json").write_text(json.dumps({**envelope, "signatures": []}))
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "other.pem"], cwd=place, check=True)
    subprocess.run(["openssl", "pkey", "-in", "other.pem", "-pubout", "-out", "wrong.pem"], cwd=place, check=True)
    for name, key in (("signed", "wrong"), ("changed", "public"), ("unsigned", "public")):
        done = kept.desk.conformance("verify", f"{name}.json", kept.whole, "--key", f"{key}.pem")
        assert (done.code, f"{name}.json" in done.one_line()) == (1, True), done.text
    for name in ("nowhere.json", "public.pem", "."):
        assert kept.desk.conformance("verify", name, "--key", "public.pem").code == 2


@pytest.mark.slow
@pytest.mark.parametrize("given", [(), ("--key", "nowhere.pem"), ("--key", "public.pem")])
def test_without_a_key_nothing_is_signed(kept: Kept, given: tuple[str, ...]) -> None:
    """One line says what is missing, and how it is made."""
    done = kept.desk.conformance("certify", kept.whole, *given)
    assert done.code == 2
    assert done.one_line().startswith("error: ")


@pytest.mark.slow
def test_a_filtered_run_is_not_certified(kept: Kept) -> None:
    """Whatever passed in it."""
    done = kept.desk.conformance("certify", kept.good, "--key", "key.pem")
    assert (done.code, "filtered" in done.one_line()) == (3, True)


def test_the_gate_answers_with_its_exit_code(kept: Kept) -> None:
    """0 for the whole run, 3 for a filtered one, 1 for a failure; with a baseline, what is worse comes first."""
    assert kept.desk.conformance("gate", kept.whole).code == 0
    assert kept.desk.conformance("gate", kept.good).code == 3
    done = kept.desk.conformance("gate", kept.bad, "--baseline", kept.good, "--json", "gate.json")
    assert done.code == 1, done.text
    assert "regressed, passed in the baseline: AUTH-1" in done.out
    assert json.loads((kept.desk.place / "gate.json").read_text())["exit_code"] == 1
    done = kept.desk.conformance("gate", kept.bad, "--baseline", kept.bad)
    assert (done.code, "regressed" in done.out) == (1, False), done.text


@pytest.mark.slow
def test_the_gate_annotates_a_pull_request(kept: Kept) -> None:
    """On GitHub by itself, elsewhere where it is asked for."""
    line = "::error title="
    assert line in kept.desk.conformance("gate", kept.bad, "--format", "github").out
    assert line not in kept.desk.conformance("gate", kept.bad).out


@pytest.mark.slow
def test_a_waiver_of_a_policy_excuses_a_failure(kept: Kept) -> None:
    """Each failure by its signature; the run stays filtered."""
    results = json.loads((kept.bad / "run.json").read_text())["results"]
    signatures = {(r["requirement"], r["signature"]) for r in results if r["outcome"] == "failed"}
    tables = [
        f'[[waivers]]\nrequirement = "{name}"\nsignature = {json.dumps(signature)}\nreason = "r"\nowner = "o"\n'
        f'issue = "i"\nuntil = 2999-01-01\n'
        for name, signature in sorted(signatures)
    ]
    (kept.desk.place / "gate.toml").write_text("\n".join(tables))
    done = kept.desk.conformance("gate", kept.bad, "--policy", "gate.toml")
    assert (done.code, "waived until 2999-01-01" in done.out) == (3, True), done.text


def test_runs_are_laid_side_by_side(kept: Kept) -> None:
    """In every format; the exit code is asked for."""
    out = ("--html", "c.html", "--json", "c.json", "--markdown", "c.md")
    done = kept.desk.conformance("compare", kept.good, kept.bad, *out)
    assert (done.code, done.err) == (0, ""), done.text
    assert "regressed" in done.out
    told = json.loads((kept.desk.place / "c.json").read_text())
    assert {one["requirement"] for one in told["differences"] if one["kind"] == "regressed"} == {"AUTH-1"}
    assert all((kept.desk.place / name).read_text() for name in ("c.html", "c.md"))
    assert kept.desk.conformance("compare", kept.good, kept.bad, "--fail-on", "regressed").code == 1
    assert kept.desk.conformance("compare", kept.good, kept.bad, "--fail-on", "latency").code == 0
    assert kept.desk.conformance("compare", kept.good).code == 2
    assert kept.desk.conformance("compare", kept.good, kept.bad, "--fail-on", "worse").code == 2


def test_the_history_of_a_folder_is_told(kept: Kept) -> None:
    """A table for each target."""
    done = kept.desk.conformance("history", "reports", "--html", "h.html", "--json", "h.json")
    assert (done.code, done.err) == (0, ""), done.text
    assert done.out.count("conformant") >= 2
    assert "nonconformant" in (kept.desk.place / "h.html").read_text()
    assert kept.desk.conformance("history", "nowhere").code == 2


@pytest.mark.slow
def test_what_failed_is_run_again(kept: Kept) -> None:
    """The command is shown, and does what it says."""
    shown = kept.desk.conformance("rerun", kept.bad, "--failed", "--show")
    assert shown.code == 0, shown.text
    words = shlex.split(shown.out)
    assert words[:2] == ["conformance", "run"]
    results = json.loads((kept.bad / "run.json").read_text())["results"]
    worth = [r for r in results if r["outcome"] in ("failed", "inconclusive") and r["reproduce"]]
    assert words.count("--only") == len(worth) > 0
    done = kept.desk.conformance("rerun", kept.bad, "--failed", "--profile", REFERENCE)
    assert done.code == 1, done.text
    assert kept.desk.conformance("rerun", kept.whole, "--failed").code == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [(), ("--seed", "41")])
def test_a_demo_is_run_again_with_its_seed(kept: Kept, tmp_path: Path, seed: tuple[str, ...]) -> None:
    """Drawn or given, it stands in the command once."""
    done = kept.desk.conformance("demo", "-k", "AUTH-1 and getApiKeyIdentity", "--report-dir", tmp_path / "d", *seed)
    assert done.code == 3, done.text
    shown = shlex.split(kept.desk.conformance("rerun", tmp_path / "d", "--show").out)
    drawn = json.loads((tmp_path / "d" / "run.json").read_text())["seed"]
    assert shown == ["conformance", "demo", "--seed", str(drawn)]
    assert not seed or drawn == 41


def test_a_failure_is_explained_from_its_evidence(kept: Kept) -> None:
    """Clause, expectation, exchanges, curl and command; by requirement, by check, and by the row's own id."""
    done = kept.desk.conformance("explain", "AUTH-1", "--run", kept.bad)
    assert done.code == 0, done.text
    for part in ("failed: AUTH-1", "clause", "expected", "decisive", "$ ", "curl -sS", "again"):
        assert part in done.out, part
    name = done.out.partition("[")[2].partition("]")[0]
    assert "failed: AUTH-1" in kept.desk.conformance("explain", name, "--run", kept.bad).out
    assert kept.desk.conformance("explain", "AUTH-1", "--run", kept.good).code == 0
    assert kept.desk.conformance("explain", "nothing", "--run", kept.good).code == 2
