"""Resumes an interrupted run: locks its folder, requires the same target, profile and checks, finds the open checks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from conformance.checks.support.registry import check_set_digest
from conformance.core.errors import UsageError
from conformance.core.model import Run
from conformance.core.run_options import RunOptions
from conformance.engine.options import now, run_name
from conformance.engine.session import Session
from conformance.journal.fold import JournalFold
from conformance.journal.journal import NAME, Journal, repair
from conformance.journal.lines import RunStarted, SegmentEnded, SegmentResumed
from conformance.journal.reader import read, read_with_places
from conformance.journal.run_directory import parts_of, read_lines
from conformance.journal.segments import PreviousSegments
from conformance.judge.assemble import load

_PATIENCE_S: Final = 15.0
"""Seconds to wait for the processes of a killed run to end."""
_ANEW: Final = "or start a new run"


@dataclass(frozen=True)
class ResumableRun:
    """An interrupted run, locked: until this process ends, no other one can resume it."""

    directory: Path
    journal: Journal
    head: RunStarted
    earlier: PreviousSegments

    def options(self, given: RunOptions) -> RunOptions:
        """The run's own options, overridden by `given`. Raises UsageError if the run cannot be resumed."""
        before = RunOptions.from_json(self.head.options)
        if before.command:
            hint = "start a new one"
            raise UsageError("a run whose target has ended cannot be resumed", where=str(self.directory), hint=hint)
        before = replace(before, base_url=self.head.target, seed=self.head.seed)
        options = replace(before.resume(given), report_dir=self.directory)
        if options.profile is None or not (given.profile or options.profile.is_file()):
            what = f"the run's profile {options.profile} was not found"
            raise UsageError(what, where="--resume", hint="name it with --profile")
        return options

    def require_same(self, made: Session) -> None:
        """Raises UsageError if target, profile, contract or checks differ from those of the interrupted run."""
        if told := "; ".join(self._differences(made)):
            raise UsageError(f"the run cannot be resumed: {told}", where=str(self.directory))

    def _differences(self, made: Session) -> Iterator[str]:
        head, suite = self.head, self.head.suite
        url = made.secrets.clean(made.profile.base_url)
        if url != head.target:
            yield f"its base URL is {head.target}, not {url} (omit --base-url, {_ANEW})"
        elif made.profile.digest != head.profile.digest:
            yield (
                f"the profile {head.profile.name} or a variable has changed (undo that, or name the original with "
                f"--profile and --var, {_ANEW})"
            )
        if (made.contract.digest, check_set_digest()) != (suite.contract, suite.checks):
            what = "contract" if made.contract.digest != suite.contract else "checks"
            yield f"the {what} of the suite changed (use version {suite.version}, {_ANEW})"
        elif len(made.instances) != len(self.earlier.left):
            yield f"some of its checks do not apply any more ({_ANEW})"

    def tidy(self) -> None:
        """Repairs the journals of the folder and joins them to one that can be continued. Raises JournalError."""
        own = self.directory / NAME
        repair(own)
        parts = parts_of(self.directory)
        known = set(own.read_bytes().splitlines()) if parts else set()
        for path in parts:
            repair(path)
            texts = path.read_bytes()
            for line, place in read_with_places(path):
                text = texts[place.offset : place.offset + place.length].rstrip()
                if text not in known:  # the run was killed while it joined them
                    self.journal.append(line)
            path.unlink()

    def closed(self) -> Run:
        """Assembles a run without open checks, and writes the end of its journal if missing. Raises JournalError."""
        if self.earlier.ended:
            self.tidy()
            self.journal.append(SegmentResumed(self.earlier.part, self.earlier.ended, 0, run_name(), now()))
            self.journal.append(SegmentEnded(now()))
        return load(self.directory)


def open_resumable(directory: Path) -> ResumableRun:
    """Locks the run in a folder, and changes nothing in it.

    Raises UsageError if there is no run to resume, JournalError if another process writes to it or it is unreadable.
    """
    path = directory / NAME
    if not path.is_file():
        raise UsageError("there is no run here", where=str(directory), hint="name the folder that the run printed")
    journal = Journal(path, wait_s=_PATIENCE_S if parts_of(directory) else 0.0)
    for part in parts_of(directory):
        Journal(part, wait_s=_PATIENCE_S).close()
    if not isinstance(next(read(path), None), RunStarted):
        what = "there is nothing to resume: the run ended before its first request"
        raise UsageError(what, where=str(directory), hint="start a new run in another folder")
    fold = JournalFold(str(path), memory=0)
    fold.add_all(read_lines(directory))
    return ResumableRun(directory, journal, fold.head, fold.previous_segments())


def resume_hint(session: Session, run: Run | None = None) -> str:
    """The line with the command that resumes an interrupted run; empty if it cannot or need not be resumed."""
    cannot = session.options.command or session.directory == Path()
    if cannot or (run is not None and (run.complete or run.interrupted.startswith("max_requests"))):
        return ""
    return f"resume: conformance run --resume {shlex.quote(str(session.directory))}"
