"""The line of a check that ended, and the thread that prints how far a run is."""

from __future__ import annotations

import io
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from conformance.core.outcomes import Outcome
from conformance.runner.items import describe_report
from conformance.runner.progress import ProgressLine, outcome_line
from tests.support.runs import result


def report(outcome: Outcome, message: str = "") -> pytest.TestReport:
    made = pytest.TestReport(
        nodeid="checks/check_a.py::absent[getApiKeyIdentity]", location=("a", None, "b"), keywords={},
        outcome="passed", longrepr=None, when="call", duration=3.0,
    )  # fmt: skip
    made.conformance_outcome = outcome.value  # type: ignore[attr-defined]
    describe_report(made, result("AUTH-1", "getApiKeyIdentity", outcome, message=message, duration_ms=34.0))
    return made


def test_a_line_has_outcome_name_duration_and_reason() -> None:
    """The duration is the check's own, not the time that pytest waited for its result."""
    assert outcome_line(report(Outcome.PASSED)) == "✓ passed       absent[getApiKeyIdentity] (34 ms)"
    assert outcome_line(report(Outcome.FAILED, "served")).endswith("absent[getApiKeyIdentity] (34 ms): served")


def test_a_line_is_one_line_of_bounded_length_without_control_sequences() -> None:
    """A message of the target neither colours the terminal nor breaks a worker's protocol."""
    line = outcome_line(report(Outcome.FAILED, "\x1b[31mred\n::error::x \ud800 ##[add-mask]y" + "m" * 100_000))
    assert line.splitlines() == [line]
    assert "\x1b" not in line and "##[" not in line
    assert len(line) < 500
    line.encode("utf-8", "strict")


def test_progress_whose_start_is_interrupted_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal may be raised while the thread starts; such a thread cannot be joined."""

    def start(thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start)
    profile = SimpleNamespace(base_url="http://shop.example", name="p")
    session: Any = SimpleNamespace(profile=profile, concurrency=1, secrets=SimpleNamespace(clean=str))
    pytest_session: Any = SimpleNamespace(config=SimpleNamespace(getoption=lambda *_: "no"), items=[object()])
    progress = ProgressLine(Console(file=io.StringIO()), session, quiet=False)
    with pytest.raises(KeyboardInterrupt):
        progress.pytest_runtestloop(pytest_session)
    progress.close()
