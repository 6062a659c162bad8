"""The differences between a run and the previous one of the same target and profile, as a report shows them.

They are computed from the `run.json` files of a reports folder after the run, and stand in no file but the page: the
other reports are functions of the journal alone.
"""

from __future__ import annotations

import msgspec


class CauseChange(msgspec.Struct, frozen=True):
    """A cause of one of the two runs."""

    id: str
    requirement: str
    title: str
    operations: tuple[str, ...]
    """For a cause of both runs, only those on which it is new."""


class LatencyChange(msgspec.Struct, frozen=True):
    """Median latencies of an operation, in milliseconds."""

    operation: str
    before_ms: float
    after_ms: float


class Changes(msgspec.Struct, frozen=True):
    """The differences from the previous run. `folder` is the name of its folder, `link` the address of its page."""

    folder: str
    link: str
    started_at: str
    verdict: str
    scope: str
    summary: str
    """`2 new causes, 1 gone, 3 operations slower`"""
    new: tuple[CauseChange, ...] = ()
    wider: tuple[CauseChange, ...] = ()
    """Causes of both runs that show on further operations."""
    resolved: tuple[CauseChange, ...] = ()
    unjudged: tuple[CauseChange, ...] = ()
    """Causes of the previous run whose checks decided nothing in this one."""
    opened: tuple[str, ...] = ()
    """What the previous run judged and this one leaves open: requirement and operation."""
    closed: tuple[str, ...] = ()
    slower: tuple[LatencyChange, ...] = ()
    faster: tuple[LatencyChange, ...] = ()
    notes: tuple[str, ...] = ()
    """What makes the comparison weaker."""


class PreviousRun(msgspec.Struct, frozen=True):
    """The result of the search in the reports folder. `unread`: folders that could not be read, with the reason."""

    changes: Changes | None = None
    unread: tuple[str, ...] = ()
