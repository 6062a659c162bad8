"""The parts of a run that was cut short and resumed: what each ended as, and what they leave for the next one to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.core.errors import JournalError

KILLED: Final = "killed"
"""How a part ended that had no time to say so."""
_UNFINISHED: Final = "budget:"
"""The cause of a result that says no more than that its check came too late: no more requests were allowed."""
_LIMITS: Final = "check_rate_limit["

Key = tuple[str, str, str]
"""A check's id, an operationId and a case: what a result is about."""


class Ends:
    """The `end` lines of a run by part. A worker's counts once, even where its journal was joined twice."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Mapping[str, Any]]] = [{}]

    def resumed(self) -> None:
        """Another part begins."""
        self._parts.append({})

    def add(self, end: Mapping[str, Any]) -> None:
        """One process of the current part has come to its end."""
        last = self._parts[-1]
        last[end.get("worker") or f"#{len(last)}"] = end

    @property
    def parts(self) -> int:
        return len(self._parts)

    @property
    def interrupted(self) -> str:
        """What cut the last part short; empty where it went to its end."""
        last = self._parts[-1].values()
        told = next((end["interrupted"] for end in last if end.get("interrupted")), "")
        return told or ("" if any(not end.get("worker") for end in last) else KILLED)

    @property
    def finished_at(self) -> str:
        """When the last part ended; empty where it was killed."""
        return next((str(end["finished_at"]) for end in reversed(self._parts[-1].values())), "")

    @property
    def borne(self) -> dict[str, Any]:
        """What the target bore in all parts, whose processes were side by side, and what was waited for because of it.

        As one `end` line says it.
        """
        parts = [list(part.values()) for part in self._parts]
        ends = [end for part in parts for end in part]

        def added(name: str) -> Any:
            return sum(end.get(name, 0) for end in ends)

        return {
            "waited_s": round(float(added("waited_s")), 3),
            "waited_clock_s": round(
                sum(max((end.get("waited_clock_s", 0.0) for end in part), default=0.0) for part in parts), 3
            ),
            "limited": added("limited"),
            "lost": added("lost"),
            "slowest_rate": min((rate for end in ends if (rate := end.get("slowest_rate"))), default=None),
            "most_in_flight": max((sum(end.get("most_in_flight", 0) for end in part) for part in parts), default=0),
        }


@dataclass(frozen=True)
class Earlier:
    """What the parts before this one leave behind; plain data, so that it can be sent to a worker."""

    part: int
    """The number of the part that comes now: 2 for the first that is resumed."""
    left: tuple[Key, ...]
    """What was planned and has no result that is final."""
    ended: str
    """How the part before ended; empty where the run is complete."""
    began_at: str
    """When the run began (ISO 8601)."""
    requests: int = 0
    """How many were sent and recorded."""
    spent: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Values of static lists that were handed out: by fixture, their places."""
    names: tuple[str, ...] = ()
    """Of the parts; everything that one created begins with its name."""
    limited: bool = False
    """Whether limits had begun to be provoked, which are perhaps still up."""


def key(record: Mapping[str, Any]) -> Key:
    """What a line, or an entry of `planned`, is about."""
    return record["check"], record["operation"], record["case"]


def head_and_earlier(records: Iterable[Mapping[str, Any]], where: str = "journal") -> tuple[Mapping[str, Any], Earlier]:
    """The first line of a run's journal, and what all of it leaves to do.

    Raises JournalError where there is no first line: such a run has sent nothing.
    """
    head: Mapping[str, Any] = {}
    ends, finished, seen, names, limited = Ends(), set(), set(), [], False
    spent: dict[str, dict[int, None]] = {}
    try:
        for record in records:
            kind = record["kind"]
            if kind == "run":
                head = head or record
            elif kind == "resumed":
                ends.resumed()
                names.append(record["run"])
            elif kind == "exchange":
                seen.add(record["id"])
                limited = limited or record["check"].startswith(_LIMITS)
            elif kind == "result" and _is_final(record):
                finished.add(key(record))
            elif kind == "fixture":
                spent.setdefault(record["name"], {})[record["place"]] = None
            elif kind == "end":
                ends.add(record)
        if not head:
            raise JournalError("the run was ended before it had begun", where=where)
        return head, Earlier(
            part=ends.parts + 1,
            left=tuple(key(item) for item in head["planned"] if key(item) not in finished),
            ended=ends.interrupted,
            began_at=head["started_at"],
            requests=len(seen),
            spent={name: tuple(places) for name, places in spent.items()},
            names=(head["run"], *names),
            limited=limited,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise JournalError(f"has a line of another shape: {error}", where=where) from error


def _is_final(result: Mapping[str, Any]) -> bool:
    return not result.get("cause", "").startswith(_UNFINISHED)
