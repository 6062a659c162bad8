"""What is waited for, and how long: for the line that tells how far a run is, and for its report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

_WHY: Final = {
    "429": "the target answered 429",
    "lost": "the target gave no answer, or 502, 503 or 504",
    "pace": "the target lets no more through",
    "rate": "limits.rate",
}


class Waiting:
    """All requests that wait, by why. Another thread may read it.

    `total_s` adds up what each of them waited, `clock_s` is the time in which any did.
    """

    def __init__(self) -> None:
        self.total_s = 0.0
        self.times: Counter[str] = Counter()
        """How often something was waited for: `429`, `lost`, `pace`, `rate`."""
        self._now: Counter[str] = Counter()
        self._clock_s = 0.0
        self._since = 0.0

    @asynccontextmanager
    async def out(self, why: str, meant_s: float | None = None) -> AsyncIterator[None]:
        """Around the waiting of one request; counted is what it was meant to wait, where that is known."""
        started = time.monotonic()
        if not self._now.total():
            self._since = started
        self._now[why] += 1
        self.times[why] += 1
        try:
            yield
        finally:
            ended = time.monotonic()
            self._now[why] -= 1
            self.total_s += ended - started if meant_s is None else meant_s
            if not self._now.total():
                self._clock_s += ended - self._since

    @property
    def clock_s(self) -> float:
        return self._clock_s + (time.monotonic() - self._since if self._now.total() else 0.0)

    @property
    def told(self) -> str:
        """What is waited for right now, by most; empty where nothing is."""
        why, count = max(self._now.copy().items(), key=lambda one: one[1], default=("", 0))
        return f"waiting: {_WHY[why]}" if count else ""
