"""The exchanges of a run as the judge needs them: of a large journal each takes some 30 bytes, and its number.

Exchanges that differ in their id and duration only, as most do once their messages are left in the journal, are held
once. Ids that are numbered on, as those of an observed run are, are not held at all.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, overload

from msgspec.structs import replace

from conformance.core.model import Exchange

_NUMBERED: Final = re.compile(r"(.*?)([1-9][0-9]{0,17})", re.DOTALL)


class _Sequence(NamedTuple):
    """Ids with one prefix: the first of its numbers, and the index at which that one stands."""

    prefix: str
    first: int
    begin: int


class Ids:
    """The ids of exchanges, numbered from 0 in the order of the journal."""

    def __init__(self) -> None:
        self._count = 0
        self._sequences: dict[str, _Sequence] = {}
        self._lengths: dict[str, int] = {}
        self._indices: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def __len__(self) -> int:
        return self._count

    def add(self, name: str) -> int:
        """The index of an id, which may be known already."""
        match = _NUMBERED.fullmatch(name)
        if (position := self._position(name, match)) is not None:
            return position
        index, self._count = self._count, self._count + 1
        prefix, number = (match[1], int(match[2])) if match else ("", 0)
        known = self._sequences.get(prefix) if match else None
        if match and known is None:
            self._sequences[prefix], self._lengths[prefix] = _Sequence(prefix, number, index), 1
        elif known and number - known.first == index - known.begin == self._lengths[prefix]:
            self._lengths[prefix] += 1
        else:
            self._indices[name], self._names[index] = index, name
        return index

    def find(self, name: str) -> int | None:
        """The index of an id; None for an unknown one."""
        return self._position(name, _NUMBERED.fullmatch(name))

    def _position(self, name: str, match: re.Match[str] | None) -> int | None:
        known = self._sequences.get(match[1]) if match else None
        if match and known and 0 <= (position := int(match[2]) - known.first) < self._lengths[known.prefix]:
            return known.begin + position
        return self._indices.get(name)

    def name(self, index: int) -> str:
        """The id at an index."""
        if index in self._names:
            return self._names[index]
        known = self._begins[bisect_right(self._begins, index, key=lambda sequence: sequence.begin) - 1]
        return f"{known.prefix}{known.first + index - known.begin}"

    @property
    def _begins(self) -> list[_Sequence]:
        """The sequences in the order of the index at which each begins: that of their insertion."""
        return list(self._sequences.values())

    def __iter__(self) -> Iterator[str]:
        return (self.name(index) for index in range(self._count))


class JudgedExchanges(Sequence[Exchange]):
    """In the order of the journal. Of those that are not in memory the messages, the URL and the time are missing."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._kinds: dict[Exchange, Exchange] = {}
        self._items: list[Exchange] = []
        """The exchange itself; or, without an id, what it has in common with others."""
        self._durations = array("d")

    def set(self, number: int, exchange: Exchange, *, in_memory: bool) -> None:
        """Adds the exchange of the next number, or replaces an earlier one."""
        item = exchange if in_memory else replace(exchange, id="", duration_ms=0.0)
        self._items[number : number + 1] = [item if in_memory else self._kinds.setdefault(item, item)]
        self._durations[number : number + 1] = array("d", [exchange.duration_ms])

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Exchange: ...
    @overload
    def __getitem__(self, index: slice) -> list[Exchange]: ...
    def __getitem__(self, index: int | slice) -> Exchange | list[Exchange]:
        numbers = range(len(self))[index]
        return self._exchange(numbers) if isinstance(numbers, int) else [self._exchange(number) for number in numbers]

    def _exchange(self, number: int) -> Exchange:
        item = self._items[number]
        return item if item.id else replace(item, id=self._ids.name(number), duration_ms=self._durations[number])
