"""Folds the lines of a journal, for the judge, for resumed runs and for joining shards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from conformance.core.errors import JournalError
from conformance.core.model import Result
from conformance.journal.exchange_store import MEMORY_BYTES, Exchanges, Place
from conformance.journal.lines import (
    CheckConcluded,
    ExchangeRecorded,
    FixtureSpent,
    Line,
    PlannedCheck,
    ResourceCreated,
    ResourceRemoved,
    RunStarted,
    SegmentEnded,
    SegmentResumed,
    TrafficCounted,
)
from conformance.journal.segments import Key, PreviousSegments, SegmentEnds

_UNFINISHED_CAUSE: Final = "budget:"
"""The prefix of the cause of results whose checks did not run for lack of requests in the budget."""
_RATE_LIMIT_CHECK: Final = "check_rate_limit["


def key(value: Result | PlannedCheck) -> Key:
    """The identity of a result or of a planned check."""
    return value.check, value.operation, value.case


class JournalFold:
    """The content of a journal, whose lines are added in order.

    `memory`: as in `Exchanges`. Raises JournalError where the first line does not begin a run.
    """

    def __init__(self, where: str = "journal", memory: int = MEMORY_BYTES) -> None:
        self._where = where
        self._head: RunStarted | None = None
        self._names: list[str] = []
        self._used_places: dict[str, dict[int, None]] = {}
        self.ends = SegmentEnds()
        self.exchanges = Exchanges(memory)
        self.results: dict[Key, Result] = {}
        """The last result of each check."""
        self.traffic_counts: dict[str, TrafficCounted] = {}
        """The last line about each observed source."""
        self.resources: list[ResourceCreated | ResourceRemoved] = []

    @property
    def head(self) -> RunStarted:
        if self._head is None:
            raise self._missing_head_error()
        return self._head

    def _missing_head_error(self) -> JournalError:
        return JournalError("has no first line of the kind 'run'", where=self._where)

    def add_all(self, lines: Iterable[tuple[Line, Place | None]]) -> None:
        for line, place in lines:
            self.add(line, place)

    def add(self, line: Line, place: Place | None = None) -> None:
        """`place`: the position from which an exchange can be read again, so that memory need not keep it."""
        if self._head is None:
            if not isinstance(line, RunStarted):
                raise self._missing_head_error()
            self._head = line
        match line:
            case ExchangeRecorded(exchange=exchange):
                self.exchanges.add(exchange, place)
            case TrafficCounted(source=source):
                self.traffic_counts[source] = line
            case CheckConcluded(result=result):
                self.results[key(result)] = result
            case ResourceCreated() | ResourceRemoved():
                self.resources.append(line)
            case FixtureSpent(name=name, place=number):
                self._used_places.setdefault(name, {})[number] = None
            case SegmentResumed(run=run):
                self.ends.begin_segment()
                self._names.append(run)
            case SegmentEnded():
                self.ends.add(line)

    def previous_segments(self) -> PreviousSegments:
        """The state of the run for the segment that resumes it."""
        finished = {
            result_key for result_key, result in self.results.items() if not result.cause.startswith(_UNFINISHED_CAUSE)
        }
        return PreviousSegments(
            part=self.ends.count + 1,
            remaining=tuple(
                key(check) for check in self.head.planned if not check.left_out and key(check) not in finished
            ),
            interruption=self.ends.interruption,
            began_at=self.head.started_at,
            requests=len(self.exchanges),
            used_places={name: tuple(places) for name, places in self._used_places.items()},
            names=(self.head.run, *self._names),
            limits_provoked=any(exchange.check.startswith(_RATE_LIMIT_CHECK) for exchange in self.exchanges.judged),
        )
