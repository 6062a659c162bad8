"""The progress of a run: a live line on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import IO, Final

import pytest
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from conformance.core.model import Run
from conformance.engine.session import Session
from conformance.reports.shaping.grouping import SYMBOLS
from conformance.reports.shaping.text import console_text, milliseconds
from conformance.runner import items

_CRASH_FILE: Final = "suite-error.txt"
_FIRST_LINE_S: Final = 2.0
_LINE_EVERY_S: Final = 5.0
_WIDTH: Final = 80
_GOOD: Final = "green"
_BAD: Final = "red"


class ProgressLine:
    """A pytest plugin that prints progress, and keeps the assembled run and the ending of the session."""

    def __init__(self, console: Console, session: Session, *, quiet: bool, verbose: bool = False) -> None:
        self.run: Run | None = None
        self.ending: items.Ending | None = None
        self.crash_file: Path | None = None
        self.finished = False
        self.interrupted = False
        self._session = session
        self._console = console
        self._quiet = quiet
        self._verbose = verbose
        self._reported_count = 0
        self._waivable_count = 0
        self._failed_count = 0
        self._stop_event = threading.Event()
        self._thread: threading.Thread | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[items.session_key] = self._session

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        is_split = session.config.getoption("dist", "no") != "no"
        if self._quiet or not (session.items or is_split):
            return
        checks = f"{len(session.items):,} check{'s' * (len(session.items) != 1)}, " if session.items else ""
        target = f"target {self._session.profile.base_url}, profile {self._session.profile.name}: "
        self._print(f"{target}{checks}at most {self._session.concurrency} concurrent requests")
        thread = threading.Thread(target=self._print_progress, daemon=True)
        thread.start()
        self._thread = thread  # not before: one whose start a signal has interrupted cannot be joined

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        if self._verbose:
            self._print(outcome_line(report))
        if "invariants.py" in report.nodeid:
            return
        self._reported_count += 1
        is_waivable = getattr(report, "conformance_waiver", False)
        self._waivable_count += report.failed and is_waivable
        self._failed_count += report.failed and not is_waivable

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.interrupted = isinstance(excinfo.value, KeyboardInterrupt)

    def pytest_internalerror(self, excrepr: object) -> bool:
        """Writes the traceback to a file in place of the terminal."""
        text = self._session.secrets.clean(f"{excrepr}\n")
        try:
            path = self._session.directory / _CRASH_FILE
            path.write_text(text)
            self.crash_file = path
        except OSError:
            sys.stderr.write(text)
        return True

    def pytest_sessionfinish(self) -> None:
        self.close()
        self.finished = True

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        self.run = config.stash.get(items.run_key, None)
        self.ending = config.stash.get(items.ending_key, None)

    def close(self) -> None:
        self._stop_event.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _figures(self) -> tuple[int, str]:
        runtime = self._session.runtime
        completed = max(self._session.completed_count, self._reported_count)
        parts = [f"{runtime.sender.requests:,} requests"] if runtime else []
        parts += [f"{self._failed_count:,} failed"] if self._failed_count else []
        parts += [f"{self._waivable_count:,} with a waiver"] if self._waivable_count else []
        wait_stats = runtime.sender.wait_stats if runtime else None
        parts += [f"waited {wait_stats.clock_s:.0f} s for the target"] if wait_stats and wait_stats.clock_s >= 1 else []
        parts += [wait_stats.description] if wait_stats and wait_stats.description else []
        return completed, ", ".join(parts)

    def _print_progress(self) -> None:
        if self._console.is_terminal:
            self._show_bar()
            return
        started, wait_s = time.monotonic(), _FIRST_LINE_S
        while not self._stop_event.wait(wait_s):
            wait_s = _LINE_EVERY_S
            completed, text = self._figures()
            total = f"/{self._session.planned_count:,}" if self._session.planned_count else ""
            parts = [f"{completed:,}{total} checks", text, f"{time.monotonic() - started:.0f} s"]
            self._console.print(f"  {', '.join(filter(None, parts))}", highlight=False)

    def _show_bar(self) -> None:
        """A bar that is red once a check has failed that no waiver names."""
        bar = BarColumn(complete_style=_GOOD, finished_style=_GOOD, pulse_style=_GOOD)
        columns = (TextColumn("{task.fields[checks]}"), bar, TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task("", total=None, checks="")
            while not self._stop_event.wait(0.1):
                completed, text = self._figures()
                total = self._session.planned_count or None
                checks = f"{completed:,}/{total:,} checks" if total else f"{completed:,} checks"
                if self._failed_count:
                    bar.complete_style = bar.finished_style = bar.pulse_style = _BAD
                progress.update(task, completed=completed, total=total, description=text, checks=checks)

    def _print(self, text: str) -> None:
        text = console_text(self._session.secrets.clean(text))
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def outcome_line(report: pytest.TestReport) -> str:
    """`✕ failed  absent_credential[getApiKeyIdentity] (34 ms): a request without a credential was served`."""
    outcome = getattr(report, "conformance_outcome", "") or report.outcome
    name = report.nodeid.rpartition("::")[2]
    reason = getattr(report, "conformance_message", "")
    duration_ms = getattr(report, "conformance_duration_ms", 0.0)
    duration = f" ({milliseconds(duration_ms)})" if duration_ms else ""
    return f"{SYMBOLS.get(outcome, ' ')} {outcome:<12} {name}{duration}{f': {reason}' if reason else ''}"


class _Console(Console):
    """Discards its output after a broken pipe: `conformance run | head` must not end the run."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def make_console(file: IO[str] | None = None) -> Console:
    """The console of a run, on standard output or another stream."""
    width = _WIDTH if os.environ.get("COLUMNS") == "0" else None  # rich would print nothing
    return _Console(file=file or sys.stdout, soft_wrap=True, width=width)
