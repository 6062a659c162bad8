"""`--quiet` and `--verbose` of every command that has them, and how waived results are counted, as a person sees it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from conformance.cli import main
from tests.support.commands import REFERENCE, Desk, run_json, shared_reference

pytestmark = pytest.mark.e2e

SOME = ("-k", "AUTH-1 and getApiKeyIdentity", "--seed", "3")
VERDICT = re.compile(r"[✓✕?!] [A-Z]+: \d+ of 20 operations, [^\n]*; report: \S+/report\.html\n")
WAIVER = """
[[waivers]]
requirement = "{}"
reason = "a proxy answers"
owner = "edge"
issue = "EDGE-1"
until = 2999-01-01
"""


@dataclass(frozen=True)
class Runs:
    """Two filtered runs in the folder of a desk: `good`, and `bad` of a target with a fault."""

    desk: Desk
    good_out: str
    good_err: str


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    desk = Desk(tmp_path_factory.mktemp("verbosity"), shared_reference())
    good = desk.conformance("run", *desk.target(), *SOME, "--report-dir", "good", "-q")
    assert good.code == 3, good.text
    assert desk.conformance("run", *desk.target("F031"), *SOME, "--report-dir", "bad", "-q").code == 1
    return Runs(desk, good.out, good.err)


def test_a_quiet_run_prints_one_line(runs: Runs) -> None:
    """The verdict with its scope, and where the report is; nothing on standard error."""
    assert VERDICT.fullmatch(runs.good_out), runs.good_out
    assert runs.good_err == ""


def test_a_verbose_run_prints_each_check_when_it_ends(runs: Runs) -> None:
    """One line for each result, with its outcome and, where it did not pass, the reason; then the summary."""
    done = runs.desk.conformance("run", *runs.desk.target("F031"), *SOME, "--report-dir", "each", "-v")
    run = run_json(runs.desk.place / "each")
    lines = [
        line for line in done.out.splitlines() if re.match(r"[✓✕▲?–○□!] (passed|failed|warned|in|un|broken)", line)
    ]
    assert len(lines) == sum(result["outcome"] != "untested" for result in run["results"])
    failed = [line for line in lines if line.startswith("✕ failed")]
    assert len(failed) == run["counts"]["failed"] > 0
    assert all(": " in line for line in failed)
    assert done.out.index("✕ NONCONFORMANT") > done.out.index(lines[-1])


@pytest.mark.parametrize(
    ("command", "quiet"),
    [
        (["gate", "bad"], r"✕ blocked: [^\n]*\n"),
        (["gate", "bad", "--format", "text", "--tier", "stable"], r"✕ blocked: [^\n]*\n"),
        (["compare", "good", "bad"], r"\d+ regressed[^\n]*\n"),
    ],
)
def test_quiet_is_the_answer_and_verbose_is_more(runs: Runs, command: list[str], quiet: str) -> None:
    """With the same exit code each time."""
    plain, short, full = (runs.desk.conformance(*command, *option) for option in ([], ["--quiet"], ["--verbose"]))
    assert re.fullmatch(quiet, short.out), short.text
    assert plain.out.startswith(short.out)
    assert len(full.out) >= len(plain.out) > len(short.out)
    assert plain.code == short.code == full.code


def test_both_at_once_are_refused(runs: Runs) -> None:
    """By each command that has them, with exit 2 and one line."""
    for command in (["run", *runs.desk.target()], ["gate", "bad"], ["compare", "good", "bad"], ["merge", "good"]):
        done = runs.desk.conformance(*command, "-q", "-v")
        assert done.code == 2, done.text
        assert "cannot be combined with --verbose" in done.one_line()


@pytest.mark.parametrize("name", ["run", "demo", "gate", "compare"])
def test_the_help_has_an_example_of_each(name: str) -> None:
    """Whoever asks for help sees what the two options print."""
    command = main.commands[name]
    assert command.help is not None
    assert f"conformance {name}" in command.help
    assert {" -q ", " -v "} <= set(re.findall(r" -[qv] ", command.help))
    names = {option for parameter in command.params for option in parameter.opts}
    assert {"-q", "--quiet", "-v", "--verbose"} <= names


def test_waived_results_are_counted_apart_in_every_place(runs: Runs) -> None:
    """In the terminal, run.json, gate, JUnit and plain pytest's own last line: waived, and nothing failed."""
    desk = runs.desk
    (desk.place / "mine").mkdir()
    for path in REFERENCE.parent.glob("reference*"):
        (desk.place / "mine" / path.name).write_bytes(path.read_bytes())
    profile = desk.place / "mine" / "reference.toml"
    run = run_json(desk.place / "bad")
    failed = {result["requirement"] for result in run["results"] if result["outcome"] == "failed"}
    profile.write_text(profile.read_text() + "".join(WAIVER.format(name) for name in sorted(failed)))
    target = ["--profile", str(profile), *desk.target("F031")[2:]]
    done = desk.conformance("run", *target, *SOME, "--report-dir", "waived")
    counts = run_json(desk.place / "waived")["counts"]
    assert (counts["failed"], counts["waived"]) == (0, run["counts"]["failed"])
    assert f"{counts['waived']} waived" in done.out
    assert "waived until 2999-01-01 by edge (EDGE-1): a proxy answers" in done.out
    assert "✕" not in done.out
    junit = (desk.place / "waived" / "junit.xml").read_text()
    assert "<failure" not in junit
    assert junit.count("waived until 2999-01-01") == counts["waived"]
    gate = desk.conformance("gate", "waived")
    assert "✕ failed" not in gate.out
    assert "a proxy answers" in gate.out
    plain = desk.pytest(*SOME[:2], "--conformance-report-dir", "plain", "-q", target=target)
    last = plain.out.splitlines()[-1]
    assert f"{counts['waived']} waived" in last and "failed" not in last, plain.out
