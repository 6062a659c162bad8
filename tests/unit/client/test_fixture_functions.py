"""Python functions of fixtures: what they raise, return and print is bounded, and never ends a run."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import pytest

from conformance.client import fixture_functions
from conformance.client.redaction.output import RedactedOutput
from conformance.profile.resources import Fixture
from tests.unit.client.test_fixtures import failure, provide


def test_a_function_that_never_returns_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the fixture nor the end of the event loop waits for it."""
    monkeypatch.setattr(fixture_functions, "TIMEOUT_S", 0.3)
    (tmp_path / "hang.py").write_text("import time\ndef make(context):\n    time.sleep(60)\n", encoding="utf-8")
    started = time.perf_counter()
    assert "took over 0.3 s" in str(failure(Fixture("order", "open", python="hang.py:make"), directory=tmp_path))
    assert time.perf_counter() - started < 25


def test_a_function_whose_value_is_no_json_fails(tmp_path: Path) -> None:
    """As a number of more digits than Python writes."""
    (tmp_path / "huge.py").write_text("def make(context):\n    return {'id': 10**5000}\n", encoding="utf-8")
    assert "raised ValueError" in str(failure(Fixture("order", "open", python="huge.py:make"), directory=tmp_path))


RUDE = """
import asyncio
class Silent(Exception):
    def __str__(self):
        raise ValueError("no text")
class Exiting(Exception):
    def __str__(self):
        raise SystemExit(0)
class Interrupting(BaseException):
    def __str__(self):
        raise KeyboardInterrupt
def interrupt(context):
    raise KeyboardInterrupt
def leave(context):
    raise SystemExit(0)
def stop(context):
    raise GeneratorExit
async def cancel(context):
    raise asyncio.CancelledError
def say_nothing(context):
    raise Silent
def exit_in_text(context):
    raise Exiting
async def exit_in_text_later(context):
    raise Exiting
def interrupt_in_text(context):
    raise Interrupting
def exit_in_value(context):
    class Value(dict):
        def items(self):
            raise Interrupting
    return Value(a=1)
"""


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("interrupt", "raised KeyboardInterrupt"),
        ("cancel", "was cancelled"),
        ("say_nothing", "raised Silent"),
        ("leave", "raised SystemExit"),
        ("stop", "raised RuntimeError: GeneratorExit"),
        ("exit_in_text", "raised Exiting"),
        ("exit_in_text_later", "raised Exiting"),
        ("interrupt_in_text", "raised Interrupting"),
        ("exit_in_value", "raised Interrupting"),
    ],
)
def test_no_function_ends_the_run(function: str, problem: str, tmp_path: Path) -> None:
    """Whatever the owner's code raises is the fixture's failure."""
    (tmp_path / "rude.py").write_text(RUDE)
    assert problem in str(failure(Fixture("order", "open", python=f"rude.py:{function}"), directory=tmp_path))


def test_what_a_function_prints_of_its_result_is_redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ticket is a secret that no other part of the run knows yet."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", RedactedOutput(io.TextIOWrapper(raw, "utf-8")))
    (tmp_path / "printing.py").write_text(
        "def make(context):\n    made = 'ticket-' + '7' * 30\n    print('made', made)\n    return {'ticket': made}\n"
    )
    (members,) = provide(Fixture("session", "ticket", python="printing.py:make"), directory=tmp_path)
    sys.stdout.flush()
    assert members == {"ticket": f"ticket-{'7' * 30}"}
    assert raw.getvalue().decode() == "made «redacted:fixture»\n"


def test_a_module_whose_error_has_no_text_is_a_failure_of_the_fixture(tmp_path: Path) -> None:
    """The import of the owner's module ends no run either."""
    (tmp_path / "wild.py").write_text(f"{RUDE}\nraise Interrupting\n")
    assert "cannot load wild.py:make: Interrupting" in str(
        failure(Fixture("order", "open", python="wild.py:make"), directory=tmp_path)
    )


def test_a_function_whose_value_is_too_large_fails(tmp_path: Path) -> None:
    """A value of 50 MB made a journal of 150 MB."""
    (tmp_path / "large.py").write_text("def make(context):\n    return {'id': 'x' * 5_000_000, 'name': 'y'}\n")
    problem = failure(Fixture("order", "open", python="large.py:make"), directory=tmp_path).message
    assert "large.py:make returned 5,0" in problem
    assert problem.endswith("bytes, more than 4,194,304; the member 'id' has 5,000,002")
