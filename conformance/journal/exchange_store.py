"""The exchanges of a run: the first ones are kept in memory, the others are read from the journal on access."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from sys import intern
from typing import Any, BinaryIO, Final, NamedTuple, TypeVar, overload
from weakref import finalize

from msgspec.structs import replace

from conformance.core.errors import JournalError
from conformance.core.model import Exchange, Message
from conformance.journal.judged_exchanges import Ids, JudgedExchanges
from conformance.journal.lines import ExchangeRecorded, decode

T = TypeVar("T")
MEMORY_BYTES: Final = 8 * 1024 * 1024
"""Bytes of journal lines whose values are kept in memory: all lines of a run of the usual size."""
_MAX_SHARED: Final = 1_000
"""Maximum number of values that are cached for sharing between exchanges."""
_COMMON: Final = ("operation", "method", "check", "purpose", "credential")
_NO_MESSAGE: Final = Message()


class Place(NamedTuple):
    """The position of a line in a journal."""

    path: Path
    offset: int
    length: int


class Exchanges(Sequence[Exchange]):
    """In the order of the journal, each once. `memory`: the bytes of lines whose values are kept in memory.

    Raises JournalError where the journal cannot be read again.
    """

    def __init__(self, memory: int = MEMORY_BYTES) -> None:
        self._memory_left = memory
        self.ids = Ids()
        self._in_memory: dict[int, Exchange] = {}
        self._paths: list[Path] = []
        self._path_indices = array("H")
        self._offsets = array("Q")
        self._lengths = array("Q")
        self._shared_values: dict[Any, Any] = {}
        self._open_file: tuple[int, BinaryIO] | None = None

        self.judged = JudgedExchanges(self.ids)
        """The same exchanges for the judge, without what is not kept in memory."""

    def add(self, exchange: Exchange, place: Place | None) -> None:
        """Adds an exchange of the journal. A repeated one replaces the first."""
        number, in_memory = self._assign_place(exchange.id, place)
        if place is not None:
            exchange = self._compact(exchange, in_memory)
        if in_memory:
            self._in_memory[number] = exchange
        else:
            self._in_memory.pop(number, None)
        self.judged.set(number, exchange, in_memory=in_memory)

    def _compact(self, exchange: Exchange, in_memory: bool) -> Exchange:
        """The exchange with shared copies of common values, and without messages that are not kept."""
        changes: dict[str, Any] = {name: intern(getattr(exchange, name)) for name in _COMMON}
        if in_memory:
            changes |= {"request": self._message(exchange.request), "response": self._message(exchange.response)}
        else:
            changes |= {"request": _NO_MESSAGE, "response": _NO_MESSAGE, "url": "", "at": 0.0}
            changes |= {"status": self._share(exchange.status), "findings": self._share(exchange.findings)}
        return replace(exchange, judged=self._share(exchange.judged), **changes)

    def _message(self, message: Message) -> Message:
        headers = tuple([self._share(header) for header in message.headers])
        return Message(headers, message.body, message.body_bytes, message.truncated)

    def _assign_place(self, name: str, place: Place | None) -> tuple[int, bool]:
        """Returns its number, and whether it is kept in memory. A repeated line, left by an interrupted join of
        journals, replaces the previous one."""
        number = self.ids.add(name)
        if number == len(self._lengths):
            for column in (self._path_indices, self._offsets, self._lengths):
                column.append(0)
        if place is not None:
            if not self._paths or self._paths[-1] != place.path:
                self._paths.append(place.path)
            self._path_indices[number] = len(self._paths) - 1
            self._offsets[number], self._lengths[number] = place.offset, place.length
        if place is None or place.length <= self._memory_left:
            self._memory_left -= place.length if place else 0
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
        if number in self._in_memory:
            return self._in_memory[number]
        return self._read(self._kept_open(self._path_indices[number]), number)

    def __iter__(self) -> Iterator[Exchange]:
        file, path_index = None, -1
        try:
            for number in range(len(self)):
                if number in self._in_memory:
                    yield self._in_memory[number]
                    continue
                if file is None or path_index != self._path_indices[number]:
                    if file is not None:
                        file.close()
                    path_index = self._path_indices[number]
                    file = self._open(path_index)
                yield self._read(file, number)
        finally:
            if file is not None:
                file.close()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(a == b for a, b in zip(self, other))  # noqa: B905

    __hash__ = None  # type: ignore[assignment]

    @property
    def by_id(self) -> Mapping[str, Exchange]:
        """By id; each is read on access."""
        return _ExchangesById(self)

    def _share(self, value: T) -> T:
        if len(self._shared_values) >= _MAX_SHARED:
            self._shared_values.clear()
        shared: T = self._shared_values.setdefault(value, value)
        return shared

    def _kept_open(self, path_index: int) -> BinaryIO:
        """The journal for single reads: it stays open, since the judge makes one for each pair that it compares."""
        if self._open_file is None or self._open_file[0] != path_index:
            if self._open_file is not None:
                self._open_file[1].close()
            file = self._open(path_index)
            self._open_file = path_index, file
            finalize(self, file.close)
        return self._open_file[1]

    def _open(self, path_index: int) -> BinaryIO:
        path = self._paths[path_index]
        try:
            return path.open("rb")
        except OSError as error:
            raise JournalError(f"cannot be read again: {error.strerror}", where=str(path)) from None

    def _read(self, file: BinaryIO, number: int) -> Exchange:
        file.seek(self._offsets[number])
        try:
            line = decode(file.read(self._lengths[number]))
        except (OSError, ValueError, JournalError):
            line = None
        if not isinstance(line, ExchangeRecorded):
            where = str(self._paths[self._path_indices[number]])
            raise JournalError("has changed since it was read", where=where)
        return line.exchange


def exchanges_by_id(exchanges: Sequence[Exchange]) -> Mapping[str, Exchange]:
    """Exchanges by id, in memory or in a journal."""
    return exchanges.by_id if isinstance(exchanges, Exchanges) else {exchange.id: exchange for exchange in exchanges}


class _ExchangesById(Mapping[str, Exchange]):
    def __init__(self, exchanges: Exchanges) -> None:
        self._exchanges = exchanges

    def __getitem__(self, name: str) -> Exchange:
        number = self._exchanges.ids.find(name)
        if number is None:
            raise KeyError(name)
        return self._exchanges[number]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._exchanges.ids.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._exchanges.ids)

    def __len__(self) -> int:
        return len(self._exchanges)
