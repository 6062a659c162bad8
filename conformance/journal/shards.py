"""Shards: one run in several parts, made on several machines, each with a journal of its own; joined, they are one run.

A shard's first line says which part of how many it is. What the parts must have in common is compared there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any, Final

from conformance.core.errors import JournalError, UsageError
from conformance.journal.segments import Ends, key

Record = Mapping[str, Any]
_FILLER: Final = object()
_COMMON: Final[tuple[tuple[str, Callable[[Record], Any]], ...]] = (
    ("the target", lambda head: head["target"]),
    ("the profile", lambda head: (head["profile"]["name"], head["profile"]["digest"])),
    ("the set of checks", lambda head: head["suite"]["checks"]),
    ("the contract", lambda head: head["suite"]["contract"]),
    ("the version of the journal", lambda head: head["schema_version"]),
    ("the seed", lambda head: head["seed"]),
    ("the number of examples", lambda head: head["examples"]),
    ("the selection", lambda head: (head["shard"]["asked"], head["shard"]["all"])),
    ("the number of shards", lambda head: head["shard"]["of"]),
)
"""What must be the same in all shards of a run."""


@dataclass(frozen=True)
class _Part:
    where: str
    head: Record
    ends: Ends
    rest: Sequence[Record]

    @property
    def number(self) -> int:
        return int(self.head["shard"]["number"])

    @property
    def began(self) -> datetime:
        return datetime.fromisoformat(self.head["started_at"])


def joined(journals: Iterable[tuple[str, Iterable[Record]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of one journal, each as its kind and the rest, out of those of all shards; with where each was read.

    Raises UsageError where they are not all the shards of one run, JournalError where one is no journal.
    """
    parts = [_part(where, records) for where, records in journals]
    try:
        _require_one_run(parts)
        parts.sort(key=lambda part: part.number)
        return iter(list(_lines(parts)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise JournalError(f"has a line of another shape: {error}", where="merge") from error


def _part(where: str, records: Iterable[Record]) -> _Part:
    head: Record | None = None
    ends, rest = Ends(), []
    for record in records:
        kind = record["kind"]
        if kind == "run":
            head = head or record
        elif kind == "resumed":
            ends.resumed()
        elif kind == "end":
            ends.add(record)
        else:
            rest.append(record)
    if head is None:
        raise JournalError("has no first line that says which run it is", where=where)
    if not head.get("shard"):
        raise UsageError("is no shard, but a run by itself", where=where, hint="`run --shard 1/4` makes one")
    return _Part(where, head, ends, rest)


def _require_one_run(parts: Sequence[_Part]) -> None:
    first = parts[0]
    for other in parts[1:]:
        for what, fact in _COMMON:
            if (ours := fact(first.head)) != (theirs := fact(other.head)):
                raise UsageError(f"{what} differs: {_shown(ours)} in {first.where}, {_shown(theirs)} in {other.where}")
    count = int(first.head["shard"]["of"])
    seen: dict[int, str] = {}
    for part in parts:
        if part.number in seen:
            raise UsageError(f"both are shard {part.number} of {count}: {seen[part.number]} and {part.where}")
        seen[part.number] = part.where
    if missing := [str(number) for number in range(1, count + 1) if number not in seen]:
        told = f"{', '.join(missing)} of {count}"
        what = f"shard {told} is missing" if len(missing) == 1 else f"shards {told} are missing"
        raise UsageError(what, hint="a run that lacks a part certifies nothing: name all folders")


def _shown(value: Any) -> str:
    return " ".join(str(one) for one in value if one != "") if isinstance(value, tuple) else str(value)


def _lines(parts: Sequence[_Part]) -> Iterator[tuple[str, dict[str, Any]]]:
    first = min(parts, key=lambda part: part.began)
    yield "run", _head(parts, first)
    for part in parts:
        later_s = (part.began - first.began).total_seconds()
        for record in part.rest:
            told = {name: value for name, value in record.items() if name != "kind"}
            if record["kind"] == "exchange":
                told["at"] = round(told["at"] + later_s, 4)
            yield record["kind"], told
    for part in parts:
        why = part.ends.interrupted
        interrupted = f"shard {part.number}: {why}" if why else ""
        ended = {"finished_at": part.ends.finished_at, "interrupted": interrupted}
        yield "end", {"worker": f"shard {part.number}", **ended, **part.ends.borne}
    yield "end", {"finished_at": max(part.ends.finished_at for part in parts), "interrupted": ""}


def _head(parts: Sequence[_Part], first: _Part) -> dict[str, Any]:
    """As the run's own would be: what was dealt out in turn is in its old order again."""
    rounds = zip_longest(*(part.head["planned"] for part in parts), fillvalue=_FILLER)
    planned = [item for turn in rounds for item in turn if item is not _FILLER]
    if len({key(item) for item in planned}) != len(planned):
        raise UsageError("two shards were to run the same check", hint="all must be made with the same selection")
    head = {name: value for name, value in first.head.items() if name not in ("kind", "shard")}
    return {**head, "planned": planned, "filtered": len(planned) != first.head["shard"]["all"], "shards": len(parts)}
