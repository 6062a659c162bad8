"""The progress of a run: a live line on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from conformance.core.model import Run
from conformance.engine.session import Session
from conformance.runner import items

_CRASH_FILE: Final = "suite-error.txt"
_FIRST_LINE_S: Final = 2.0
_LINE_EVERY_S: Final = 5.0


class ProgressLine:
    """A pytest plugin that prints progress, and keeps the assembled run and the ending of the session."""

    def __init__(self, console: Console, session: Session, *, quiet: bool) -> None:
        self.run: Run | None = None
        self.ending: items.Ending | None = None
        self.crash_file: Path | None = None
        self.finished = False
        self.interrupted = False
        self._session = session
        self._console = console
        self._quiet = quiet
        self._reported_count = 0
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
        checks = f"{len(session.items):,} checks, " if session.items else ""
        target = f"target {self._session.profile.base_url}, profile {self._session.profile.name}: "
        self._console.print(
            self._session.secrets.clean(f"{target}{checks}at most {self._session.concurrency} concurrent requests"),
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        self._thread = threading.Thread(target=self._print_progress, daemon=True)
        self._thread.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and "invariants.py" not in report.nodeid:
            self._reported_count += 1
            self._failed_count += report.failed

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
        parts += [f"{self._failed_count} failed"] if self._failed_count else []
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
        columns = (TextColumn("{task.completed}/{task.total}"), BarColumn(), TextColumn("{task.description}"))
        with Progress(*columns, TimeElapsedColumn(), console=self._console, transient=True) as bar:
            task = bar.add_task("", total=None)
            while not self._stop_event.wait(0.1):
                completed, text = self._figures()
                bar.update(task, completed=completed, total=self._session.planned_count or None, description=text)


class _Console(Console):
    """Discards its output after a broken pipe: `conformance run | head` must not end the run."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_console() -> Console:
    """The console of a run, on standard output."""
    return _Console(file=sys.stdout, soft_wrap=True)
