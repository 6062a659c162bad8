"""The journal: one JSON object a line, appended as the run goes. It is the truth that every report is made from.

Kinds of lines: `run` (first), `exchange`, `result`, `created` and `removed` (what the run made, and unmade), `fixture`
(a value of a static list was handed out), `resumed` (a run that was cut short goes on from here: which part, why the
one before ended, under which new name), `end` (last of a part; missing where that was killed; a worker's own names the
worker).
A line is handed to the operating system whole, so a killed run keeps every line that it had written.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final, TypeVar

from conformance.core.codec import from_json, to_json
from conformance.core.errors import JournalError
from conformance.core.files import open_regular
from conformance.core.model import SCHEMA_VERSION
from conformance.journal.exchange_store import Place

if sys.platform != "win32":  # where there is none, and nobody is kept out
    import fcntl

T = TypeVar("T")
NAME: Final = "journal.ndjson"
_ENCODED: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
LONGEST_LINE: Final = 64_000_000
"""A line of more bytes is no line of a journal: ten times the longest that a run can write."""
_LOOKED_AT: Final = 4096
_MOST_BLANK: Final = 1_000
_VALUE: Final = "value"
"""In memory only: a line's value of `model`, not yet as JSON."""


class Journal:
    """An append-only file of JSON lines, for one process at a time. Raises JournalError when it cannot be written.

    `wait_s`: so long another process may take to come to its end.
    """

    evidence = True
    """Whether anybody will read what was said in an exchange."""

    def __init__(self, path: Path, *, wait_s: float = 0.0) -> None:
        self.path = path
        self._lock = Lock()
        self._failed = ""
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise JournalError(error.strerror or "cannot be opened", where=str(path)) from None
        if not _only_writer(self._file, wait_s):
            os.close(self._file)
            raise JournalError("another process is writing it", where=str(path), hint="that run still goes on")

    def append(self, kind: str, record: Any) -> None:
        """`record` as in `line_of`."""
        line = line_of(kind, record)
        with self._lock:
            written = 0
            try:
                while written < len(line):
                    written += os.write(self._file, line[written:])
            except OSError as error:
                self._take_back(written)
                self._failed = error.strerror or "cannot be written"
                raise JournalError(self._failed, where=str(self.path), hint="free some space and run again") from None

    def _take_back(self, written: int) -> None:
        """Removes the piece of a line that did not fit, so that a later one does not go on in the middle of it."""
        if written:
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)

    @property
    def failed(self) -> str:
        """Why a line could not be written; empty where all could."""
        return self._failed

    def close(self) -> None:
        os.close(self._file)


def line_of(kind: str, record: Any) -> bytes:
    """`record`: an object as it is in JSON, or a value of `model`."""
    members = record if isinstance(record, dict) else to_json(record)
    return _ENCODED({"kind": kind, **members}).encode() + b"\n"


class MemoryJournal(Journal):
    """The same lines in a list, values as they are: for who reads a journal once. `evidence` as in `Journal`."""

    def __init__(self, *, evidence: bool = True) -> None:
        self.evidence = evidence
        self.records: list[dict[str, Any]] = []
        self._failed = ""

    def append(self, kind: str, record: Any) -> None:
        self.records.append({"kind": kind, **(record if isinstance(record, dict) else {_VALUE: record})})

    def close(self) -> None:
        """There is no file."""


def value_of(kind: type[T], record: Mapping[str, Any]) -> T:
    """The value that a line holds. Raises TypeError, ValueError or KeyError on a line of another shape."""
    value = record.get(_VALUE)
    return value if isinstance(value, kind) else from_json(kind, record)


def _expect_version(record: Mapping[str, Any], path: Path) -> None:
    """Raises JournalError on the first line of a journal that another version of the suite wrote."""
    version = record.get("schema_version")
    if record["kind"] == "run" and version != SCHEMA_VERSION:
        what = f"is a journal of version {version}, and this suite reads version {SCHEMA_VERSION}"
        hint = "run it again, or read it with the version of the suite that wrote it"
        raise JournalError(what, where=str(path), hint=hint)


def _only_writer(file: int, wait_s: float) -> bool:
    """Whether no other process writes the file; none may until this one ends, however it does."""
    if sys.platform == "win32":
        return True
    until = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        except OSError:  # a file system that knows no locks
            return True
        else:
            return True


def mend(path: Path) -> None:
    """Cuts off a last line that a killed process left torn, so that the next one does not go on in the middle of it.

    Raises JournalError where that cannot be done.
    """
    try:
        with path.open("r+b") as file:
            raw = file.read()
            whole, newline, last = raw.rpartition(b"\n")
            if not last:
                return
            if _is_json(last):  # all of it but the newline was written
                file.write(b"\n")
            else:
                file.truncate(len(whole) + len(newline))
    except OSError as error:
        raise JournalError(error.strerror or "cannot be mended", where=str(path)) from None


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a journal, in order. A torn last line is left out: it is what a killed run leaves.

    Raises JournalError on a line in the middle that is no JSON object, or a file that cannot be read.
    """
    return (record for record, _ in located(path))


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of one that is no line of a journal as much as shows that."""
    while line := file.readline(_LOOKED_AT):
        if line.startswith(b"{") and not line.endswith(b"\n"):
            line += file.readline(LONGEST_LINE)
        yield line


def located(path: Path, known: tuple[int, int] = (0, 0)) -> Iterator[tuple[dict[str, Any], Place]]:
    """As `read`, each with where it stands; `known`: without so many bytes, and lines, from the beginning."""
    try:
        with open_regular(path) as file:
            offset, torn, blank = file.seek(known[0]), 0, 0
            for number, line in enumerate(_lines(file), known[1] + 1):
                if len(line) > LONGEST_LINE or (len(line) >= _LOOKED_AT and not line.startswith(b"{")):
                    raise JournalError(f"line {number} is too long to be one of a journal", where=str(path))
                if torn:
                    raise JournalError(f"line {torn} is no JSON", where=str(path))
                place, offset = Place(path, offset, len(line)), offset + len(line)
                if not line.strip():
                    blank += 1
                    if blank > _MOST_BLANK:
                        raise JournalError("holds blank lines only: this is no journal", where=str(path))
                    continue
                try:
                    record = json.loads(line)
                except ValueError:
                    torn = number  # the last one may be
                    continue
                if not isinstance(record, dict) or "kind" not in record:
                    raise JournalError(f"line {number} is no journal line", where=str(path))
                _expect_version(record, path)
                yield record, place
            if torn and line.endswith(b"\n"):
                raise JournalError(f"line {torn} is no JSON", where=str(path))
    except OSError as error:
        raise JournalError(error.strerror or "cannot be read", where=str(path)) from None
