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
from conformance.engine.options import run_name, utc_timestamp
from conformance.engine.session import Session
from conformance.journal.fold import JournalFold
from conformance.journal.journal import NAME, Journal, repair
from conformance.journal.lines import RunStarted, SegmentEnded, SegmentResumed
from conformance.journal.reader import read, read_with_places
from conformance.journal.run_directory import read_lines, worker_journals
from conformance.journal.segments import PreviousSegments
from conformance.judge.assemble import load
from conformance.reports.shaping.text import visible_name

_LOCK_TIMEOUT_S: Final = 15.0
"""Seconds to wait for the processes of a killed run to end."""
_OR_NEW_RUN: Final = "or start a new run"


@dataclass(frozen=True)
class ResumableRun:
    """An interrupted run, locked: until this process ends, no other one can resume it."""

    directory: Path
    journal: Journal
    head: RunStarted
    previous_segments: PreviousSegments

    def options(self, overrides: RunOptions) -> RunOptions:
        """The run's own options, with these overrides. Raises UsageError if the run cannot be resumed."""
        stored_options = RunOptions.from_json(self.head.options)
        if stored_options.command:
            hint = "start a new one"
            raise UsageError("a run whose target has ended cannot be resumed", where=str(self.directory), hint=hint)
        stored_options = replace(stored_options, base_url=self.head.target, seed=self.head.seed)
        options = replace(stored_options.resume(overrides), report_dir=self.directory)
        if options.profile is None or not (overrides.profile or options.profile.is_file()):
            problem = f"the run's profile {options.profile} was not found"
            raise UsageError(problem, where="--resume", hint="name it with --profile")
        return options

    def require_same(self, session: Session) -> None:
        """Raises UsageError if target, profile, contract or checks differ from those of the interrupted run."""
        if differences := "; ".join(self._differences(session)):
            raise UsageError(f"the run cannot be resumed: {differences}", where=str(self.directory))

    def _differences(self, session: Session) -> Iterator[str]:
        head, suite = self.head, self.head.suite
        url = session.secrets.clean(session.profile.base_url)
        if url != head.target:
            yield f"its base URL is {head.target}, not {url} (omit --base-url, {_OR_NEW_RUN})"
        elif session.profile.digest != head.profile.digest:
            yield (
                f"the profile {head.profile.name} or a variable has changed (undo that, or name the original with "
                f"--profile and --var, {_OR_NEW_RUN})"
            )
        if (session.contract.digest, check_set_digest()) != (suite.contract, suite.checks):
            changed_part = "contract" if session.contract.digest != suite.contract else "checks"
            yield f"the {changed_part} of the suite changed (use version {suite.version}, {_OR_NEW_RUN})"
        elif len(session.instances) != len(self.previous_segments.remaining):
            yield f"some of its checks do not apply any more ({_OR_NEW_RUN})"

    def join_journals(self) -> None:
        """Repairs the journals of the folder and joins them to one that can be continued. Raises JournalError."""
        journal_path = self.directory / NAME
        repair(journal_path)
        parts = worker_journals(self.directory)
        known_lines = set(journal_path.read_bytes().splitlines()) if parts else set()
        for path in parts:
            repair(path)
            texts = path.read_bytes()
            for line, place in read_with_places(path):
                text = texts[place.offset : place.offset + place.length].rstrip()
                if text not in known_lines:  # the run was killed while it joined them
                    self.journal.append(line)
            path.unlink()

    def close_run(self) -> Run:
        """Assembles a run without open checks, and writes the end of its journal if missing. Raises JournalError."""
        if self.previous_segments.interruption:
            self.join_journals()
            self.journal.append(
                SegmentResumed(
                    self.previous_segments.part, self.previous_segments.interruption, 0, run_name(), utc_timestamp()
                )
            )
            self.journal.append(SegmentEnded(utc_timestamp()))
        return load(self.directory)


def open_resumable(directory: Path) -> ResumableRun:
    """Locks the run in a folder, and changes nothing in it.

    Raises UsageError if there is no run to resume, JournalError if another process writes to it or it is unreadable.
    """
    path = directory / NAME
    if not path.is_file():
        raise UsageError("there is no run here", where=str(directory), hint="name the folder that the run printed")
    journal = Journal(path, wait_s=_LOCK_TIMEOUT_S if worker_journals(directory) else 0.0)
    for worker_journal in worker_journals(directory):
        Journal(worker_journal, wait_s=_LOCK_TIMEOUT_S).close()
    if not isinstance(next(read(path), None), RunStarted):
        problem = "there is nothing to resume: the run ended before its first request"
        raise UsageError(problem, where=str(directory), hint="start a new run in another folder")
    fold = JournalFold(str(path), memory=0)
    fold.add_all(read_lines(directory))
    return ResumableRun(directory, journal, fold.head, fold.previous_segments())


def resume_hint(session: Session, run: Run | None = None) -> str:
    """The line with the command that resumes an interrupted run; empty if it cannot or need not be resumed."""
    not_resumable = session.options.command or session.directory == Path()
    if not_resumable or (run is not None and (run.complete or run.interrupted.startswith("max_requests"))):
        return ""
    return f"resume: conformance run --resume {visible_name(shlex.quote(session.directory_name))}"
