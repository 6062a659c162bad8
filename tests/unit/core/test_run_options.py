"""One value says what a run is asked for; its fields are the table of all options."""

from __future__ import annotations

import json
import shlex
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from conformance.core.errors import UsageError
from conformance.core.option import Kind, Option
from conformance.core.run_options import OPTIONS, RunOptions
from conformance.profile.model import Limits

FULL = RunOptions(
    profile=Path("/p/mine.toml"),
    base_url="http://127.0.0.1:1/a b",
    variables={"control": "http://127.0.0.1:2"},
    report_dir=Path("/r"),
    concurrency=3,
    deadline_s=1.5,
    seed=7,
    examples=4,
    keyword="AUTH-1 and x",
    markers="stable",
    only=("a[b]", "c[d]"),
    workers="2",
    gateways=("ssh=one", "ssh=two"),
    shard="2/4",
    fail_fast=True,
    last_failed=True,
    max_requests=9,
    depth="quick",
    rate=2.5,
    timeout_s=3.0,
    read_only=True,
    proxy="http://127.0.0.1:3",
    limits={"patience_s": "5"},
    quiet=True,
    verbose=True,
    command="conformance demo",
)


def read(**given: Any) -> RunOptions:
    return RunOptions.parse(given, lambda option: option.flag)


def test_every_option_survives_as_json() -> None:
    """Journal and workers get every row: what was written is what is read back, and only what is given is written."""
    assert {row.name for row in FULL.explicit_options()} == {row.name for row in fields(RunOptions)}
    assert RunOptions.from_json(json.loads(json.dumps(FULL.to_json()))) == FULL
    assert RunOptions().to_json() == {}


def test_names_are_unambiguous() -> None:
    """No two rows share an option of the command line, of pytest or an environment variable."""
    for names in (
        [flag for option in OPTIONS for flag in option.flags],
        [option.environment for option in OPTIONS if option.environment],
        [option.pytest_flag for option in OPTIONS if option.pytest_flag],
    ):
        assert len(names) == len(set(names)) > 15
    assert next(option.environment for option in OPTIONS if option.name == "timeout_s") == "CONFORMANCE_TIMEOUT"


def test_a_path_is_written_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads it may stand in another folder."""
    monkeypatch.chdir(tmp_path)
    options = RunOptions(Path("mine.toml"), base_url="http://h", seed=1)
    assert options.to_json()["profile"] == str(tmp_path / "mine.toml")
    assert shlex.split(options.repeat_command())[3] == str(tmp_path / "mine.toml")


def test_the_command_that_repeats_a_run_has_target_seed_and_what_is_judged() -> None:
    """Every limit as `--limit`; not the selection, nor how the run was spread over processes."""
    assert shlex.split(replace(FULL, command="").repeat_command()) == [
        *("conformance", "run", "--profile", "/p/mine.toml", "--base-url", "http://127.0.0.1:1/a b"),
        *("--var", "control=http://127.0.0.1:2", "--seed", "7", "--examples", "4", "--limit", "patience_s=5"),
        *("--limit", "max_requests=9", "--limit", "depth=quick", "--limit", "rate=2.5", "--limit", "timeout_s=3.0"),
        *("--limit", "read_only=true", "--limit", "proxy=http://127.0.0.1:3"),
    ]


def test_all_options_are_words_of_the_command_line() -> None:
    """Another process is started with what this one was asked for: the command reads the words as the same value."""
    words = FULL.arguments()
    assert words[:4] == ["--profile", "/p/mine.toml", "--base-url", "http://127.0.0.1:1/a b"]
    assert {option.flag for option in OPTIONS if option.flags} <= set(words)


def test_a_command_with_a_target_of_its_own_is_repeated_without_target_options() -> None:
    """`conformance demo` has neither `--profile` nor `--base-url`."""
    command = FULL.repeat_command()
    assert command.startswith("conformance demo --seed 7 --examples 4 ")
    assert "--profile" not in command and "--base-url" not in command and "--var" not in command


REFUSED = ("-k", "-m", "--only", "--lf", "--seed", "--examples", "--report-dir", "--shard")


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_a_resumed_run_is_the_same_run(option: Option) -> None:
    """What would make it another run is refused; what the table calls kept comes from the run, unless it is given."""
    given = RunOptions(**{option.name: getattr(FULL, option.name)})
    if option.flags and option.flags[0] in REFUSED:
        with pytest.raises(UsageError, match=rf"--resume: {option.flags[0]} cannot be given"):
            given.require_changeable()
    elif option.flags:
        given.require_changeable()
    resumed = FULL.resume(RunOptions()).normalize_limits()
    own = getattr(FULL.normalize_limits(), option.name)
    assert getattr(resumed, option.name) == (own if option.kept_on_resume else option.empty)


def test_what_is_given_when_a_run_is_resumed_has_precedence() -> None:
    """Whichever of its two spellings a limit was given by; variables and limits are merged by name."""
    before = RunOptions(rate=5.0, limits={"timeout_s": "3"}, variables={"a": "1", "b": "2"})
    given = RunOptions(timeout_s=9.0, limits={"rate": "7"}, variables={"b": "3"})
    resumed = before.resume(given)
    assert resumed.limit_overrides == {"rate": "7", "timeout_s": "9.0"}
    assert resumed.variables == {"a": "1", "b": "3"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"variables": ["x"]}, "--var: 'x' sets nothing (write NAME=VALUE)"),
        ({"limits": ["rate"]}, "--limit: 'rate' sets nothing (write NAME=VALUE)"),
        ({"shard": "5/4"}, "--shard: '5/4' is not a shard (the second of four is 2/4)"),
        ({"concurrency": "many"}, "--concurrency: 'many' is not a number"),
        ({"concurrency": "0"}, "--concurrency: 0 is out of bounds (from 1 up)"),
        ({"concurrency": "513"}, "--concurrency: 513 is out of bounds (at most 512)"),
        ({"rate": "0"}, "--rate: 0 is out of bounds (from 0.1 up)"),
        ({"rate": "nan"}, "--rate: nan is out of bounds (from 0.1 up)"),
        ({"rate": "1e-4"}, "--rate: 0.0001 is out of bounds (from 0.1 up)"),
        ({"timeout_s": "0"}, "--timeout: 0 is out of bounds (more than 0)"),
        ({"deadline_s": float("nan")}, "--deadline: nan is out of bounds (from 1 up)"),
        ({"deadline_s": float("inf")}, "--deadline: inf is out of bounds (at most 4.29497e+09)"),
        ({"read_only": "maybe"}, "--read-only: 'maybe' is neither true nor false"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(given: dict[str, Any], message: str) -> None:
    """One sentence, with what to do."""
    with pytest.raises(UsageError) as error:
        read(**given)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("rate", "2.5", 2.5),
        ("seed", "7", 7),
        ("read_only", "TRUE", True),
        ("read_only", "0", False),
        ("only", "'a[b c]' d", ("a[b c]", "d")),
        ("variables", "a=1 'b=2 3'", {"a": "1", "b": "2 3"}),
        ("profile", "mine.toml", Path("mine.toml")),
        ("proxy", "", ""),
    ],
)
def test_a_variable_of_the_environment_is_read_as_its_option(name: str, text: str, value: object) -> None:
    """A repeatable option takes several words, as a shell reads them; an empty variable says nothing."""
    option = next(option for option in OPTIONS if option.name == name)
    assert option.from_environment({option.environment: text}) == value
    assert option.from_environment({}) == option.empty


def test_a_bad_variable_is_refused_by_its_name() -> None:
    """Nobody looks for it on the command line."""
    option = next(option for option in OPTIONS if option.kind is Kind.NUMBER and option.name == "rate")
    with pytest.raises(UsageError, match="CONFORMANCE_RATE: 'fast' is not a number"):
        option.from_environment({"CONFORMANCE_RATE": "fast"})


def test_a_default_in_the_help_is_the_one_in_force() -> None:
    """The profile's model has the time-out of a request."""
    option = next(option for option in OPTIONS if option.name == "timeout_s")
    assert f"[{Limits().timeout_s:g}]" in option.help
