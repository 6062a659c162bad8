"""The segments of a run that was interrupted and resumed: how each ended, and the state for the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from conformance.journal.lines import SegmentEnded, TrafficStats

KILLED: Final = "killed"
"""The end of a segment that wrote no last line."""


class SegmentEnds:
    """The last lines of a run by segment. A worker's counts once, even where its journal was joined twice."""

    def __init__(self) -> None:
        self._segments: list[dict[str, SegmentEnded]] = [{}]

    def begin_segment(self) -> None:
        """Begins another segment."""
        self._segments.append({})

    def add(self, end: SegmentEnded) -> None:
        """Adds the last line of a process of the current segment."""
        last = self._segments[-1]
        last[end.worker or f"#{len(last)}"] = end

    @property
    def count(self) -> int:
        return len(self._segments)

    @property
    def interruption(self) -> str:
        """Why the last segment ended early; empty where it is complete."""
        last = self._segments[-1].values()
        reason = next((end.interrupted for end in last if end.interrupted), "")
        return reason or ("" if any(not end.worker for end in last) else KILLED)

    @property
    def finished_at(self) -> str:
        """When the last segment ended; empty where it was killed."""
        return next((end.finished_at for end in reversed(self._segments[-1].values())), "")

    @property
    def traffic_stats(self) -> TrafficStats:
        """Of all segments, which run in sequence; the processes of a segment send concurrently."""
        segments = [[end.traffic for end in segment.values()] for segment in self._segments]
        stats = [traffic for segment in segments for traffic in segment]
        return TrafficStats(
            waited_s=round(sum((traffic.waited_s for traffic in stats), 0.0), 3),
            waited_clock_s=round(
                sum((max((traffic.waited_clock_s for traffic in segment), default=0.0) for segment in segments), 0.0), 3
            ),
            limited=sum(traffic.limited for traffic in stats),
            lost=sum(traffic.lost for traffic in stats),
            most_in_flight=max((sum(traffic.most_in_flight for traffic in segment) for segment in segments), default=0),
            slowest_rate=min((traffic.slowest_rate for traffic in stats if traffic.slowest_rate), default=None),
        )


Key = tuple[str, str, str]
"""A check's id, an operationId and a case: the identity of a result."""


@dataclass(frozen=True)
class PreviousSegments:
    """The state after the previous segments; plain data, so that it can be sent to a worker."""

    part: int
    """The number of the current segment: 2 for the first that is resumed."""
    remaining: tuple[Key, ...]
    """The planned checks without a final result."""
    interruption: str
    """How the previous segment ended; empty where the run is complete."""
    began_at: str
    """When the run began (ISO 8601)."""
    requests: int = 0
    """The number of recorded requests."""
    used_places: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Used values of static lists: fixture -> places."""
    names: tuple[str, ...] = ()
    """Of the segments; each is the prefix of all names that the segment created."""
    limits_provoked: bool = False
    """Whether rate limits were provoked, which may still be in force."""
