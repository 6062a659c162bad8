"""A time on the command line: seconds, or a number with its unit, in every option that takes one."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.core.errors import UsageError
from conformance.core.option import parse_duration
from conformance.core.run_options import OPTIONS


@pytest.mark.parametrize(
    ("text", "seconds"), [("20", 20), ("1.5", 1.5), ("20s", 20), ("5m", 300), ("2h", 7200), ("0.5m", 30)]
)
def test_a_time_is_seconds_or_has_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text, "--deadline") == seconds


@pytest.mark.parametrize("text", ["20x", "", "s", "5 min", "1h30m"])
def test_another_text_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a number of seconds \(write 90, 90s, 10m or 2h\)"):
        parse_duration(text, "--deadline")


@pytest.mark.parametrize("text", ["nan", "inf", "-5s", "0"])
def test_a_time_has_bounds(text: str) -> None:
    (option,) = [option for option in OPTIONS if option.name == "deadline_s"]
    with pytest.raises(UsageError, match="out of bounds"):
        option.parse(text, "--deadline")


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--profile", "p.toml", "--deadline", "20x"),
        ("run", "--profile", "p.toml", "--timeout", "20x"),
        ("doctor", "--profile", "p.toml", "--deadline", "20x"),
        ("probe", "--base-url", "http://127.0.0.1:9", "--deadline", "20x"),
    ],
)
def test_every_command_says_what_is_expected(words: tuple[str, ...]) -> None:
    """Before anything is read or sent."""
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == 2
    assert f"'{words[-2]}'" in done.output and "'20x' is not a number of seconds (write 90" in done.output, done.output


@pytest.mark.parametrize("command", ["run", "doctor"])
def test_a_missing_profile_is_shown_by_an_example(command: str) -> None:
    done = CliRunner().invoke(main, [command])
    assert done.exit_code == 2
    assert "Missing option '--profile': --profile profiles/mine.toml" in done.output, done.output
