"""The documents say what the code does: README, the gate, the template profile."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import click
import pytest

from conformance.checks.catalog import KILLS, explanation, kills, listing
from conformance.checks.support.registry import all_checks
from conformance.cli import main
from conformance.contract import load_contract
from conformance.core.outcomes import Verdict
from conformance.reference.registry import faults, variants
from conformance.reports import FORMATS
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_short() -> None:
    """The first hour fits in 150 lines."""
    assert README.count("\n") <= 150


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_is_in_the_readme(name: str) -> None:
    """A command that the README does not name is not known to anybody."""
    assert re.search(rf"`(conformance )?{name}\b", README) or f"conformance {name} " in README


@pytest.mark.parametrize(
    "command", sorted(set(re.findall(r"conformance ((?:{})\b[^`\n|]*)".format("|".join(main.commands)), README)))
)
def test_every_option_in_the_readme_exists(command: str) -> None:
    """What the README tells people to type is understood."""
    name, *words = command.replace("[", " ").replace("]", " ").split()
    known = {
        option for parameter in main.commands[name].params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert {word for word in words if word.startswith("-")} <= known


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "profiles").glob("*.toml")))
def test_every_command_in_a_profiles_comments_exists(name: str) -> None:
    """`conformance reference serve` was none."""
    comments = re.findall(r"#.*", (ROOT / "profiles" / name).read_text(encoding="utf-8"))
    said = [found for comment in comments for found in re.findall(r"`conformance ([\w-]+)([^`]*)`", comment)]
    assert {command for command, _ in said} <= set(main.commands)
    for command, rest in said:
        known = {option for parameter in main.commands[command].params for option in parameter.opts}
        assert {word for word in rest.split() if word.startswith("-")} <= known


@pytest.mark.parametrize(
    "command", sorted(main.commands.values(), key=lambda command: str(command.name)), ids=lambda c: c.name
)
def test_every_command_has_examples(command: click.Command) -> None:
    """`--help` shows how a command is used."""
    assert "conformance " + str(command.name) in str(command.help)


def test_the_readme_names_every_verdict_and_exit_code() -> None:
    """A pipeline is written from this table."""
    table = dict(re.findall(r"^\| (\d+) \| (.*) \|$", README, re.MULTILINE))
    assert set(table) == {"0", "1", "2", "3", "4", "5", "130"}
    assert all(any(f"`{verdict.value}`" in row for row in table.values()) for verdict in Verdict)


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL), ids=["check", "fault"])
def test_a_recipe_shows_code_that_exists(block: str) -> None:
    """A recipe is taken from the source, word for word."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "conformance").rglob("*.py"))
    assert block.strip() in sources


def test_the_gate_runs_the_readmes_test_command() -> None:
    """What people are told to run is what decides."""
    command = re.search(r"<!-- test command -->\n```sh\n(.*?)\n```", README, re.DOTALL)
    assert command and "pytest" in command[1]
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    shown = subprocess.run(
        ["bash", "-c", gate[gate.index("sed -n '/^<!--") : gate.rindex(')"')]], cwd=ROOT, capture_output=True, text=True
    )
    assert shown.stdout.strip() == command[1].strip()


@pytest.mark.parametrize("requirement", load_contract().requirements.values(), ids=lambda requirement: requirement.id)
def test_explain_knows_every_requirement(requirement: object) -> None:
    """`conformance explain ID` is the manual."""
    from conformance.checks.catalog import explanation
    from conformance.core.model import Requirement

    assert isinstance(requirement, Requirement)
    text = "\n".join(explanation(requirement.id))
    assert requirement.statement in text
    assert requirement.how in text
    assert all(check.id in text for check in all_checks() if check.requirement == requirement.id)


def test_the_readme_names_every_file_of_a_report_folder() -> None:
    """Nobody should have to guess what a file in a report is."""
    files = (
        "journal.ndjson",
        "run.json",
        "report.html",
        "junit.xml",
        "summary.md",
        "allure-results",
        "allurerc.json",
        "ctrf-report.json",
        "exchanges.har",
        "report.sarif",
    )
    assert len(files) == len(FORMATS) + 2  # the journal, and the configuration beside `allure-results`
    assert all(name in README for name in files)


def test_help_starts_without_the_heavy_libraries() -> None:
    """`conformance --help` imports neither pytest nor httpx nor rich."""
    code = (
        "import sys, conformance.cli; print([m for m in ('pytest', 'httpx', 'rich', 'hypothesis') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_what_list_says_is_killed_are_the_faults_that_there_are() -> None:
    """The recorded kill matrix is of these very faults, and each is killed by the requirement that it violates."""
    recorded = json.loads(KILLS.read_text(encoding="utf-8"))["faults"]
    assert {name: row["title"] for name, row in recorded.items()} == {n: fault.title for n, fault in faults().items()}
    assert [name for name, fault in faults().items() if fault.requirement not in recorded[name]["by"]] == []
    warned = sum(row.get("warned", False) for row in recorded.values())
    assert f"all {len(recorded)} faults are detected" in (text := " ".join(README.split()))
    assert f"{warned} of them by a warning" in text


def test_list_shows_the_faults_and_variants_by_words() -> None:
    """It is what a message about an unknown id points at; the same ids as the registry's."""
    done = subprocess.run(
        [sys.executable, "-m", "conformance", "list", "--faults"], capture_output=True, text=True, check=True
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == [*faults(), *variants()]


def test_list_shows_what_kills_what() -> None:
    """Level, section, number of checks and of faults, in a line for each requirement; explain names the faults."""
    (line,) = listing(["IDEM-2 "], level=None, operation=None, checks=False)
    assert line.split()[:6] == ["IDEM-2", "declared", "2", "checks", str(len(kills()["IDEM-2"])), "faults"]
    assert "F067" in "\n".join(explanation("IDEM-2"))
