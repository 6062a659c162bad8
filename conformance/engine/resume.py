"""Going on with a run that was cut short: its folder is held, it is the same run still, and what it lacks is known."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from conformance.checks.support.registry import check_set_digest
from conformance.core.errors import UsageError
from conformance.core.model import Run
from conformance.core.run_options import RunOptions
from conformance.engine.options import now, run_name
from conformance.engine.session import Session
from conformance.journal import journal as journals
from conformance.journal.journal import Journal
from conformance.journal.run_directory import parts_of, records_of
from conformance.journal.segments import Earlier, head_and_earlier
from conformance.judge.assemble import recovered

_PATIENCE_S: Final = 15.0
"""So long the processes of a killed run may take to notice it."""
_ANEW: Final = "or start a new run"


@dataclass(frozen=True)
class ResumableRun:
    """A run that was cut short, locked: until this process ends, no other can continue it."""

    directory: Path
    journal: Journal
    head: Mapping[str, Any]
    earlier: Earlier

    def options(self, given: RunOptions) -> RunOptions:
        """The run's own options with those that are `given` now. Raises UsageError where it cannot be continued."""
        if "options" not in self.head:
            hint = "it was made by another version of the suite: start a new one"
            raise UsageError("it does not say how it was made", where=str(self.directory), hint=hint)
        before = RunOptions.from_json(self.head["options"])
        if before.command:
            hint = "start a new one"
            raise UsageError("a run whose target ended with it cannot go on", where=str(self.directory), hint=hint)
        before = replace(before, base_url=self.head["target"], seed=self.head["seed"])
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
        head, suite = self.head, self.head["suite"]
        url = made.secrets.clean(made.profile.base_url)
        if url != head["target"]:
            yield f"its base URL is {head['target']}, not {url} (leave --base-url out, {_ANEW})"
        elif made.profile.digest != head["profile"]["digest"]:
            yield (
                f"the profile {head['profile']['name']} or a variable has changed (undo it, or name the run's own with "
                f"--profile and --var, {_ANEW})"
            )
        if (made.contract.digest, check_set_digest()) != (suite["contract"], suite["checks"]):
            what = "contract" if made.contract.digest != suite["contract"] else "checks"
            yield f"the {what} of this suite are others (use the version that began it, {suite['version']}, {_ANEW})"
        elif len(made.instances) != len(self.earlier.left):
            yield f"some of its checks are not called for any more ({_ANEW})"

    def tidy(self) -> None:
        """Makes one journal of what is there, which can be gone on with. Raises JournalError."""
        mended = self.directory / journals.NAME
        journals.mend(mended)
        parts = parts_of(self.directory)
        known = set(mended.read_bytes().splitlines()) if parts else set()
        for path in parts:
            journals.mend(path)
            for line, record in zip(path.read_bytes().splitlines(), journals.read(path), strict=True):
                if line not in known:  # it was killed while it joined them
                    self.journal.append(record.pop("kind"), record)
            path.unlink()

    def closed(self) -> Run:
        """The run, of which nothing is left to be run; its end is written where that lacks. Raises JournalError."""
        if self.earlier.ended:
            self.tidy()
            part = {"part": self.earlier.part, "after": self.earlier.ended, "left": 0}
            self.journal.append("resumed", {**part, "run": run_name(), "started_at": now()})
            self.journal.append("end", {"finished_at": now(), "interrupted": ""})
        return recovered(self.directory)


def open_resumable(directory: Path) -> ResumableRun:
    """The run in a folder, for this process alone; nothing in the folder is changed.

    Raises UsageError where nothing can go on, JournalError where another process writes, or nothing can be read.
    """
    path = directory / journals.NAME
    if not path.is_file():
        raise UsageError("there is no run here", where=str(directory), hint="name the folder that the run told")
    journal = Journal(path, wait_s=_PATIENCE_S if parts_of(directory) else 0.0)
    for part in parts_of(directory):
        Journal(part, wait_s=_PATIENCE_S).close()
    if next(journals.read(path), {"kind": ""})["kind"] != "run":
        what = "there is nothing to go on with: the run was ended before it sent anything"
        raise UsageError(what, where=str(directory), hint="start it anew, in another folder")
    head, earlier = head_and_earlier(records_of(directory), str(path))
    return ResumableRun(directory, journal, head, earlier)


def resume_hint(session: Session, run: Run | None = None) -> str:
    """The line that says how a run that was cut short goes on; empty where it cannot, or need not."""
    cannot = session.options.command or session.directory == Path()
    if cannot or (run is not None and (run.complete or run.interrupted.startswith("max_requests"))):
        return ""
    return f"go on: conformance run --resume {shlex.quote(str(session.directory))}"
