"""A journal without a folder: its lines wait until they are sent with a report."""

from __future__ import annotations

from collections import deque
from typing import Any

from conformance.journal.journal import Journal, line_of


class Outbox(Journal):
    """The journal of a process that has no folder: its lines wait until they are sent along with a report."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._failed = ""

    def append(self, kind: str, record: Any) -> None:
        self._lines.append(line_of(kind, record))

    def drained(self) -> bytes:
        """All lines since the last time."""
        return b"".join(self._lines.popleft() for _ in range(len(self._lines)))

    def close(self) -> None:
        """There is no file."""
