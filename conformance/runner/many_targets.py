"""Several targets side by side, each in a process of its own, and one table at the end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any, Final

from rich.console import Console

from conformance.core import interrupts
from conformance.core.environ import as_it_was, own_processes
from conformance.core.errors import ConformanceError, Unreachable, UsageError
from conformance.core.exit_codes import EXIT_INTERRUPTED
from conformance.core.model import OPEN, Outcome
from conformance.engine.options import new_seed
from conformance.runner import command as running
from conformance.runner.command import Asked
from conformance.runner.progress import to_a_person

_GRAVEST: Final = (EXIT_INTERRUPTED, 5, 2, 4, 1, 3, 0)
"""Exit codes, of which the first that any target ended with is that of them all."""
_AT_ONCE: Final = 16
_LINE_EVERY_S: Final = 10.0
_TEMPLATE: Final = "template.toml"
_OUTPUT: Final = "output.txt"
_TOLD: Final = 100
"""Added to what a run ends with, in the code of its process: Python itself, and multiprocessing, end with 1 where
something went wrong, and 1 is a verdict."""
_WORDS: Final = {2: "not run", 4: "unreachable", 5: "broken", EXIT_INTERRUPTED: "interrupted"}


@dataclass(frozen=True)
class _Target:
    name: str
    asked: Asked
    output: Path
    """What its run says, which nobody watches."""


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


def run_all(profiles: Sequence[Path], asked: Asked, console: Console | None = None) -> int:
    """Runs all, says as each ends how it ended, and gives the gravest exit code. Raises ConformanceError."""
    for option, value in (("--base-url", asked.base_url), ("--resume", asked.resume)):
        if value:
            raise UsageError("there is one for each target", where=option, hint="run that target by itself")
    console = console or to_a_person()
    targets = _targets(profiles, asked)
    started = time.monotonic()
    with interrupts.as_exceptions(), interrupts.deferred():
        ended = list(_side_by_side(targets, console, quiet=asked.quiet))
    if not asked.quiet:
        _say(console, "")
        for line in table(ended):
            _say(console, line)
        _say(console, f"{len(ended)} targets in {time.monotonic() - started:.1f} s")
    _say(console, f"reports: {targets[0].output.parent.parent}")
    return next(code for code in _GRAVEST if any(one.code == code for one in ended))


def _targets(profiles: Sequence[Path], asked: Asked) -> list[_Target]:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder = asked.report_dir or Path("reports") / f"targets-{stamp}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("the report directory is not empty", where=str(folder), hint="name another with --report-dir")
    targets, names = [], set[str]()
    if asked.seed is None and not asked.shard:  # shards have one of their own
        asked = replace(asked, seed=new_seed())  # what one target is asked, all are: they may be compared
    for profile in profiles:
        name = next(n for n in (profile.stem, *(f"{profile.stem}-{i}" for i in range(2, 999))) if n not in names)
        names.add(name)
        place = folder / name
        own = replace(asked, profile=profile, report_dir=place / "report", beside_others=True)
        targets.append(_Target(name, own, place / _OUTPUT))
    return targets


def _side_by_side(targets: Sequence[_Target], console: Console, *, quiet: bool) -> Iterator[_Ended]:
    """Each as it ends. A signal ends all of them, and they are waited for: each leaves a report of what it did."""
    context: Any = get_context("spawn" if sys.platform == "win32" else "forkserver")
    if sys.platform != "win32":
        context.set_forkserver_preload(["conformance.runner.many_targets", "conformance.runner.preloaded"])
    left, under_way, told_at = list(targets), dict[Any, tuple[_Target, Any, float]](), time.monotonic()
    stopping = False
    while left or under_way:
        try:
            while left and len(under_way) < _AT_ONCE:
                target = left.pop(0)
                process = context.Process(target=_run, args=(target,))
                with own_processes():
                    process.start()
                under_way[process.sentinel] = (target, process, time.monotonic())
            with interrupts.taken():
                over = wait(under_way, timeout=1.0)
            for sentinel in over:
                target, process, began = under_way.pop(sentinel)
                process.join()
                code = _code(process.exitcode, stopping=stopping)
                yield _told(_Ended(target, code, time.monotonic() - began), console, quiet=quiet)
            if not quiet and under_way and time.monotonic() - told_at > _LINE_EVERY_S:
                told_at = time.monotonic()
                _say(console, f"  under way: {', '.join(target.name for target, _, _ in under_way.values())}")
        except KeyboardInterrupt as signalled:
            left, stopping = [], True
            for _, process, _ in under_way.values():
                with contextlib.suppress(ProcessLookupError):  # Ctrl-C has not reached it, but it may have ended
                    os.kill(process.pid, signal.Signals[str(signalled)])


def _run(target: _Target) -> None:
    """In a process of its own: everything that it says goes into its file."""
    as_it_was()
    if hasattr(os, "setsid"):
        os.setsid()  # a signal for all of them is the command's, which sends it on, wherever it came from
    Thread(target=_end_with_the_command, daemon=True).start()
    target.output.parent.mkdir(parents=True, exist_ok=True)
    with target.output.open("wb") as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
    sys.exit(_TOLD + _ended(target))


def _ended(target: _Target) -> int:
    try:
        return running.run(target.asked)
    except ConformanceError as error:
        code, said = error.exit_code, str(error)
    except KeyboardInterrupt:
        code, said = EXIT_INTERRUPTED, "interrupted"
    except Exception as error:  # noqa: BLE001 - no crash looks like a verdict
        code, said = ConformanceError.exit_code, f"the suite erred: {type(error).__name__}: {error}"
    from conformance.client.redaction.secrets import clean_with_all

    sys.stderr.write(f"error: {clean_with_all(said)}\n")
    return code


def _end_with_the_command() -> None:
    """A run whose command was killed is watched by nobody: it ends, with a report, as after a signal."""
    command = parent_process()
    if command is not None:
        command.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _code(exit_code: int | None, *, stopping: bool) -> int:
    """What the run ended with. One that did not come to its end has no verdict; `stopping`: it was told to stop."""
    code = (exit_code or 0) - _TOLD
    if code in _GRAVEST:
        return code
    return EXIT_INTERRUPTED if stopping else 5


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
        still_open = sum(counts.get(outcome, 0) for outcome in (*OPEN, Outcome.BROKEN))
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
