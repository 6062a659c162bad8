"""Shards: the parts of one run, each run on a machine and with a journal of its own, and then joined.

The first line of a shard has its number and the facts that must be equal in all shards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any, Final

import msgspec

from conformance.core.errors import JournalError, UsageError
from conformance.journal.fold import JournalFold, key
from conformance.journal.lines import (
    ExchangeRecorded,
    Line,
    PlannedCheck,
    RunStarted,
    SegmentEnded,
    SegmentResumed,
    Shard,
)
from conformance.journal.segments import SegmentEnds

_COMMON: Final[tuple[tuple[str, Callable[[_Part], Any]], ...]] = (
    ("the target", lambda part: part.head.target),
    ("the profile", lambda part: (part.head.profile.name, part.head.profile.digest)),
    ("the set of checks", lambda part: part.head.suite.checks),
    ("the contract", lambda part: part.head.suite.contract),
    ("the seed", lambda part: part.head.seed),
    ("the number of examples", lambda part: part.head.examples),
    ("the selection", lambda part: (part.shard.asked, part.shard.all)),
    ("the number of shards", lambda part: part.shard.of),
)
"""The facts that must be equal in all shards of a run."""


@dataclass(frozen=True)
class _Part:
    where: str
    lines: Callable[[], Iterable[Line]]
    head: RunStarted
    shard: Shard
    ends: SegmentEnds

    @property
    def start_time(self) -> datetime:
        return datetime.fromisoformat(self.head.started_at)


def join_shards(journals: Iterable[tuple[str, Callable[[], Iterable[Line]]]]) -> Iterator[Line]:
    """Joins the lines of all shards. Each journal: its name for messages, and a function that reads it again.

    Raises UsageError where they are not all shards of one run, JournalError where one is not a journal.
    """
    parts = [_read_part(where, lines) for where, lines in journals]
    _require_one_run(parts)
    parts.sort(key=lambda part: part.shard.number)
    try:
        first = min(parts, key=lambda part: part.start_time)
        head = _join_heads(parts, first)
    except (TypeError, ValueError) as error:  # a time in another format, or without a time zone
        raise JournalError(f"has a line that does not fit the schema: {error}", where="merge") from error
    return _join_lines(head, parts, first)


def _read_part(where: str, lines: Callable[[], Iterable[Line]]) -> _Part:
    fold = JournalFold(where, memory=0)
    fold.add_all((line, None) for line in lines() if not isinstance(line, ExchangeRecorded))
    if fold.head.shard is None:
        raise UsageError("is not a shard, but a whole run", where=where, hint="`run --shard 1/4` creates one")
    return _Part(where, lines, fold.head, fold.head.shard, fold.ends)


def _require_one_run(parts: Sequence[_Part]) -> None:
    first = parts[0]
    for other in parts[1:]:
        for description, fact in _COMMON:
            if (first_value := fact(first)) != (other_value := fact(other)):
                values = f"{_format(first_value)} in {first.where}, {_format(other_value)} in {other.where}"
                raise UsageError(f"{description} differs: {values}")
    count = first.shard.of
    sources: dict[int, str] = {}
    for part in parts:
        number = part.shard.number
        if number in sources:
            raise UsageError(f"two journals are shard {number} of {count}: {sources[number]} and {part.where}")
        sources[number] = part.where
    if missing := [str(number) for number in range(1, count + 1) if number not in sources]:
        names = f"{', '.join(missing)} of {count}"
        description = f"shard {names} is missing" if len(missing) == 1 else f"shards {names} are missing"
        raise UsageError(description, hint="an incomplete run certifies nothing: name all folders")


def _format(value: Any) -> str:
    return " ".join(str(item) for item in value if item != "") if isinstance(value, tuple) else str(value)


def _join_lines(head: RunStarted, parts: Sequence[_Part], first: _Part) -> Iterator[Line]:
    yield head
    for part in parts:
        offset_s = (part.start_time - first.start_time).total_seconds()
        for line in part.lines():
            if isinstance(line, ExchangeRecorded):
                yield ExchangeRecorded(msgspec.structs.replace(line.exchange, at=round(line.exchange.at + offset_s, 4)))
            elif not isinstance(line, RunStarted | SegmentResumed | SegmentEnded):
                yield line
    for part in parts:
        reason = part.ends.interruption
        name = f"shard {part.shard.number}"
        interrupted = f"{name}: {reason}" if reason else ""
        yield SegmentEnded(part.ends.finished_at, interrupted, name, part.ends.traffic_stats)
    yield SegmentEnded(max(part.ends.finished_at for part in parts))


def _join_heads(parts: Sequence[_Part], first: _Part) -> RunStarted:
    """The first line of the whole run: the checks, which were dealt to the shards in turn, in their original order."""
    rounds = zip_longest(*(part.head.planned for part in parts))
    planned: list[PlannedCheck] = [check for checks in rounds for check in checks if check is not None]
    if len({key(check) for check in planned}) != len(planned):
        raise UsageError("two shards contain the same check", hint="run all shards with the same selection")
    changes = {"planned": tuple(planned), "filtered": len(planned) != first.shard.all}
    return msgspec.structs.replace(first.head, shard=None, shards=len(parts), **changes)
