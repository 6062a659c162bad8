"""Statistics of waiting: for the progress line and for the report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

_REASONS: Final = {
    "429": "the target answered 429",
    "recovery": "nothing is sent until the target recovers from its 429s",
    "lost": "the target gave no answer, or 502, 503 or 504",
    "pace": "the target lets no more through",
    "rate": "limits.rate",
}


class WaitStats:
    """The waiting requests by reason. Another thread may read it.

    `total_s` is the sum over all requests, `clock_s` the time in which at least one request waited.
    """

    def __init__(self) -> None:
        self.total_s = 0.0
        self.counts: Counter[str] = Counter()
        """Number of waits by reason: `429`, `recovery`, `lost`, `pace`, `rate`."""
        self._current: Counter[str] = Counter()
        self._clock_s = 0.0
        self._since = 0.0

    @asynccontextmanager
    async def measure(self, reason: str, planned_s: float | None = None) -> AsyncIterator[None]:
        """Measures the wait of one request; `planned_s`, where given, is counted in place of the elapsed time."""
        started = time.monotonic()
        if not self._current.total():
            self._since = started
        self._current[reason] += 1
        self.counts[reason] += 1
        try:
            yield
        finally:
            ended = time.monotonic()
            self._current[reason] -= 1
            self.total_s += ended - started if planned_s is None else planned_s
            if not self._current.total():
                self._clock_s += ended - self._since

    @property
    def clock_s(self) -> float:
        return self._clock_s + (time.monotonic() - self._since if self._current.total() else 0.0)

    @property
    def description(self) -> str:
        """The most frequent reason for waiting now; empty where nothing waits."""
        reason, count = max(self._current.copy().items(), key=lambda item: item[1], default=("", 0))
        return f"waiting: {_REASONS[reason]}" if count else ""
