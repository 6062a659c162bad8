"""Writes a journal: lines are appended during the run. All reports are made from it.

Lines are not buffered, so a killed run keeps every line that it had written.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec

from conformance.core.disk_space import space_hint
from conformance.core.errors import JournalError
from conformance.journal.lines import Line, encode

if sys.platform != "win32":  # Windows has no such locks
    import fcntl

NAME: Final = "journal.ndjson"


class Journal:
    """An append-only file of JSON lines, for one process at a time. Raises JournalError when it cannot be written.

    `wait_s`: how long to wait for the end of another process that writes it.
    """

    evidence = True
    """Whether the messages of exchanges are recorded."""

    def __init__(self, path: Path, *, wait_s: float = 0.0) -> None:
        self.path = path
        self._lock = Lock()
        self._write_error = ""
        self.line_count = 0
        """The number of lines that were appended."""
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise JournalError(error.strerror or "cannot be opened", where=str(path)) from None
        if not _lock_file(self._file, wait_s):
            os.close(self._file)
            raise JournalError("another process is writing it", where=str(path), hint="that run has not ended")

    def append(self, line: Line) -> None:
        text = encode(line)
        with self._lock:
            written = 0
            try:
                while written < len(text):
                    written += os.write(self._file, text[written:])
            except OSError as error:
                self._remove_partial_line(written)
                self._write_error = error.strerror or "cannot be written"
                raise JournalError(self._write_error, where=str(self.path), hint=space_hint(error)) from None
            self.line_count += 1

    def _remove_partial_line(self, written: int) -> None:
        """Removes a line that was written in part, so that the next line does not continue it."""
        if written:
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)

    @property
    def write_error(self) -> str:
        """Why a line could not be written; empty where all were written."""
        return self._write_error

    def close(self) -> None:
        os.close(self._file)


class MemoryJournal(Journal):
    """The same lines in a list, for a run that is judged in its own process. `evidence` as in `Journal`."""

    def __init__(self, *, evidence: bool = True) -> None:
        self.evidence = evidence
        self.lines: list[Line] = []
        self._write_error = ""

    def append(self, line: Line) -> None:
        self.lines.append(line)

    def close(self) -> None:
        """Does nothing: it has no file."""


def _lock_file(file: int, wait_s: float) -> bool:
    """Locks the file until this process ends; False where another process has locked it."""
    if sys.platform == "win32":
        return True
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        except OSError:  # a file system without locks
            return True
        else:
            return True


def repair(path: Path) -> None:
    """Removes an incomplete last line that a killed process left, so that the next line does not continue it.

    Raises JournalError where that is impossible.
    """
    try:
        with path.open("r+b") as file:
            raw = file.read()
            complete, newline, last = raw.rpartition(b"\n")
            if not last:
                return
            if _is_json(last):  # only the newline is missing
                file.write(b"\n")
            else:
                file.truncate(len(complete) + len(newline))
    except OSError as error:
        raise JournalError(error.strerror or "cannot be repaired", where=str(path)) from None


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return False
    return True
