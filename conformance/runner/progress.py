"""What a person sees while a run goes on: a live line on a terminal, a line now and then elsewhere."""

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

_CRASH: Final = "suite-error.txt"
_FIRST_LINE_S: Final = 2.0
_LINE_EVERY_S: Final = 5.0


class ProgressLine:
    """A pytest plugin that says how far the run is: a live line on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console, made: Session, *, quiet: bool) -> None:
        self.run: Run | None = None
        self.ending: items.Ending | None = None
        self.crash: Path | None = None
        self.finished = False
        self.interrupted = False
        self._made = made
        self._console = console
        self._quiet = quiet
        self._reported = 0
        self._failed = 0
        self._ended = threading.Event()
        self._ticker: threading.Thread | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[items.session_key] = self._made

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        splits = session.config.getoption("dist", "no") != "no"
        if self._quiet or not (session.items or splits):
            return
        checks = f"{len(session.items):,} checks, " if session.items else ""
        told = f"conformance of {self._made.profile.base_url}, profile {self._made.profile.name}: "
        self._console.print(
            self._made.secrets.clean(f"{told}{checks}{self._made.concurrency} requests at once"),
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and "invariants.py" not in report.nodeid:
            self._reported += 1
            self._failed += report.failed

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.interrupted = isinstance(excinfo.value, KeyboardInterrupt)

    def pytest_internalerror(self, excrepr: object) -> bool:
        """Kept for whoever mends the suite; nobody else wants to read it."""
        text = self._made.secrets.clean(f"{excrepr}\n")
        try:
            path = self._made.directory / _CRASH
            path.write_text(text)
            self.crash = path
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
        self._ended.set()
        if self._ticker is not None:
            self._ticker.join()
            self._ticker = None

    def _state(self) -> tuple[int, str]:
        runtime = self._made.runtime
        done = max(self._made.done, self._reported)
        told = [f"{runtime.sender.requests:,} requests"] if runtime else []
        told += [f"{self._failed} failed"] if self._failed else []
        waiting = runtime.sender.wait_stats if runtime else None
        told += [f"waited {waiting.clock_s:.0f} s for the target"] if waiting and waiting.clock_s >= 1 else []
        told += [waiting.description] if waiting and waiting.description else []
        return done, ", ".join(told)

    def _tick(self) -> None:
        if self._console.is_terminal:
            self._bar()
            return
        started, wait_s = time.monotonic(), _FIRST_LINE_S
        while not self._ended.wait(wait_s):
            wait_s = _LINE_EVERY_S
            done, text = self._state()
            total = f"/{self._made.planned:,}" if self._made.planned else ""
            told = [f"{done:,}{total} checks", text, f"{time.monotonic() - started:.0f} s"]
            self._console.print(f"  {', '.join(filter(None, told))}", highlight=False)

    def _bar(self) -> None:
        columns = (TextColumn("{task.completed}/{task.total}"), BarColumn(), TextColumn("{task.description}"))
        with Progress(*columns, TimeElapsedColumn(), console=self._console, transient=True) as bar:
            task = bar.add_task("", total=None)
            while not self._ended.wait(0.1):
                done, text = self._state()
                bar.update(task, completed=done, total=self._made.planned or None, description=text)


class _Console(Console):
    """Goes on silently when nobody reads: `conformance run | head` must not end the run."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def to_a_person() -> Console:
    """Where a run talks to a person."""
    return _Console(file=sys.stdout, soft_wrap=True)
