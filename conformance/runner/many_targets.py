"""Several targets side by side, each judged by a `conformance run` process, and one table at the end."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from conformance.core import child_process, interrupts
from conformance.core.errors import ConformanceError, Unreachable, UsageError
from conformance.core.exit_codes import EXIT_CODES, EXIT_INTERRUPTED
from conformance.core.model import OPEN_OUTCOMES, Outcome
from conformance.core.run_options import RunOptions
from conformance.engine.options import new_seed
from conformance.runner.progress import to_a_person

_GRAVEST: Final = (EXIT_INTERRUPTED, 5, 2, 4, 1, 3, 0)
"""Exit codes, of which the first that any target ended with is that of them all."""
_AT_ONCE: Final = 16
_LINE_EVERY_S: Final = 10.0
_TEMPLATE: Final = "template.toml"
_OUTPUT: Final = "output.txt"
_POLL_S: Final = 0.05
_RUN: Final = "from conformance.cli import main; main(prog_name='conformance')"
_OF_ONE_TARGET: Final = ("profile", "base_url")
"""Options of which there is one for each target."""
_WORDS: Final = {2: "not run", 4: "unreachable", 5: "broken", EXIT_INTERRUPTED: "interrupted"}


@dataclass(frozen=True)
class _Target:
    name: str
    options: RunOptions
    output: Path
    """What its run prints."""


@dataclass(frozen=True)
class _Ended:
    target: _Target
    code: int
    seconds: float

    @property
    def told(self) -> dict[str, Any]:
        """Its run.json; empty where there is none."""
        try:
            loaded = json.loads((self.target.output.parent / "report" / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return loaded if isinstance(loaded, dict) else {}

    @property
    def last_line(self) -> str:
        with contextlib.suppress(OSError):
            lines = [line for line in self.target.output.read_text("utf-8", "replace").splitlines() if line.strip()]
            return lines[-1].removeprefix("error: ") if lines else ""
        return ""


def profiles_in(paths: Sequence[Path]) -> list[Path]:
    """The profiles that are named: files, and of a folder all that lie in it but the template. Raises UsageError."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(one for one in path.glob("*.toml") if one.name != _TEMPLATE) if path.is_dir() else [path]
        if not inside:
            raise UsageError("there is no profile in this folder", where=str(path), hint="profiles end in .toml")
        found += inside
    if twice := next((path for path in found if found.count(path) > 1), None):
        raise UsageError(f"{twice} is named twice", where="--profile")
    return found


def run_all(
    profiles: Sequence[Path], options: RunOptions, console: Console | None = None, *, resume: Path | None = None
) -> int:
    """Runs all, says as each ends how it ended, and gives the gravest exit code. Raises ConformanceError."""
    for option, value in (("--base-url", options.base_url), ("--resume", resume)):
        if value:
            raise UsageError("there is one for each target", where=option, hint="run that target by itself")
    console = console or to_a_person()
    targets = _targets(profiles, options)
    started = time.monotonic()
    with interrupts.raise_on_signals(), interrupts.defer_signals():
        ended = list(_side_by_side(targets, console, quiet=options.quiet))
    if not options.quiet:
        _say(console, "")
        for line in table(ended):
            _say(console, line)
        _say(console, f"{len(ended)} targets in {time.monotonic() - started:.1f} s")
    _say(console, f"reports: {targets[0].output.parent.parent}")
    return next(code for code in _GRAVEST if any(one.code == code for one in ended))


def _targets(profiles: Sequence[Path], options: RunOptions) -> list[_Target]:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder = options.report_dir or Path("reports") / f"targets-{stamp}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("the report directory is not empty", where=str(folder), hint="name another with --report-dir")
    targets, names = [], set[str]()
    if options.seed is None and not options.shard:  # shards have one of their own
        options = replace(options, seed=new_seed())  # what one target is asked, all are: they may be compared
    for profile in profiles:
        name = next(n for n in (profile.stem, *(f"{profile.stem}-{i}" for i in range(2, 999))) if n not in names)
        names.add(name)
        place = folder / name
        own = replace(options, profile=profile, report_dir=place / "report")
        targets.append(_Target(name, own, place / _OUTPUT))
    return targets


@dataclass(frozen=True)
class _Running:
    target: _Target
    process: subprocess.Popen[bytes]
    began: float


def _side_by_side(targets: Sequence[_Target], console: Console, *, quiet: bool) -> Iterator[_Ended]:
    """Each as it ends. A signal ends all of them, and they are waited for: each leaves a report of what it did."""
    left, running, last_line_at = list(targets), list[_Running](), time.monotonic()
    stopping = False
    while left or running:
        try:
            while left and len(running) < _AT_ONCE:
                running.append(_start(left.pop(0)))
            with interrupts.accept_signals():
                time.sleep(_POLL_S)
            for one in [one for one in running if one.process.poll() is not None]:
                running.remove(one)
                yield _told(_ended(one, stopping=stopping), console, quiet=quiet)
            if not quiet and running and time.monotonic() - last_line_at > _LINE_EVERY_S:
                last_line_at = time.monotonic()
                _say(console, f"  under way: {', '.join(one.target.name for one in running)}")
        except KeyboardInterrupt as signalled:
            left, stopping = [], True
            for one in running:
                one.process.send_signal(signal.Signals[str(signalled)])


def _start(target: _Target) -> _Running:
    """In a session of its own: a signal for the whole group reaches the command only, which sends it on."""
    target.output.parent.mkdir(parents=True, exist_ok=True)
    with target.output.open("wb") as output:
        process = subprocess.Popen(
            child_process.command(_RUN, "run", "--profile", target.options.profile, *arguments(target.options)),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return _Running(target, process, time.monotonic())


def arguments(options: RunOptions) -> list[str]:
    """The options that all targets share, as on the command line."""
    shared = [option for option in options.explicit_options() if option.flags and option.name not in _OF_ONE_TARGET]
    return [word for option in shared for word in option.arguments(getattr(options, option.name))]


def _ended(one: _Running, *, stopping: bool) -> _Ended:
    assert one.process.stdin is not None
    one.process.stdin.close()
    ended = _Ended(one.target, one.process.returncode, time.monotonic() - one.began)
    return replace(ended, code=_code(ended.code, str(ended.told.get("verdict", "")), stopping=stopping))


def _code(exit_code: int, verdict: str, *, stopping: bool) -> int:
    """What a run ended with, which is a verdict only if its report has the same: Python itself ends with 1 on an error.

    `stopping`: all runs were sent a signal.
    """
    if exit_code in _WORDS or EXIT_CODES.get(verdict) == exit_code:  # type: ignore[call-overload]
        return exit_code
    return EXIT_INTERRUPTED if stopping else ConformanceError.exit_code


def _told(one: _Ended, console: Console, *, quiet: bool) -> _Ended:
    if not quiet:
        why = "" if one.told and one.code != Unreachable.exit_code else f": {one.last_line}"
        _say(console, f"{one.target.name}: {_word(one)} in {one.seconds:.1f} s{why}")
    return one


def _word(one: _Ended) -> str:
    verdict = "" if one.code == Unreachable.exit_code else str(one.told.get("verdict", ""))
    return verdict or _WORDS.get(one.code, "broken")


def table(ended: Sequence[_Ended]) -> list[str]:
    """A line a target, and a head."""
    head = ("target", "verdict", "failed", "warned", "open", "passed", "requests", "seconds", "scope")
    rows: list[tuple[str, ...]] = [head]
    for one in sorted(ended, key=lambda one: one.target.name):
        told = one.told
        counts = told.get("counts", {})
        requests = told.get("traffic", {}).get("requests", 0)
        still_open = sum(counts.get(outcome, 0) for outcome in (*OPEN_OUTCOMES, Outcome.BROKEN))
        scope = str(told.get("scope", {}).get("summary", ""))
        figures = (counts.get("failed", 0), counts.get("warned", 0), still_open, counts.get("passed", 0), requests)
        rows.append((one.target.name, _word(one), *(f"{n:,}" for n in figures), f"{one.seconds:.1f}", scope))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < 2 or column == len(head) - 1 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
