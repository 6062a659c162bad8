"""A journal without a folder: its lines wait until they are sent with a report."""

from __future__ import annotations

from collections import deque

from conformance.journal.journal import Journal
from conformance.journal.lines import Line, encode


class Outbox(Journal):
    """The journal of a process that has no folder: its lines wait until they are sent with a report."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._write_error = ""

    def append(self, line: Line) -> None:
        self._lines.append(encode(line))

    def drain(self) -> bytes:
        """All lines since the last call."""
        return b"".join(self._lines.popleft() for _ in range(len(self._lines)))

    def close(self) -> None:
        """Does nothing: an outbox has no file."""
