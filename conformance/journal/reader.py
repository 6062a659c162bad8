"""Reads journals: the lines of a file as typed values, each with its position."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from conformance.core.errors import JournalError
from conformance.core.files import open_regular
from conformance.journal.exchange_store import Place
from conformance.journal.lines import Line, NoJson, decode

LONGEST_LINE: Final = 64_000_000
"""In bytes. A longer line is not a line of a journal: a run writes lines of at most a tenth of this."""
_CHUNK: Final = 4096
_MAX_BLANK: Final = 1_000


def read(path: Path) -> Iterator[Line]:
    """The lines of a journal, in order. An incomplete last line, which a killed run leaves, is skipped.

    Raises JournalError on a file that cannot be read, on a line before the last that is not JSON, or as `lines.decode`.
    """
    return (line for line, _ in read_with_places(path))


def read_with_places(path: Path) -> Iterator[tuple[Line, Place]]:
    """As `read`, each line with its position."""
    try:
        with open_regular(path) as file:
            offset, invalid_line, blank_count = 0, 0, 0
            for number, text in enumerate(_read_texts(file), 1):
                if len(text) > LONGEST_LINE:
                    raise JournalError(f"line {number} is too long for a journal", where=str(path))
                if len(text) >= _CHUNK and not text.startswith(b"{"):
                    raise _damage(path, number)
                if invalid_line:  # it was not the last one
                    raise _damage(path, invalid_line)
                place, offset = Place(path, offset, len(text)), offset + len(text)
                if not text.strip():
                    blank_count += 1
                    if blank_count > _MAX_BLANK:
                        raise JournalError("contains only blank lines: it is not a journal", where=str(path))
                    continue
                try:
                    line = decode(text, str(path), number)
                except NoJson:
                    invalid_line = number
                    continue
                yield line, place
            if invalid_line and text.endswith(b"\n"):
                raise _damage(path, invalid_line)
    except OSError as error:
        raise JournalError(error.strerror or "cannot be read", where=str(path)) from None


def _damage(path: Path, number: int) -> JournalError:
    """The error for a line that is not JSON. Only the last one may be: a run that was killed writes part of it."""
    hint = "a run writes whole lines, and reports and --resume need them: restore the file from a copy, or run again"
    return JournalError(f"line {number} is not JSON", where=str(path), hint=hint)


def _read_texts(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file. One that cannot be a line of a journal is split at `_CHUNK` bytes."""
    while text := file.readline(_CHUNK):
        if text.startswith(b"{") and not text.endswith(b"\n"):
            text += file.readline(LONGEST_LINE)
        elif len(text) == _CHUNK and not text.strip(b"\0") and _is_zeros(file.read(LONGEST_LINE)):
            return  # instead of the last line, which the machine had not written when it went down
        yield text


def _is_zeros(rest: bytes) -> bool:
    """Whether the rest of a file consists of zeros, and is short enough for a line."""
    return len(rest) < LONGEST_LINE and not rest.strip(b"\0")
