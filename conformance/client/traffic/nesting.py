"""A JSON stream whose nesting is bounded before a parser sees it: parsers keep the path to each level."""

from __future__ import annotations

import re
from typing import IO, Final

from conformance.core.strict_json import MAX_DEPTH, NestingLimitError

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
"""A string, or what a piece of the stream has of it."""
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_OPENING: Final = b"[{"


class NestingGuard:
    """Reads from a file. Raises NestingLimitError where its JSON is nested deeper than MAX_DEPTH."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._depth = 0
        self._open_string = b""
        """The quote of a string that began in an earlier piece, with the backslash that this one ended with."""

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._count(piece)
        return piece

    def _count(self, piece: bytes) -> None:
        text = _STRING.sub(rb'"\1', self._open_string + piece)
        is_open = text.count(b'"') % 2
        self._open_string = (b'"\\' if text.endswith(b"\\") else b'"') if is_open else b""
        brackets = text.translate(None, _NO_BRACKETS)
        opening = brackets.count(b"[") + brackets.count(b"{")
        if self._depth + opening <= MAX_DEPTH:
            self._depth += 2 * opening - len(brackets)
            return
        for bracket in brackets:
            self._depth += 1 if bracket in _OPENING else -1
            if self._depth > MAX_DEPTH:
                raise NestingLimitError(f"nested deeper than {MAX_DEPTH} levels")
