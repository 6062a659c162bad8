"""The examples for pipelines are what their services take, and call commands that there are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import conformance
from conformance.cli import main
from conformance.profile.policy import load_policy

FOLDER = Path(conformance.__file__).parent / "pipelines"


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
    assert policy["tier"] == "stable"
    assert len(policy["waivers"]) == 1
