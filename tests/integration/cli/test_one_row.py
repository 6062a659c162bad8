"""Adding an option is one row: a copy of the suite gets one, and has it everywhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from conformance.core.package import PACKAGE
from tests.support.commands import Desk, run_json, shared_reference

ROW = """    flavour: str = row(
        Kind.TEXT,
        "--flavour",
        metavar="NAME",
        help="A flavour.",
        in_repeat_command=True,
        kept_on_resume=True,
        changeable_on_resume=True,
    )
"""
BEFORE = "    quiet: bool = row("
SELECTION = "AUTH-1 and getApiKeyIdentity"
WITNESS = """
from pathlib import Path
from conformance.runner.items import session_key

def pytest_sessionfinish(session):
    name = getattr(session.config, "workerinput", {}).get("workerid", "controller")
    Path(f"{name}.txt").write_text(session.config.stash[session_key].options.flavour)
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A folder with a copy of the suite whose table has one row more, which its processes import."""
    place = tmp_path_factory.mktemp("row")
    copy = place / "copy"
    shutil.copytree(PACKAGE, copy / "conformance", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PACKAGE.parent / "profiles", copy / "profiles")
    table = copy / "conformance" / "core" / "run_options.py"
    assert table.read_text().count(BEFORE) == 1
    table.write_text(table.read_text().replace(BEFORE, ROW + BEFORE))
    (copy / "witness.py").write_text(WITNESS)
    return Desk(place, shared_reference(), {"PYTHONPATH": str(copy)})


def ran(desk: Desk, folder: str, *given: object, **rest: Any) -> dict[str, Any]:
    """The options in the head of the journal of a run."""
    command = ["-m", "conformance", "run", *desk.target(), "-k", SELECTION, "--report-dir", folder, *given]
    done = desk.finished(desk.started(list(map(str, command)), **rest))
    assert done.code == 3, done.text
    return options(desk.place / folder)


def options(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "journal.ndjson").read_text().splitlines()[0])["options"]
    return found


def test_it_is_an_option_of_the_command_line_and_of_pytest(desk: Desk) -> None:
    """With its help and its variable."""
    said = desk.conformance("run", "--help").out
    assert "--flavour NAME" in said and "A flavour." in said and "CONFORMANCE_FLAVOUR" in said
    assert "--conformance-flavour=NAME" in desk.pytest("--help", target=[]).out


def test_it_is_in_the_journal_and_in_the_command_that_repeats_the_run(desk: Desk) -> None:
    """`rerun` takes it from there."""
    assert ran(desk, "given", "--flavour", "plum")["flavour"] == "plum"
    assert "--flavour plum" in desk.conformance("rerun", "given", "--show").out


def test_the_environment_gives_it_unless_the_command_line_does(desk: Desk) -> None:
    """The command line has precedence."""
    variable = {"CONFORMANCE_FLAVOUR": "pear"}
    assert ran(desk, "from-environment", env=variable)["flavour"] == "pear"
    assert ran(desk, "from-both", "--flavour", "fig", env=variable)["flavour"] == "fig"


def test_plain_pytest_has_it_and_its_workers_too(desk: Desk) -> None:
    """A worker is given the value, not words."""
    given = ["-k", SELECTION, "--conformance-flavour", "quince", "--conformance-report-dir", "split"]
    done = desk.pytest(*given, "-p", "xdist.plugin", "-n", "1", "-p", "witness")
    assert done.code == 3, done.text
    assert [(desk.place / f"{name}.txt").read_text() for name in ("controller", "gw0")] == ["quince", "quince"]
    assert options(desk.place / "split")["flavour"] == "quince"


def test_a_resumed_run_has_it(desk: Desk) -> None:
    """What it runs now is run with the option, too."""
    ran(desk, "whole", "--flavour", "plum")
    (desk.place / "cut").mkdir()
    lines = (desk.place / "whole" / "journal.ndjson").read_text().splitlines(keepends=True)
    first = next(index for index, line in enumerate(lines) if '"kind":"result"' in line)
    (desk.place / "cut" / "journal.ndjson").write_text("".join(lines[:first]))
    assert desk.conformance("run", "--resume", "cut").code == 3
    run = run_json(desk.place / "cut")
    commands = [result["reproduce"] for result in run["results"] if result["reproduce"]]
    assert run["parts"] == 2 and commands
    assert [command for command in commands if "--flavour plum" not in command] == []
