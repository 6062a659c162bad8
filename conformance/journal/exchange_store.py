"""The exchanges of a run, of which a long run holds only the first: the others stay in the journal until asked for."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from sys import intern
from typing import Any, BinaryIO, Final, NamedTuple, TypeVar, overload

from conformance.core.codec import from_json
from conformance.core.errors import JournalError
from conformance.core.model import Exchange, Message

T = TypeVar("T")
HELD: Final = 8 * 1024 * 1024
"""So many bytes of the journal's lines are held as values: a run of the usual size, whole."""
_SHARED_AT_MOST: Final = 1_000
"""What many exchanges have in common comes again soon; of what does not, no more is remembered."""
_COMMON: Final = ("operation", "method", "check", "purpose", "credential")
_NOTHING: Final = Message((), "", 0, False)


class Place(NamedTuple):
    """Where a line of a journal stands."""

    path: Path
    offset: int
    length: int


class Exchanges(Sequence[Exchange]):
    """In the order of the journal, each once. `held`: so many bytes of lines are kept in memory.

    Raises JournalError where the journal is gone when it is looked into again.
    """

    def __init__(self, held: int = HELD) -> None:
        self._room = held
        self._numbers: dict[str, int] = {}
        self._held: dict[int, Exchange] = {}
        self._paths: list[Path] = []
        self._which = array("H")
        self._offsets = array("Q")
        self._lengths = array("Q")
        self._same: dict[Any, Any] = {}

    def compact(self, line: Mapping[str, Any]) -> Mapping[str, Any]:
        """A line of the journal as JSON, with one copy of what many of them have in common.

        What is missing stays so. Raises TypeError or AttributeError on a line of another shape.
        """
        known = {name: intern(line[name]) for name in _COMMON if name in line}
        messages = {name: self._message(line[name]) for name in ("request", "response") if name in line}
        return {**line, **known, **messages, "judged": self._shared(tuple(line.get("judged", ())))}

    def _message(self, told: Mapping[str, Any]) -> dict[str, Any]:
        return {**told, "headers": [self._shared(tuple(header)) for header in told.get("headers", ())]}

    def add(self, exchange: Exchange, place: Place | None) -> Exchange:
        """Takes one of the journal; gives what the judgement looks at: all of it, but for messages not held."""
        number, held = self._placed(exchange.id, place)
        if not held:
            self._held.pop(number, None)
            findings, status = self._shared(exchange.findings), self._shared(exchange.status)
            return replace(
                exchange, findings=findings, status=status, at=0.0, url="", request=_NOTHING, response=_NOTHING
            )
        self._held[number] = exchange
        return exchange

    def number(self, name: str) -> int:
        """The place of the exchange with this id. Raises KeyError."""
        return self._numbers[name]

    def _placed(self, name: str, place: Place | None) -> tuple[int, bool]:
        """Its number, and whether it is held. One that comes again, since a joining of journals was cut short, takes
        its own place."""
        number = self._numbers.setdefault(name, len(self._lengths))
        if number == len(self._lengths):
            for column in (self._which, self._offsets, self._lengths):
                column.append(0)
        if place is not None:
            if not self._paths or self._paths[-1] != place.path:
                self._paths.append(place.path)
            self._which[number] = len(self._paths) - 1
            self._offsets[number], self._lengths[number] = place.offset, place.length
        if place is None or place.length <= self._room:
            self._room -= place.length if place else 0
            return number, True
        return number, False

    def __len__(self) -> int:
        return len(self._lengths)

    @overload
    def __getitem__(self, index: int) -> Exchange: ...
    @overload
    def __getitem__(self, index: slice) -> list[Exchange]: ...
    def __getitem__(self, index: int | slice) -> Exchange | list[Exchange]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        if number in self._held:
            return self._held[number]
        with self._opened(self._which[number]) as file:
            return self._read(file, number)

    def __iter__(self) -> Iterator[Exchange]:
        file, which = None, -1
        try:
            for number in range(len(self)):
                if number in self._held:
                    yield self._held[number]
                    continue
                if file is None or which != self._which[number]:
                    if file is not None:
                        file.close()
                    which = self._which[number]
                    file = self._opened(which)
                yield self._read(file, number)
        finally:
            if file is not None:
                file.close()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(a == b for a, b in zip(self, other))  # noqa: B905

    __hash__ = None  # type: ignore[assignment]

    @property
    def named(self) -> Mapping[str, Exchange]:
        """By their ids; one is read when it is looked up."""
        return _Named(self, self._numbers)

    def _shared(self, value: T) -> T:
        if len(self._same) >= _SHARED_AT_MOST:
            self._same.clear()
        known: T = self._same.setdefault(value, value)
        return known

    def _opened(self, which: int) -> BinaryIO:
        path = self._paths[which]
        try:
            return path.open("rb")
        except OSError as error:
            raise JournalError(f"cannot be read again: {error.strerror}", where=str(path)) from None

    def _read(self, file: BinaryIO, number: int) -> Exchange:
        file.seek(self._offsets[number])
        try:
            return from_json(Exchange, json.loads(file.read(self._lengths[number])))
        except (OSError, AttributeError, KeyError, TypeError, ValueError):
            where = str(self._paths[self._which[number]])
            raise JournalError("has another line than before at the same place", where=where) from None


def named(exchanges: Sequence[Exchange]) -> Mapping[str, Exchange]:
    """Exchanges by their ids, wherever they are kept."""
    return exchanges.named if isinstance(exchanges, Exchanges) else {exchange.id: exchange for exchange in exchanges}


class _Named(Mapping[str, Exchange]):
    def __init__(self, exchanges: Exchanges, numbers: Mapping[str, int]) -> None:
        self._exchanges = exchanges
        self._numbers = numbers

    def __getitem__(self, name: str) -> Exchange:
        return self._exchanges[self._numbers[name]]

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
