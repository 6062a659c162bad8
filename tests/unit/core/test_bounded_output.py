"""A program is bounded in time and size, and what it has started is not waited for."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from conformance.core import bounded_output

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no sh")


def test_what_a_program_has_started_is_not_waited_for() -> None:
    """An agent keeps the output open that it inherited."""
    started = time.monotonic()
    assert bounded_output.run(("sh", "-c", "sleep 20 & echo key"), 10, 100) == (0, b"key\n")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("script", ["sleep 20; echo key", "trap '' TERM INT; sleep 20", "exec >&-; sleep 20"])
def test_a_script_whose_child_hangs_ends_in_time(script: str) -> None:
    """The child of the shell keeps the output open when the shell is killed."""
    started = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        bounded_output.run(("sh", "-c", script), 0.5, 100)
    assert time.monotonic() - started < 5


def test_output_without_end_is_refused() -> None:
    with pytest.raises(bounded_output.TooMuchOutput):
        bounded_output.run(("yes",), 10, 1000)


def test_output_without_end_of_a_program_that_never_ends_is_refused() -> None:
    """The program does not end when its output is closed."""
    with pytest.raises(bounded_output.TooMuchOutput):
        bounded_output.run(("sh", "-c", "trap '' PIPE; while :; do echo key; done 2>/dev/null"), 0.5, 1000)


def test_the_exit_code_and_the_output_are_returned() -> None:
    assert bounded_output.run(("sh", "-c", "printf x; exit 3"), 10, 1) == (3, b"x")
