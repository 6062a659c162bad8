"""The commands that need no target, and `serve`: each says what it does, and what it finds out is right."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import httpx
import pytest
from click.testing import CliRunner

from conformance import cli
from conformance.contract import load_contract
from tests.support.commands import TIMEOUT_S, Desk, run_json

pytestmark = pytest.mark.e2e

COMMANDS = sorted(cli.main.commands)
PARSED = (
    "pytest",
    "_pytest",
    "httpx",
    "schemathesis",
    "hypothesis",
    "rich",
    "starlette",
    "sqlalchemy",
    "jinja2",
    "yaml",
)


def said(*given: str) -> str:
    outcome = CliRunner().invoke(cli.main, given, catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples_of_itself(command: str) -> None:
    """`--help` explains, shows calls that can be copied, and describes every option."""
    text = said(command, "--help")
    assert "Examples:" in text
    assert f"\n    conformance {command}" in text
    options = [option for option in cli.main.commands[command].params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []


def test_the_examples_of_the_help_are_command_lines_that_parse() -> None:
    """Nobody copies an example and is told that there is no such option."""
    for name, command in cli.main.commands.items():
        text = command.get_help(click.Context(command, info_name=name))
        for line in re.findall(rf"^ +conformance {name}(.*)$", text, re.MULTILINE):
            words = [word.strip("\"'") for word in re.findall(r"\"[^\"]*\"|'[^']*'|\S+", line.split("  #")[0])]
            command.make_context(name, words)


@pytest.mark.parametrize("given", [["--help"], ["-h"], ["--version"]])
def test_the_group_answers_too(given: list[str]) -> None:
    assert "conformance" in said(*given)


@pytest.mark.parametrize("name", ["run", "demo"])
def test_the_exit_codes_stand_in_the_help_of_what_has_them(name: str) -> None:
    text = said(name, "--help")
    assert [
        code
        for code in ("0 conformant", "1 nonconformant", "2 bad", "3 incomplete", "4 target", "5 the suite", "130")
        if code not in text
    ] == []


def test_importing_the_command_line_imports_nothing_that_takes_long() -> None:
    """`conformance --help` is there at once: what a command needs is imported when it is called."""
    script = "import sys, conformance.cli; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in PARSED if name in loaded] == []


def test_list_has_a_line_for_every_requirement() -> None:
    listed = [line.split()[0] for line in said("list").splitlines()]
    assert listed == list(load_contract().requirements)


def test_list_filters_by_words_level_and_operation() -> None:
    contract = load_contract()
    lines = said("list", "idem", "--level", "required", "--operation", "checkoutPublicCart").splitlines()
    found = [contract.requirements[line.split()[0]] for line in lines]
    assert found
    for requirement in found:
        assert requirement.level == "required"
        assert "checkoutPublicCart" in requirement.operations
        assert "idem" in f"{requirement.id} {requirement.statement}".lower()


def test_list_shows_the_checks_of_each_requirement() -> None:
    text = said("list", "IDEM-4", "--checks")
    assert re.search(r"^ +check_\w+::\w+$", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["IDEM-4", "idem-4"])
def test_explain_a_requirement(name: str) -> None:
    """Statement, section, level, how it is checked, facts, operations and checks."""
    told = load_contract().requirements["IDEM-4"]
    text = " ".join(said("explain", name).split())
    for part in (told.statement, told.section, told.level.value, *told.facts, *told.operations, "check_"):
        assert part in text


def test_explain_every_requirement() -> None:
    for identifier in load_contract().requirements:
        assert identifier in said("explain", identifier)


@pytest.mark.parametrize("name", ["{}", "{}[getApiKeyIdentity]", "check_x.py::{}[getApiKeyIdentity-absent]"])
def test_explain_a_check_by_whatever_a_report_calls_it(name: str) -> None:
    check = "a_defective_credential_is_answered_401"
    text = said("explain", name.format(check))
    assert f"check_authentication::{check}" in text
    assert "AUTH-1" in text


def test_explain_a_check_names_the_check_that_it_rests_on() -> None:
    """A reader of a cause with results of several requirements finds out why they have one cause."""
    text = said("explain", "duplicates_at_once_are_one_call")
    assert "has the cause of check_idempotency::the_same_call_is_answered_the_same" in text
    assert "has the cause of" not in said("explain", "the_same_call_is_answered_the_same")


def test_report_makes_the_same_reports_again_from_the_journal_alone(desk: Desk) -> None:
    """A report is a function of the journal: on another machine, in another folder, it comes out the same."""
    desk.conformance("run", *desk.target(), "-q", "-k", "getApiKeyIdentity and AUTH-1", "--report-dir", "first")
    (desk.place / "second").mkdir()
    shutil.copy(desk.place / "first" / "journal.ndjson", desk.place / "second")
    done = desk.conformance("report", "second")
    assert done.code == 0
    assert done.out.splitlines() == [
        str(path.relative_to(desk.place)) for path in _written(desk.place / "second", done.out)
    ]
    for name in ("run.json", "report.html", "junit.xml", "summary.md"):
        assert (desk.place / "second" / name).read_bytes() == (desk.place / "first" / name).read_bytes(), name


def _written(directory: Path, out: str) -> list[Path]:
    paths = [directory.parent / line for line in out.splitlines()]
    assert all(path.exists() for path in paths)
    return paths


def test_report_writes_one_format_elsewhere(desk: Desk) -> None:
    desk.conformance("run", *desk.target(), "-q", "-k", "getApiKeyIdentity and AUTH-1", "--report-dir", "first")
    done = desk.conformance("report", "first", "--format", "html", "-o", "page")
    assert (done.code, done.out.strip()) == (0, "page/report.html")
    assert [path.name for path in (desk.place / "page").iterdir()] == ["report.html"]
    wrong = desk.conformance("report", "first", "--format", "htlm")
    assert wrong.code == 2
    assert "did you mean 'html'?" in wrong.one_line()


def test_serve_prints_its_addresses_and_ends_cleanly(desk: Desk) -> None:
    """What it prints can be pasted: the two addresses, and an `export` for every key the profile reads."""
    process = desk.started(["-m", "conformance", "serve", "--port", "0", "--control-port", "0"])
    assert process.stdout is not None
    told = [process.stdout.readline().split() for _ in range(2)]
    assert [words[0] for words in told] == ["service", "control"]
    for url in (words[1] for words in told):
        assert httpx.get(f"{url}/api/v1/runtime-config").status_code < 500
    process.send_signal(signal.SIGTERM)
    out = process.stdout.read()
    assert process.communicate(timeout=TIMEOUT_S)[1] == ""
    assert process.returncode == 0
    exported = {line.split()[1].split("=")[0] for line in out.splitlines() if line.startswith("export ")}
    assert exported == set(desk.service.environment)


def test_serve_says_when_its_port_is_taken(desk: Desk) -> None:
    port = desk.service.base_url.rpartition(":")[2]
    done = desk.conformance("serve", "--port", port, "--control-port", "0")
    assert done.code == 2
    assert port in done.one_line()


@pytest.mark.parametrize(("option", "value"), [("--port", "99999"), ("--control-port", "-1"), ("--host", "999.9.9.9")])
def test_serve_refuses_an_address_that_does_not_exist(desk: Desk, option: str, value: str) -> None:
    """Which is a mistake in the command line, and no crash of the suite."""
    done = desk.conformance("serve", "--port", "0", "--control-port", "0", option, value)
    assert (done.code, value in done.err, "Traceback" in done.err) == (2, True, False), done.text


def test_a_crash_of_a_command_is_one_line_and_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own exit status for an exception is 1, which would read as nonconformant."""

    def crash(*given: object, **named: object) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr("conformance.checks.catalog.explanation", crash)
    outcome = CliRunner().invoke(cli.main, ["explain", "IDEM-4"])
    assert outcome.exit_code == 5
    assert outcome.stderr.splitlines() == [
        "error: the suite erred: RuntimeError: out of luck (CONFORMANCE_TRACEBACK=1 shows where)"
    ]


def test_ctrl_c_in_any_command_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("conformance.checks.catalog.explanation", interrupt)
    assert CliRunner().invoke(cli.main, ["explain", "IDEM-4"]).exit_code == 130


def test_what_a_run_prints_can_be_cut_off(desk: Desk) -> None:
    """`conformance run | head -1` goes on to its end, and to its own exit code."""
    given = ["-m", "conformance", "run", *desk.target(), "-k", "getApiKeyIdentity", "--report-dir", "cut"]
    process = desk.started(given)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=TIMEOUT_S), err) == (3, "")
    assert json.loads((desk.place / "cut" / "run.json").read_text())["complete"]


def test_nothing_of_the_current_folder_takes_part_in_a_run(desk: Desk) -> None:
    """No conftest, no pytest configuration, no module of that folder, nothing that the environment asks of pytest."""
    (desk.place / "conftest.py").write_text("raise RuntimeError('imported')\n")
    (desk.place / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n")
    (desk.place / "random.py").write_text("raise RuntimeError('imported')\n")
    tricky = Desk(desk.place, desk.service, {"PYTEST_ADDOPTS": "--nonsense", "PYTEST_PLUGINS": "nonsense"})
    process = tricky.started(
        ["-P", "-m", "conformance", "demo", "-q", "-k", "getApiKeyIdentity and AUTH-1", "--report-dir", "out"]
    )
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, err) == (3, "")
    assert re.fullmatch(r"\? INCOMPLETE: [^\n]*; report: out/report\.html\n", out)
    assert run_json(desk.place / "out")["profile"]["name"] == "reference"
