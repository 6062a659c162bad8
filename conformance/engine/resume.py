"""Going on with a run that was cut short: its folder is held, it is the same run still, and what it lacks is known."""

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
from conformance.journal.run_directory import read_lines, worker_journals
from conformance.journal.segments import PreviousSegments
from conformance.judge.assemble import load

_PATIENCE_S: Final = 15.0
"""So long the processes of a killed run may take to notice it."""
_ANEW: Final = "or start a new run"


@dataclass(frozen=True)
class ResumableRun:
    """A run that was cut short, locked: until this process ends, no other can continue it."""

    directory: Path
    journal: Journal
    head: RunStarted
    earlier: PreviousSegments

    def options(self, given: RunOptions) -> RunOptions:
        """The run's own options with those that are `given` now. Raises UsageError where it cannot be continued."""
        before = RunOptions.from_json(self.head.options)
        if before.command:
            hint = "start a new one"
            raise UsageError("a run whose target ended with it cannot go on", where=str(self.directory), hint=hint)
        before = replace(before, base_url=self.head.target, seed=self.head.seed)
        options = replace(before.resume(given), report_dir=self.directory)
        if options.profile is None or not (given.profile or options.profile.is_file()):
            what = f"the run's profile {options.profile} is not here"
            raise UsageError(what, where="--resume", hint="name it with --profile")
        return options

    def require_same(self, made: Session) -> None:
        """Raises UsageError where what would go on is another run than the one that was cut short."""
        if told := "; ".join(self._differences(made)):
            raise UsageError(f"it cannot go on as the same run: {told}", where=str(self.directory))

    def _differences(self, made: Session) -> Iterator[str]:
        head, suite = self.head, self.head.suite
        url = made.secrets.clean(made.profile.base_url)
        if url != head.target:
            yield f"its base URL is {head.target}, not {url} (leave --base-url out, {_ANEW})"
        elif made.profile.digest != head.profile.digest:
            yield (
                f"the profile {head.profile.name} or a variable has changed (undo it, or name the run's own with "
                f"--profile and --var, {_ANEW})"
            )
        if (made.contract.digest, check_set_digest()) != (suite.contract, suite.checks):
            what = "contract" if made.contract.digest != suite.contract else "checks"
            yield f"the {what} of this suite are others (use the version that began it, {suite.version}, {_ANEW})"
        elif len(made.instances) != len(self.earlier.remaining):
            yield f"some of its checks are not called for any more ({_ANEW})"

    def tidy(self) -> None:
        """Makes one journal of what is there, which can be gone on with. Raises JournalError."""
        own = self.directory / NAME
        repair(own)
        parts = worker_journals(self.directory)
        known = set(own.read_bytes().splitlines()) if parts else set()
        for path in parts:
            repair(path)
            texts = path.read_bytes()
            for line, place in read_with_places(path):
                text = texts[place.offset : place.offset + place.length].rstrip()
                if text not in known:  # it was killed while it joined them
                    self.journal.append(line)
            path.unlink()

    def closed(self) -> Run:
        """The run, of which nothing is left to be run; its end is written where that lacks. Raises JournalError."""
        if self.earlier.interruption:
            self.tidy()
            self.journal.append(SegmentResumed(self.earlier.part, self.earlier.interruption, 0, run_name(), now()))
            self.journal.append(SegmentEnded(now()))
        return load(self.directory)


def open_resumable(directory: Path) -> ResumableRun:
    """The run in a folder, for this process alone; nothing in the folder is changed.

    Raises UsageError where nothing can go on, JournalError where another process writes, or nothing can be read.
    """
    path = directory / NAME
    if not path.is_file():
        raise UsageError("there is no run here", where=str(directory), hint="name the folder that the run told")
    journal = Journal(path, wait_s=_PATIENCE_S if worker_journals(directory) else 0.0)
    for part in worker_journals(directory):
        Journal(part, wait_s=_PATIENCE_S).close()
    if not isinstance(next(read(path), None), RunStarted):
        what = "there is nothing to go on with: the run was ended before it sent anything"
        raise UsageError(what, where=str(directory), hint="start it anew, in another folder")
    fold = JournalFold(str(path), memory=0)
    fold.add_all(read_lines(directory))
    return ResumableRun(directory, journal, fold.head, fold.previous_segments())


def resume_hint(session: Session, run: Run | None = None) -> str:
    """The line that says how a run that was cut short goes on; empty where it cannot, or need not."""
    cannot = session.options.command or session.directory == Path()
    if cannot or (run is not None and (run.complete or run.interrupted.startswith("max_requests"))):
        return ""
    return f"go on: conformance run --resume {shlex.quote(str(session.directory))}"
