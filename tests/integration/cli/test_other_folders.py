"""What a run wrote can be acted on from any working directory: the path of its profile leads there."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import REFERENCE, Desk, shared_reference

FAULT = "F031"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A run that failed, of a profile that was named by a path relative to the folder where the run was started."""
    desk = Desk(tmp_path_factory.mktemp("work"), shared_reference())
    (desk.place / "mine").mkdir()
    (desk.place / "away").mkdir()
    for path in (REFERENCE, REFERENCE.with_name("reference.schemas.yaml")):
        (desk.place / "mine" / path.name).write_bytes(path.read_bytes())
    target = ["--profile", "mine/reference.toml", *desk.target(FAULT)[2:]]
    done = desk.conformance("run", *target, "-k", "check_authentication and Identity", "--report-dir", "out")
    assert done.code == 1, done.text
    assert " --profile mine/reference.toml " in done.out
    return desk


def away(desk: Desk, *given: object) -> Any:
    """A command that is typed in another folder."""
    return desk.finished(desk.started(["-m", "conformance", *map(str, given)], cwd=desk.place / "away"))


def test_a_rerun_finds_the_profile(desk: Desk) -> None:
    """And shows its path as it can be typed where the command was."""
    profile = desk.place / "mine" / "reference.toml"
    assert f"--profile {profile} " in away(desk, "rerun", "../out", "--failed", "--show").out
    assert "--profile mine/reference.toml " in desk.conformance("rerun", "out", "--failed", "--show").out
    assert away(desk, "rerun", "../out", "--failed").code == 1


def test_the_command_in_an_explanation_works(desk: Desk) -> None:
    """`explain --run` ends with the line that runs it again: it fails again."""
    run = json.loads((desk.place / "out" / "run.json").read_text())
    failed = next(result["requirement"] for result in run["results"] if result["outcome"] == "failed")
    said = away(desk, "explain", failed, "--run", "../out").out
    again = next(line.split("again", 1)[1] for line in said.splitlines() if line.strip().startswith("again"))
    assert away(desk, *shlex.split(again)[1:], "--report-dir", "again").code == 1


@pytest.mark.parametrize(("folder", "where"), [(".", "mine/reference.toml"), ("away", "file://{profile}")])
def test_the_location_in_sarif_is_that_of_the_profile(desk: Desk, folder: str, where: str) -> None:
    """Relative to the current folder, in a pipeline that of the checkout, and a file's URI from elsewhere."""
    place = desk.place / folder
    command = ["-m", "conformance", "report", str(desk.place / "out"), "--format", "sarif", "-o", "made"]
    assert desk.finished(desk.started(command, cwd=place)).code == 0
    log = json.loads((place / "made" / "report.sarif").read_text())
    found = {
        location["physicalLocation"]["artifactLocation"]["uri"]
        for result in log["runs"][0]["results"]
        for location in result["locations"]
    }
    assert found == {where.format(profile=Path(desk.place / "mine" / "reference.toml"))}
