"""A JSON stream whose nesting and entries are bounded before a parser sees it, which keeps all of an entry."""

from __future__ import annotations

import re
from typing import IO, Final

from conformance.core.strict_json import MAX_DEPTH, JsonLimitError, NestingLimitError

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
"""A string, or what a piece of the stream has of it."""
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_OPENING: Final = b"[{"
_MAX_ENTRY: Final = 64 * 1024 * 1024
"""Maximum number of bytes between two entries."""
_MAX_VALUES: Final = 300_000
"""Maximum number of arrays and objects: a parser makes some hundred bytes of each."""


class EntryLimitError(JsonLimitError):
    """One entry of a stream is too large."""


class NestingGuard:
    """Reads from a file. Raises NestingLimitError where its JSON is deeper than MAX_DEPTH, and EntryLimitError."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._entry_bytes = 0
        self._entry_values = 0
        self._depth = 0
        self._open_string = b""
        """The quote of a string that began in an earlier piece, with the backslash that this one ended with."""

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._count(piece)
        self._entry_bytes += len(piece)
        if self._entry_bytes > _MAX_ENTRY or self._entry_values > _MAX_VALUES:
            limits = f"{_MAX_ENTRY >> 20} MB, or {_MAX_VALUES:,} arrays and objects"
            raise EntryLimitError(f"too large in one entry (more than {limits})")
        return piece

    def begin_entry(self) -> None:
        """The bounds of an entry count from here on."""
        self._entry_bytes = self._entry_values = 0

    def _count(self, piece: bytes) -> None:
        text = _STRING.sub(rb'"\1', self._open_string + piece)
        is_open = text.count(b'"') % 2
        self._open_string = (b'"\\' if text.endswith(b"\\") else b'"') if is_open else b""
        brackets = text.translate(None, _NO_BRACKETS)
        opening = brackets.count(b"[") + brackets.count(b"{")
        self._entry_values += opening
        if self._depth + opening <= MAX_DEPTH:
            self._depth += 2 * opening - len(brackets)
            return
        for bracket in brackets:
            self._depth += 1 if bracket in _OPENING else -1
            if self._depth > MAX_DEPTH:
                raise NestingLimitError(f"nested deeper than {MAX_DEPTH} levels")
