"""The examples for pipelines are what their services take, and call commands that there are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import conformance
from conformance.cli import main
from conformance.decisions.gate_policy import load_policy
from conformance.judge.assemble import load
from conformance.reports import write_reports
from conformance.runner import embedded_reference as embedded
from tests.support.commands import TIMEOUT_S
from tests.support.journals import conformant_lines, write_journal

pytestmark = pytest.mark.e2e

FOLDER = Path(conformance.__file__).parent / "decisions" / "pipelines"


@pytest.mark.parametrize(
    ("file", "schema"),
    [
        ("github.yml", "vendor.github-workflows"),
        ("github-shards.yml", "vendor.github-workflows"),
        ("gitlab.yml", "vendor.gitlab-ci"),
    ],
)
def test_an_example_is_valid(file: str, schema: str) -> None:
    """By the published schema of the service."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(FOLDER / file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", ["github.yml", "github-shards.yml", "gitlab.yml"])
def test_an_example_calls_commands_that_there_are(file: str) -> None:
    """Each option is one that the command has."""
    calls = re.findall(r"conformance (run|gate|merge) ([^\n|#]*)", (FOLDER / file).read_text())
    assert {name for name, _ in calls} >= {"run", "gate"}
    for name, rest in calls:
        told = CliRunner().invoke(main, [name, "--help"]).output
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in told
    assert yaml.safe_load((FOLDER / file).read_text())


def test_the_example_of_a_policy_is_read() -> None:
    """All keys, one waiver."""
    policy = load_policy(FOLDER / "gate.toml")
    assert policy["strict_waivers"] is True
    assert len(policy["waivers"]) == 1


# What a pipeline does with a run that is not conformant


def _steps(file: str) -> list[list[tuple[str, bool]]]:
    """The shell commands of each job, in order, and whether the job goes on when one fails."""
    document = yaml.safe_load((FOLDER / file).read_text())
    if "jobs" not in document:
        return [[(line, False) for line in document["conformance"]["script"]]]
    return [
        [(step["run"], bool(step.get("continue-on-error"))) for step in job["steps"] if "run" in step]
        for job in document["jobs"].values()
    ]


def _rounds(commands: list[tuple[str, bool]]) -> list[list[tuple[str, bool]]]:
    """The commands of a job as its machines run them: once for each shard of a matrix."""
    shards = range(1, 5) if any("matrix.shard" in text for text, _ in commands) else range(1)
    filled = {"github.run_number": "7"}

    def written(text: str, shard: int) -> str:
        values = {**filled, "matrix.shard": str(shard)}
        return re.sub(r"\$\{\{ *([\w.]+) *\}\}", lambda match: values[match[1]], text)

    return [[(written(text, shard), goes_on) for text, goes_on in commands] for shard in shards]


def _pipeline(file: str, place: Path, environment: dict[str, str]) -> tuple[bool, str]:
    """Whether the last job of an example is green, with all that its commands printed."""
    green, printed = False, ""
    for commands in _steps(file):
        for machine in _rounds(commands):
            green = True
            for text, goes_on in machine:
                if not text.startswith("conformance "):
                    continue
                done = subprocess.run(
                    ["bash", "-e", "-c", text],
                    cwd=place,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=TIMEOUT_S,
                )
                printed += f"$ {text}\n{done.stdout}{done.stderr}"
                if done.returncode and not goes_on:
                    green = False
                    break
    return green, printed


@pytest.mark.slow
@pytest.mark.parametrize("file", ["github.yml", "github-shards.yml", "gitlab.yml"])
@pytest.mark.parametrize("facts", ["few", "broken"])
def test_no_example_is_green_without_a_conformant_run(
    file: str, facts: str, served: embedded.EmbeddedReference, tmp_path: Path
) -> None:
    """Neither with an incomplete run of a small profile, nor where no run came about at all."""
    profile = f'name = "mine"\nbase_url = "{served.base_url}"\n[authorization]\nformat = "Bearer {{key}}"\n'
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.toml").write_text(profile if facts == "few" else profile + "[broken")
    (tmp_path / "gate.toml").write_text("strict_waivers = true\n")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": programs, "PROFILE": "profiles/mine.toml"}
    green, printed = _pipeline(file, tmp_path, environment)
    assert not green, printed
    if facts == "few":
        assert "is incomplete: 1 of 20 operations" in printed


@pytest.mark.slow
@pytest.mark.parametrize("file", ["github.yml", "gitlab.yml"])
def test_an_example_is_green_with_a_conformant_run(file: str, tmp_path: Path) -> None:
    """The commands are the same; the run is one that was made before."""
    folder = write_journal(tmp_path / "made", conformant_lines())
    write_reports(load(folder), folder)
    program = tmp_path / "bin" / "conformance"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = run ]; then cp -r {folder} conformance-report; exit 3; fi\n'
        f'exec {sys.executable} -m conformance "$@"\n'
    )
    program.chmod(0o755)
    (tmp_path / "gate.toml").write_text("strict_waivers = true\n")
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "PROFILE": "p.toml"}
    green, printed = _pipeline(file, tmp_path, environment)
    assert green, printed
