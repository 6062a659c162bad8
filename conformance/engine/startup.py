"""Prepares a session: errors in options, profile and target are raised before the journal's first line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conformance.client.reachability import start_reach
from conformance.core.errors import Unreachable
from conformance.core.run_options import RunOptions
from conformance.engine.options import RunPart
from conformance.engine.resume import ResumableRun
from conformance.engine.session import Session
from conformance.journal.journal import Journal
from conformance.journal.outbox import Outbox


def prepare_session(
    options: RunOptions,
    part: RunPart | None = None,
    *,
    collect_only: bool = False,
    resumable: ResumableRun | None = None,
    preload: Callable[[], None] | None = None,
) -> Session:
    """A session that can start: the profile is valid, the target was contacted, a report folder is claimed.

    If the target did not answer, `Session.unreachable` is set and the run is only reported. `resumable`: the run to
    resume. `preload` is called while the target's answer is pending. Raises ConformanceError.
    """
    part = part or RunPart()
    journal: Journal | None = None if part.keys is None else Outbox()
    if resumable:
        part, journal = replace(part, previous_segments=resumable.previous_segments), resumable.journal
    session = Session(options, part, journal=journal)
    if resumable:
        resumable.require_same(session)
    contacts_target = not (part.worker or collect_only)
    await_target = start_reach(session.profile, session.deadline_s) if contacts_target else None
    assert session.instances is not None  # raises errors in the definitions of the checks now
    if await_target:
        if preload:
            preload()
        session.claim(_reachability_error(await_target, resumable))
        if resumable:
            resumable.join_journals()
    return session


def _reachability_error(await_target: Callable[[], None], resumable: ResumableRun | None) -> Unreachable | None:
    try:
        await_target()
    except Unreachable as error:
        if resumable:  # nothing is appended to the journal of a resumed run
            raise
        return error
    return None
