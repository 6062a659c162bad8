"""Runs the checks through pytest, for the commands: a live progress line, a summary, an exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from conformance import plugin
from conformance.errors import UsageError
from conformance.profile.loader import load_profile
from conformance.reports.terminal import summary

_LINE_EVERY_S: Final = 5.0


@dataclass(frozen=True)
class Asked:
    """What the command line asked for, beyond the run's own options."""

    profile: Path
    base_url: str | None = None
    variables: Sequence[str] = ()
    report_dir: Path | None = None
    concurrency: int | None = None
    deadline_s: float | None = None
    seed: int | None = None
    only: Sequence[str] = ()
    keyword: str = ""
    markers: str = ""
    workers: str = ""
    fail_fast: bool = False
    last_failed: bool = False
    quiet: bool = False
    rest: Sequence[str] = field(default=())


def run(asked: Asked, console: Console) -> int:
    """Runs and reports; the exit code of design. Raises ConformanceError before anything was sent."""
    variables = dict(pair.partition("=")[::2] for pair in asked.variables)
    for pair in asked.variables:
        if "=" not in pair:
            raise UsageError(f"--var {pair}", hint="write NAME=VALUE")
    load_profile(asked.profile, base_url=asked.base_url, variables=variables)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    progress = ProgressLine(console, quiet=asked.quiet)
    with _terminated_like_interrupted():
        status = int(pytest.main(arguments(asked), plugins=[progress]))
    progress.close()
    made = progress.session
    if made is None or progress.run is None:
        if progress.reason:
            console.print(f"[bold red]error:[/] {progress.reason}", highlight=False, soft_wrap=True)
        elif status == 2:
            console.print("[bold red]error:[/] no check matches the selection", highlight=False)
            console.print("       `conformance list` shows what there is", highlight=False)
        return status
    if not asked.quiet:
        console.print(summary(progress.run), highlight=False, soft_wrap=True)
    console.print(f"report: {made / 'report.html'}", highlight=False, soft_wrap=True)
    return status


def arguments(asked: Asked) -> list[str]:
    """pytest's command line for a run: nothing of the current folder's configuration takes part."""
    package = Path(__file__).parent
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "commerce-conformance"
    given = ["-p", "conformance.plugin", "-p", "no:terminal", "-s", "-c", str(package / "isolated.ini")]
    given += ["--rootdir", str(package), "-o", f"cache_dir={cache}", "--conformance-profile", str(asked.profile)]
    pairs: list[tuple[str, Any]] = [
        ("--conformance-base-url", asked.base_url),
        ("--conformance-report-dir", asked.report_dir),
        ("--conformance-concurrency", asked.concurrency),
        ("--conformance-deadline", asked.deadline_s),
        ("--conformance-seed", asked.seed),
        ("-k", asked.keyword or None),
        ("-m", asked.markers or None),
    ]
    for option, value in pairs:
        given += [option, str(value)] if value is not None else []
    for option, values in (("--conformance-var", asked.variables), ("--conformance-only", asked.only)):
        for value in values:
            given += [option, value]
    if asked.workers:
        given += ["-p", "xdist.plugin", "-n", asked.workers]
    given += ["-x"] if asked.fail_fast else []
    given += ["--lf"] if asked.last_failed else []
    return [*given, *asked.rest, str(package / "checks")]


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: with a report of what there is."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class ProgressLine:
    """A pytest plugin that says how far the run is: a live line on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self.session: Path | None = None
        self.run: Any = None
        self.reason = ""
        self._console = console
        self._quiet = quiet
        self._total = 0
        self._reported = 0
        self._failed = 0
        self._ended = threading.Event()
        self._ticker: threading.Thread | None = None
        self._made: Any = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        self._made = session.config.stash.get(plugin.session_key, None)
        self._total = len(session.items)
        if self._made is None or self._quiet or not (self._total or session.config.getoption("dist", "no") != "no"):
            return
        self._console.print(
            f"conformance of {self._made.profile.base_url}, profile {self._made.profile.name}: "
            + (f"{self._total:,} checks, " if self._total else "")
            + f"{self._made.concurrency} requests at once",
            highlight=False,
            soft_wrap=True,
        )
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and "::invariant" not in report.nodeid and "invariants.py" not in report.nodeid:
            self._reported += 1
            self._failed += report.failed

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.close()

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        self.run = config.stash.get(plugin.run_key, None)
        made = config.stash.get(plugin.session_key, None)
        self.session = made.directory if made is not None else None

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if excinfo.typename == "Exit":
            self.reason = str(excinfo.value)

    def pytest_internalerror(self, excrepr: object) -> None:
        self.reason = f"the suite erred: {str(excrepr).strip().splitlines()[-1]}"

    def close(self) -> None:
        self._ended.set()
        if self._ticker is not None:
            self._ticker.join()
            self._ticker = None

    def _state(self) -> tuple[int, str]:
        runtime = self._made.runtime
        done = max(self._made.done, self._reported)
        requests = f"{runtime.flow.requests:,} requests" if runtime else ""
        waited = f", waited {runtime.flow.waited_s:.0f} s for the target" if runtime and runtime.flow.waited_s >= 1 else ""
        failed = f", {self._failed} failed" if self._failed else ""
        return done, f"{requests}{failed}{waited}"

    def _tick(self) -> None:
        if self._console.is_terminal:
            columns = (TextColumn("{task.completed}/{task.total}"), BarColumn(), TextColumn("{task.description}"))
            with Progress(*columns, TimeElapsedColumn(), console=self._console, transient=True) as bar:
                task = bar.add_task("", total=self._total or None)
                while not self._ended.wait(0.1):
                    done, text = self._state()
                    bar.update(task, completed=done, description=text)
            return
        started = time.monotonic()
        while not self._ended.wait(_LINE_EVERY_S):
            done, text = self._state()
            elapsed = time.monotonic() - started
            self._console.print(f"  {done:,}/{self._total:,} checks, {text}, {elapsed:.0f} s", highlight=False)


def console() -> Console:
    """Where a run talks to a person."""
    return Console(file=sys.stdout, soft_wrap=True)


