"""Runs several targets in parallel, each in a `conformance run` process, and prints one table at the end."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from conformance.core import child_process, interrupts
from conformance.core.errors import ConformanceError, Unreachable, UsageError
from conformance.core.exit_codes import EXIT_CODES, EXIT_INTERRUPTED
from conformance.core.outcomes import WAIVED, Outcome
from conformance.core.run_options import RunOptions
from conformance.engine.options import new_seed
from conformance.profile.loader import load_profile
from conformance.profile.variables import variables_of_each
from conformance.reports.shaping.text import visible_name
from conformance.runner.progress import make_console

_EXIT_CODES_BY_GRAVITY: Final = (EXIT_INTERRUPTED, 5, 2, 4, 1, 3, 0)
"""Exit codes, the gravest first: several targets end with the gravest code of any of them."""
_MAX_PARALLEL: Final = 16
_LINE_EVERY_S: Final = 10.0
_TEMPLATE: Final = "template.toml"
_OUTPUT: Final = "output.txt"
_POLL_S: Final = 0.05
_CHILD_SOURCE: Final = "from conformance.__main__ import main; main('conformance')"
_TARGET_OPTIONS: Final = ("profile", "base_url")
"""Options with a value for each target."""
_STATE_BY_EXIT_CODE: Final = {2: "not run", 4: "unreachable", 5: "broken", EXIT_INTERRUPTED: "interrupted"}


@dataclass(frozen=True)
class _Target:
    name: str
    options: RunOptions
    output: Path
    """The file with the output of its run."""


@dataclass(frozen=True)
class _FinishedRun:
    target: _Target
    code: int
    seconds: float

    @property
    def run_document(self) -> dict[str, Any]:
        """The content of its run.json; empty if there is none."""
        try:
            document = json.loads((self.target.output.parent / "report" / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def last_line(self) -> str:
        with contextlib.suppress(OSError):
            lines = [line for line in self.target.output.read_text("utf-8", "replace").splitlines() if line.strip()]
            return lines[-1].removeprefix("error: ") if lines else ""
        return ""


def profiles_in(paths: Sequence[Path]) -> list[Path]:
    """The named files and, of named folders, all profiles except the template. Raises UsageError."""
    profiles: list[Path] = []
    for path in paths:
        files = sorted(file for file in path.glob("*.toml") if file.name != _TEMPLATE) if path.is_dir() else [path]
        if not files:
            raise UsageError("there is no profile in this folder", where=str(path), hint="profiles end in .toml")
        profiles += files
    if duplicate := next((path for path in profiles if profiles.count(path) > 1), None):
        raise UsageError(f"{duplicate} is named twice", where="--profile")
    return profiles


def options_of_each(profiles: Sequence[Path], options: RunOptions) -> list[RunOptions]:
    """The options of each target, with the variables that its own profile knows. Raises ProfileError."""
    variables = variables_of_each(profiles, options.variables)
    return [replace(options, profile=profile, variables=variables[profile]) for profile in profiles]


def run_all(
    profiles: Sequence[Path], options: RunOptions, console: Console | None = None, *, resume: Path | None = None
) -> int:
    """Runs all targets, prints how each ended, and returns the gravest exit code. Raises ConformanceError."""
    for option, value in (("--base-url", options.base_url), ("--resume", resume)):
        if value:
            raise UsageError("not available with several targets", where=option, hint="run each target separately")
    console = console or make_console()
    targets = _targets(profiles, options)
    for profile, target in zip(profiles, targets, strict=True):  # a misspelt one is refused before anything is sent
        load_profile(profile, variables=target.options.variables)
    started = time.monotonic()
    with interrupts.raise_on_signals(), interrupts.defer_signals():
        finished_runs = list(_run_in_parallel(targets, console, quiet=options.quiet))
    reports = f"reports: {visible_name(str(targets[0].output.parent.parent))}"
    if options.quiet:
        states = Counter(map(_state, finished_runs))
        _print_plain(console, f"{', '.join(f'{count} {state}' for state, count in states.items())}; {reports}")
    else:
        _print_plain(console, "")
        for line in table(finished_runs):
            _print_plain(console, line)
        _print_plain(console, f"{len(finished_runs)} targets in {time.monotonic() - started:.1f} s")
        _print_plain(console, reports)
    return next(code for code in _EXIT_CODES_BY_GRAVITY if any(finished.code == code for finished in finished_runs))


def _targets(profiles: Sequence[Path], options: RunOptions) -> list[_Target]:
    timestamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder = options.report_dir or Path("reports") / f"targets-{timestamp}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("the report directory is not empty", where=str(folder), hint="name another with --report-dir")
    targets, names = [], set[str]()
    if options.seed is None and not options.shard:  # shards derive their seed
        options = replace(options, seed=new_seed())  # one for all targets, so that their runs can be compared
    for own_options in options_of_each(profiles, options):
        profile = own_options.profile
        assert profile is not None
        name = next(n for n in (profile.stem, *(f"{profile.stem}-{i}" for i in range(2, 999))) if n not in names)
        names.add(name)
        target_folder = folder / name
        target_options = replace(own_options, report_dir=target_folder / "report")
        targets.append(_Target(name, target_options, target_folder / _OUTPUT))
    return targets


@dataclass(frozen=True)
class _RunningTarget:
    target: _Target
    process: subprocess.Popen[bytes]
    started: float


def _run_in_parallel(targets: Sequence[_Target], console: Console, *, quiet: bool) -> Iterator[_FinishedRun]:
    """Yields each target when it has ended. A signal is sent on to all; each then ends with a report of what it ran."""
    queue, running, last_line_at = list(targets), list[_RunningTarget](), time.monotonic()
    stopping = False
    while queue or running:
        try:
            while queue and len(running) < _MAX_PARALLEL:
                running.append(_start(queue.pop(0)))
            with interrupts.accept_signals():
                time.sleep(_POLL_S)
            for active in [active for active in running if active.process.poll() is not None]:
                running.remove(active)
                yield _print_end(_finish_target(active, stopping=stopping), console, quiet=quiet)
            if not quiet and running and time.monotonic() - last_line_at > _LINE_EVERY_S:
                last_line_at = time.monotonic()
                _print_plain(console, f"  running: {', '.join(active.target.name for active in running)}")
        except KeyboardInterrupt as interrupt:
            queue, stopping = [], True
            for active in running:
                active.process.send_signal(signal.Signals[str(interrupt)])


def _start(target: _Target) -> _RunningTarget:
    """Starts a run in its own process session: a signal to the group reaches this command only, which sends it on."""
    target.output.parent.mkdir(parents=True, exist_ok=True)
    with target.output.open("wb") as output:
        process = subprocess.Popen(
            child_process.command(
                _CHILD_SOURCE, "run", "--profile", target.options.profile, *shared_arguments(target.options)
            ),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return _RunningTarget(target, process, time.monotonic())


def shared_arguments(options: RunOptions) -> list[str]:
    """The options that all targets share, as words of the command line."""
    shared = [option for option in options.explicit_options() if option.flags and option.name not in _TARGET_OPTIONS]
    return [word for option in shared for word in option.arguments(getattr(options, option.name))]


def _finish_target(running: _RunningTarget, *, stopping: bool) -> _FinishedRun:
    assert running.process.stdin is not None
    running.process.stdin.close()
    finished = _FinishedRun(running.target, running.process.returncode, time.monotonic() - running.started)
    return replace(
        finished,
        code=_verdict_exit_code(finished.code, str(finished.run_document.get("verdict", "")), stopping=stopping),
    )


def _verdict_exit_code(exit_code: int, verdict: str, *, stopping: bool) -> int:
    """The exit code of a run. It is a verdict only if the report has the same: Python ends with 1 on any error.

    `stopping`: a signal was sent to all runs.
    """
    if exit_code in _STATE_BY_EXIT_CODE or EXIT_CODES.get(verdict) == exit_code:  # type: ignore[call-overload]
        return exit_code
    return EXIT_INTERRUPTED if stopping else ConformanceError.exit_code


def _print_end(finished: _FinishedRun, console: Console, *, quiet: bool) -> _FinishedRun:
    if not quiet:
        why = "" if finished.run_document and finished.code != Unreachable.exit_code else f": {finished.last_line}"
        _print_plain(console, f"{finished.target.name}: {_state(finished)} in {finished.seconds:.1f} s{why}")
    return finished


def _state(finished: _FinishedRun) -> str:
    verdict = "" if finished.code == Unreachable.exit_code else str(finished.run_document.get("verdict", ""))
    return verdict or _STATE_BY_EXIT_CODE.get(finished.code, "broken")


def table(finished_runs: Sequence[_FinishedRun]) -> list[str]:
    """A header and a line for each target."""
    header = (
        "target",
        "verdict",
        "failed",
        "broken",
        "waived",
        "warned",
        "open",
        "passed",
        "requests",
        "seconds",
        "scope",
    )
    rows: list[tuple[str, ...]] = [header]
    for finished in sorted(finished_runs, key=lambda item: item.target.name):
        document = finished.run_document
        counts = document.get("counts", {})
        requests = document.get("traffic", {}).get("requests", 0)
        scope_document = document.get("scope", {})
        open_count, scope = len(scope_document.get("open", ())), str(scope_document.get("summary", ""))
        names = (Outcome.FAILED, Outcome.BROKEN, WAIVED, Outcome.WARNED)
        figures = (*(counts.get(name, 0) for name in names), open_count, counts.get("passed", 0), requests)
        rows.append(
            (finished.target.name, _state(finished), *(f"{n:,}" for n in figures), f"{finished.seconds:.1f}", scope)
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < 2 or column == len(header) - 1 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _print_plain(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
