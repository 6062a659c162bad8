"""What comes before a run's first line: all that may be wrong with what was asked for is wrong here."""

from __future__ import annotations

from collections.abc import Callable

from conformance.client.reachability import start_reach
from conformance.core.errors import Unreachable
from conformance.engine.options import Options
from conformance.engine.resume import Held
from conformance.engine.session import Session
from conformance.journal.outbox import Outbox


def prepared(
    options: Options,
    *,
    collect_only: bool = False,
    held: Held | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Session:
    """A session that may begin: the profile is sound, the target was asked, a report folder is claimed.

    Where the target did not answer, the session has that error, and is there to report it. `held` is the run that it
    goes on with, if any. `meanwhile` is done while the target is waited for. Raises ConformanceError.
    """
    made = Session(options, journal=held.journal if held else None if options.keys is None else Outbox())
    if held:
        held.require_same(made)
    sends = not (made.options.worker or collect_only)
    reached = start_reach(made.profile, made.deadline_s) if sends else None
    assert made.instances is not None  # whatever is wrong with the checks themselves is wrong now
    if made.options.worker:
        assert made.options.report_dir is not None
        made.directory = made.options.report_dir
    if reached:
        if meanwhile:
            meanwhile()
        try:
            reached()
        except Unreachable as error:
            if held:  # its folder has a journal, to which nothing is added
                raise
            made.unreachable = error
        made.claim()
        if held:
            held.tidy()
    return made
