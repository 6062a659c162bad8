"""How many requests may be in flight, and how fast they may follow each other."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextvars import ContextVar
from typing import Final

_WINDOW: Final = 30
_CROWDED: Final = 0.4
"""The share of 429s among the last answers from which on fewer requests go out at once."""
_SHRINK_EVERY_S: Final = 0.1


hurried: ContextVar[bool] = ContextVar("hurried", default=False)
"""Whether what is sent in this context goes before others that wait: a long chain of calls, one after the other."""


class Gate:
    """A semaphore whose width follows the target: most 429s narrow it, answers widen it again up to `limit`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.width = float(limit)
        self.in_flight = 0
        self.most_in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._hurried: deque[asyncio.Future[None]] = deque()
        self._recent: deque[bool] = deque(maxlen=_WINDOW)
        self._shrunk_at = 0.0

    async def __aenter__(self) -> None:
        hurry = hurried.get()
        if self.in_flight >= int(self.width) or self._hurried or (self._waiting and not hurry):
            place = asyncio.get_running_loop().create_future()
            (self._hurried if hurry else self._waiting).append(place)
            self._admit()
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():
                    self._leave()
                raise
        else:
            self._enter()

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _enter(self) -> None:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while (waiting := self._hurried or self._waiting) and self.in_flight < int(self.width):
            place = waiting.popleft()
            if not place.done():
                self._enter()
                place.set_result(None)

    def tell(self, limited: bool) -> None:
        """Whether an answer was a 429."""
        self._recent.append(limited)
        if not limited:
            self.width = min(float(self.limit), self.width + 1 / self.width)
            self._admit()
            return
        now = time.monotonic()
        crowded = sum(self._recent) > _CROWDED * len(self._recent) and len(self._recent) >= 5
        if crowded and now - self._shrunk_at > _SHRINK_EVERY_S:
            self.width = max(1.0, self.width * 0.7)
            self._shrunk_at = now


class Pacer:
    """At most `rate` starts a second, evenly spaced; no rate, no waiting."""

    def __init__(self, rate: float | None) -> None:
        self._gap = 1 / rate if rate else 0.0
        self._next = 0.0

    async def __call__(self) -> float:
        """Waits for its turn; gives the seconds waited."""
        if not self._gap:
            return 0.0
        now = time.monotonic()
        turn = max(now, self._next)
        self._next = turn + self._gap
        if turn > now:
            await asyncio.sleep(turn - now)
        return turn - now
