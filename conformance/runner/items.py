"""The pytest side of a run: files of checks, items, and reports of results."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.support.registry import Instance
from conformance.client.redaction.secrets import clean_with_all
from conformance.contract import Contract
from conformance.core.errors import JournalError
from conformance.core.exit_codes import EXIT_CODES
from conformance.core.file_handles import with_remedy
from conformance.core.model import Result, Run
from conformance.core.outcomes import OPEN_OUTCOMES, Outcome, Verdict
from conformance.engine.scheduler import EngineFailure, EngineShutdown
from conformance.engine.session import Session
from conformance.judge.invariant_results import SHOWN_BY
from conformance.reports import import_formats
from conformance.reports.shaping.text import console_text, one_line

EXIT_BROKEN = EXIT_CODES[Verdict.BROKEN]


@dataclass(eq=False)  # plugins must be hashable for pytest before 9.1
class Ending:
    """Why a pytest session ended before it had run everything selected. A pytest plugin."""

    failure: str = ""
    """Why there is no verdict on the target; empty if there is one."""
    exit_code: int = EXIT_BROKEN
    interrupted: bool = False
    others_failed: bool = False
    """Whether tests that are not part of the suite failed in this session."""

    def fail(self, problem: str, exit_code: int = EXIT_BROKEN) -> None:
        """Records a failure; the first one is kept."""
        if not self.failure:
            self.failure, self.exit_code = with_remedy(clean_with_all(problem)), exit_code

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
        self.fail(describe_crash(excinfo.value))


session_key = pytest.StashKey[Session]()
run_key = pytest.StashKey[Run]()
ending_key = pytest.StashKey[Ending]()
left_out_key = pytest.StashKey[list[Instance]]()
"""What is not run in this depth."""


class CheckFailure(Exception):
    """A check failed; the message is the whole report, without a traceback."""


def describe_crash(error: BaseException) -> str:
    """An unexpected exception as one line of text, redacted."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}" if trace else ""
    return with_remedy(clean_with_all(f"the suite erred: {type(error).__name__}: {_last_line(str(error))}{place}"))


def _last_line(text: str) -> str:
    return (clean_with_all(text).strip().splitlines() or [""])[-1].removeprefix("E ").strip()


class CheckFile(pytest.File):
    """One `check_<subject>.py`: its items are the instances that apply to the profile."""

    def collect(self) -> Iterator[CheckItem]:
        for instance in self.config.stash[session_key].instances_by_subject.get(self.path.stem, ()):
            # an explicit node id, since `--lf` would not recognise the one that pytest derives
            nodeid = f"{self.nodeid}::{instance.name}"
            yield CheckItem.from_parent(self, name=instance.name, nodeid=nodeid, instance=instance)


class CheckItem(pytest.Item):
    """One check on one operation in one case."""

    def __init__(self, *, instance: Instance, **node_arguments: Any) -> None:
        super().__init__(**node_arguments)
        self.instance = instance
        self.result: Result | None = None
        level = self.config.stash[session_key].contract.requirements[instance.check.requirement].level
        invariants = _invariants_of(instance, self.config.stash[session_key].contract)
        for mark in (instance.operation.stability.value, level.value, *_keywords(instance), *invariants):
            self.extra_keyword_matches.add(mark)
        self.add_marker(_mark(instance.operation.stability.value))
        self.add_marker(_mark(level.value))

    def runtest(self) -> None:
        try:
            self.result = result = self.config.stash[session_key].result(self.instance, import_formats)
        except EngineShutdown as stop:
            if not self.config.stash[session_key].part.worker:
                # the other items would be skipped for the same reason, which takes seconds after a deadline
                self.session.shouldstop = str(stop)
            pytest.skip(f"not run: {stop}")
        except EngineFailure as failure:
            if self.config.stash[session_key].part.worker:
                raise CheckFailure(str(failure)) from None
            self.session.shouldstop = str(failure)
            cause = failure.__cause__
            raise (cause if isinstance(cause, Exception) else failure) from None
        except JournalError as error:
            if self.config.stash[session_key].part.worker:
                raise CheckFailure(str(error)) from None
            self.config.stash[ending_key].fail(str(error))
            pytest.exit(str(error), returncode=EXIT_BROKEN)
        if result.outcome in (Outcome.FAILED, Outcome.BROKEN):
            raise CheckFailure(describe(result))
        if result.outcome in (*OPEN_OUTCOMES, Outcome.INAPPLICABLE):
            pytest.skip(f"{result.outcome.value}: {result.message}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002
        if isinstance(excinfo.value, CheckFailure):
            return str(excinfo.value)
        # pytest's own form parses source, which fails in Python 3.11 while hypothesis sets the recursion limit in
        # another thread
        return clean_with_all("".join(traceback.format_exception(excinfo.value)))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name

    @property
    def location(self) -> tuple[str, int | None, str]:
        """The value of pytest's own property, which would resolve the path again for each item."""
        return self.nodeid.partition("::")[0], None, self.name


@cache
def _mark(name: str) -> pytest.MarkDecorator:
    mark: pytest.MarkDecorator = getattr(pytest.mark, name)
    return mark


def _keywords(instance: Instance) -> tuple[str, ...]:
    return instance.check.requirement, instance.operation.id


def _invariants_of(instance: Instance, contract: Contract) -> list[str]:
    """The invariants that `-k` selects this check by: no check is their own, and they judge what it is answered."""
    requirement, operation = instance.check.requirement, instance.operation.id
    names = (name for name, requirements in SHOWN_BY.items() if requirement in requirements)
    return [name for name in names if operation in contract.requirements[name].operations]


def describe(result: Result) -> str:
    """A failure as a few lines of text."""
    lines = [f"{result.requirement}: {result.message}"]
    if result.expected:
        lines.append(f"expected {result.expected}, observed {result.observed or 'something else'}")
    if result.exchanges:
        lines.append(f"exchanges {', '.join(result.exchanges)} in the journal")
    return "\n".join(lines)


def describe_report(report: pytest.TestReport, result: Result) -> None:
    """Adds what the terminal needs of a result to its report, as plain values that a worker can send."""
    report.conformance_key = [result.check, result.operation, result.case]  # type: ignore[attr-defined]
    report.conformance_duration_ms = result.duration_ms  # type: ignore[attr-defined]
    report.conformance_message = one_line(console_text(result.message), 300)  # type: ignore[attr-defined]


def report_invariant(config: pytest.Config, result: Result) -> None:
    nodeid = f"conformance/checks/invariants.py::{result.requirement}[{result.operation}]"
    location = ("conformance/checks/invariants.py", None, f"{result.requirement}[{result.operation}]")
    waived = result.waived_by is not None
    failed = result.outcome in (Outcome.FAILED, Outcome.BROKEN) and not waived
    skipped = waived or result.outcome in (*OPEN_OUTCOMES, Outcome.INAPPLICABLE)
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
            report.conformance_outcome = result.counted_as  # type: ignore[attr-defined]
            describe_report(report, result)
        config.hook.pytest_runtest_logreport(report=report)
    config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
