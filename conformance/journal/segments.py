"""The segments of a run that was cut short and resumed: how each ended, and what they leave for the next one to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from conformance.journal.lines import SegmentEnded, TrafficStats

KILLED: Final = "killed"
"""How a segment ended that wrote no last line."""


class SegmentEnds:
    """The last lines of a run by segment. A worker's counts once, even where its journal was joined twice."""

    def __init__(self) -> None:
        self._segments: list[dict[str, SegmentEnded]] = [{}]

    def resume(self) -> None:
        """Another segment begins."""
        self._segments.append({})

    def add(self, end: SegmentEnded) -> None:
        """A process of the current segment has ended."""
        last = self._segments[-1]
        last[end.worker or f"#{len(last)}"] = end

    @property
    def count(self) -> int:
        return len(self._segments)

    @property
    def interrupted(self) -> str:
        """What cut the last segment short; empty where it went to its end."""
        last = self._segments[-1].values()
        why = next((end.interrupted for end in last if end.interrupted), "")
        return why or ("" if any(not end.worker for end in last) else KILLED)

    @property
    def finished_at(self) -> str:
        """When the last segment ended; empty where it was killed."""
        return next((end.finished_at for end in reversed(self._segments[-1].values())), "")

    @property
    def traffic_stats(self) -> TrafficStats:
        """Of all segments, one after the other; the processes of a segment send side by side."""
        segments = [[end.traffic for end in segment.values()] for segment in self._segments]
        stats = [one for segment in segments for one in segment]
        return TrafficStats(
            waited_s=round(sum((one.waited_s for one in stats), 0.0), 3),
            waited_clock_s=round(
                sum((max((one.waited_clock_s for one in segment), default=0.0) for segment in segments), 0.0), 3
            ),
            limited=sum(one.limited for one in stats),
            lost=sum(one.lost for one in stats),
            most_in_flight=max((sum(one.most_in_flight for one in segment) for segment in segments), default=0),
            slowest_rate=min((one.slowest_rate for one in stats if one.slowest_rate), default=None),
        )


Key = tuple[str, str, str]
"""A check's id, an operationId and a case: what a result is about."""


@dataclass(frozen=True)
class PreviousSegments:
    """What the segments before this one leave behind; plain data, so that it can be sent to a worker."""

    part: int
    """The number of the segment that comes now: 2 for the first that is resumed."""
    left: tuple[Key, ...]
    """What was planned and has no result that is final."""
    ended: str
    """How the segment before ended; empty where the run is complete."""
    began_at: str
    """When the run began (ISO 8601)."""
    requests: int = 0
    """How many were sent and recorded."""
    spent: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Values of static lists that were used: by fixture, their places."""
    names: tuple[str, ...] = ()
    """Of the segments; everything that one created begins with its name."""
    limited: bool = False
    """Whether rate limits had begun to be provoked, which may still hold."""
