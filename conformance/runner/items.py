"""What pytest sees of a run: files of checks, items, and how an item's result is told."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.support.registry import Instance
from conformance.client.redaction.secrets import clean_with_all
from conformance.core.errors import JournalError
from conformance.core.exit_codes import EXIT_CODES
from conformance.core.model import OPEN_OUTCOMES, Outcome, Result, Run, Verdict
from conformance.engine.scheduler import Stopped
from conformance.engine.session import Session

BROKEN = EXIT_CODES[Verdict.BROKEN]


@dataclass(eq=False)  # pytest before 9.1 takes no plugin that has no hash
class Ending:
    """How a session came to its end, other than by having run what was selected. A pytest plugin of its own."""

    failure: str = ""
    """Why this is no verdict on the target."""
    exit_code: int = BROKEN
    interrupted: bool = False
    others_failed: bool = False
    """Tests that are none of the suite's, run in the same session."""

    def fail(self, why: str, exit_code: int = BROKEN) -> None:
        """The first reason stays."""
        if not self.failure:
            self.failure, self.exit_code = clean_with_all(why), exit_code

    def interrupt(self) -> None:
        self.interrupted = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.failed:
            return
        outcome = getattr(report, "conformance_outcome", "")
        if outcome == "crashed":
            self.fail(f"the suite erred: {_last_line(report.longreprtext)} ({report.nodeid})")
        elif not outcome:
            self.others_failed = True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.fail(f"the suite erred: {_last_line(report.longreprtext)} ({report.nodeid})")

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.fail(erred(excinfo.value))


session_key = pytest.StashKey[Session]()
run_key = pytest.StashKey[Run]()
ending_key = pytest.StashKey[Ending]()


class CheckFailed(Exception):
    """A check failed; the message is all there is to say."""


def erred(error: BaseException) -> str:
    """An exception that nobody foresaw, in one line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}" if trace else ""
    return clean_with_all(f"the suite erred: {type(error).__name__}: {_last_line(str(error))}{place}")


def _last_line(text: str) -> str:
    return (clean_with_all(text).strip().splitlines() or [""])[-1].removeprefix("E ").strip()


class CheckFile(pytest.File):
    """One `check_<subject>.py`: its items are the instances that the profile calls for."""

    def collect(self) -> Iterator[CheckItem]:
        subject = self.path.stem
        for instance in self.config.stash[session_key].instances:
            if instance.check.subject == subject:
                # the node's id is said, not left to pytest, whose `--lf` would not know it again
                nodeid = f"{self.nodeid}::{instance.name}"
                yield CheckItem.from_parent(self, name=instance.name, nodeid=nodeid, instance=instance)


class CheckItem(pytest.Item):
    """One check on one operation in one case."""

    def __init__(self, *, instance: Instance, **rest: Any) -> None:
        super().__init__(**rest)
        self.instance = instance
        self.result: Result | None = None
        level = self.config.stash[session_key].contract.requirements[instance.check.requirement].level
        for mark in (instance.operation.stability.value, level.value, *_names(instance)):
            self.extra_keyword_matches.add(mark)
        self.add_marker(instance.operation.stability.value)
        self.add_marker(level.value)

    def runtest(self) -> None:
        try:
            self.result = result = self.config.stash[session_key].result(self.instance)
        except Stopped as stopped:
            if not self.config.stash[session_key].part.worker:
                # thousands of items more would only say the same, in seconds that a deadline does not have
                self.session.shouldstop = str(stopped)
            pytest.skip(f"not run: {stopped}")
        except JournalError as error:
            if self.config.stash[session_key].part.worker:
                raise CheckFailed(str(error)) from None
            self.config.stash[ending_key].fail(str(error))
            pytest.exit(str(error), returncode=BROKEN)
        if result.outcome in (Outcome.FAILED, Outcome.BROKEN):
            raise CheckFailed(describe(result))
        if result.outcome in (*OPEN_OUTCOMES, Outcome.INAPPLICABLE):
            pytest.skip(f"{result.outcome.value}: {result.message}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002
        if isinstance(excinfo.value, CheckFailed):
            return str(excinfo.value)
        # not pytest's own form, which parses source: that fails in Python 3.11 while hypothesis, in another thread,
        # sets the recursion limit
        return clean_with_all("".join(traceback.format_exception(excinfo.value)))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name

    @property
    def location(self) -> tuple[str, int | None, str]:
        """As pytest's own, which looks at the path of each item anew."""
        return self.nodeid.partition("::")[0], None, self.name


def _names(instance: Instance) -> tuple[str, ...]:
    return instance.check.requirement, instance.operation.id


def describe(result: Result) -> str:
    """A failure in a few lines."""
    lines = [f"{result.requirement}: {result.message}"]
    if result.expected:
        lines.append(f"expected {result.expected}, observed {result.observed or 'something else'}")
    if result.exchanges:
        lines.append(f"exchanges {', '.join(result.exchanges)} in the journal")
    return "\n".join(lines)


def report_invariant(config: pytest.Config, result: Result) -> None:
    nodeid = f"conformance/checks/invariants.py::{result.requirement}[{result.operation}]"
    location = ("conformance/checks/invariants.py", None, f"{result.requirement}[{result.operation}]")
    failed = result.outcome in (Outcome.FAILED, Outcome.BROKEN)
    skipped = result.outcome in (*OPEN_OUTCOMES, Outcome.INAPPLICABLE)
    longrepr: Any = describe(result) if failed else (location[0], 0, result.message) if skipped else None
    config.hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
    for when in ("setup", "call", "teardown"):
        call = when == "call"
        report = pytest.TestReport(
            nodeid=nodeid,
            location=location,
            keywords={},
            outcome="failed" if failed and call else "skipped" if skipped and call else "passed",
            longrepr=longrepr if call else None,
            when=when,
            duration=0.0,
            start=time.time(),
            stop=time.time(),
        )
        if call:
            report.conformance_outcome = result.outcome.value  # type: ignore[attr-defined]
        config.hook.pytest_runtest_logreport(report=report)
    config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
