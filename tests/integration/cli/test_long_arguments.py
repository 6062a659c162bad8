"""A long argument is repeated in part only, and an error names the variable that a value is from."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main

LONG = "x" * 5000
MINIMAL = 'name = "mini"\nbase_url = "http://127.0.0.1:9"\n[authorization]\nformat = "Bearer {key}"\n'


@pytest.fixture
def profile(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(MINIMAL)
    return str(path)


@pytest.mark.parametrize(
    "words",
    [
        [LONG],
        ["run", f"--{LONG}"],
        ["run", "--profile", LONG],
        ["run", "--profile", "{profile}", "--rate", LONG],
        ["run", "--profile", "{profile}", "--shard", LONG],
        ["run", "--profile", "{profile}", "--limit", LONG],
        ["run", "--profile", "{profile}", "--base-url", f"http://{LONG}"],
        ["run", "--profile", "{profile}", "--base-url", f"http://{LONG}/ "],
        ["list", "--operation", LONG],
        ["list", "--level", LONG],
        ["explain", LONG],
        ["explain", f"{LONG} " * 10],
        ["explain", "word " * 2000],
        ["report", LONG],
        ["verify", LONG],
        ["compare", LONG, LONG],
        ["faults", LONG],
    ],
    ids=lambda words: " ".join(words)[:60],
)
def test_a_long_argument_is_not_echoed_whole(words: list[str], profile: str) -> None:
    """The line says how long it is, and the exit code is that of a wrong command line."""
    done = CliRunner().invoke(main, [word.replace("{profile}", profile) for word in words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr) < 2500
    assert "characters)" in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("LIMIT", "foo=1", "CONFORMANCE_LIMIT: limits.foo: there is no such limit"),
        ("LIMIT", "foo", "CONFORMANCE_LIMIT: 'foo' sets nothing"),
        ("LIMIT", "rate=x", "CONFORMANCE_LIMIT: limits.rate: must be a number"),
        ("RATE", "x", "(env var: 'CONFORMANCE_RATE')"),
        ("PROXY", "x", "CONFORMANCE_PROXY: limits.proxy: 'x' is not an http"),
        ("BASE_URL", "x", "CONFORMANCE_BASE_URL: 'x' is not an http"),
        ("VAR", "x=1", "CONFORMANCE_VAR: the profile has no variable x"),
        ("SHARD", "x", "CONFORMANCE_SHARD: 'x' is not a shard"),
        ("TX", "900*popen", "CONFORMANCE_TX: names more than 64 processes"),
    ],
)
def test_an_error_names_the_variable(name: str, text: str, error: str, profile: str) -> None:
    """The user has not typed the option."""
    done = CliRunner().invoke(main, ["run", "--profile", profile], env={f"CONFORMANCE_{name}": text})
    assert (done.exit_code, error in done.stderr) == (2, True), done.stderr


def test_an_error_names_the_option_that_was_typed(profile: str) -> None:
    """Also where the variable is set: the command line overrides it."""
    words = ["run", "--profile", profile, "--limit", "foo=1", "--base-url", "http://127.0.0.1:9"]
    done = CliRunner().invoke(main, words, env={"CONFORMANCE_LIMIT": "rate=1"})
    assert done.stderr.startswith("error: limits.foo: there is no such limit")


def test_doctor_names_the_variable(profile: str) -> None:
    """It reports what is wrong as a fact."""
    done = CliRunner().invoke(main, ["doctor", "--profile", profile], env={"CONFORMANCE_LIMIT": "foo=1"})
    assert (done.exit_code, "CONFORMANCE_LIMIT: limits.foo" in done.stdout) == (2, True), done.output
