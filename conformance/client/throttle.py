"""How many requests may be in flight, and how fast they may follow each other."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextvars import ContextVar
from heapq import heappop, heappush
from itertools import count
from typing import Final

_WINDOW: Final = 30
_CROWDED: Final = 0.4
"""The share of 429s among the last answers from which on fewer requests go out at once."""
_SHRINK_EVERY_S: Final = 0.1
_FEW: Final = 5
_LOOKED_FOR_S: Final = 2.0
"""So long most answers must be 429 before a pace is made of what was let through meanwhile: who else is looking at the
target's limits, another shard, is done with them sooner."""
_FASTER: Final = 1.02
_SLOWER: Final = 0.95
"""Where they balance, 28 of 100 answers are 429: with chance ones, which are fewer, the pace grows until it is gone."""
_SLOWEST: Final = 2.0
"""Requests a second: a target that lets nothing through is asked so often."""
_FAST_ENOUGH: Final = 200.0


hurried: ContextVar[bool] = ContextVar("hurried", default=False)
"""Whether what is sent in this context goes before others that wait: a long chain of calls, one after the other."""
turn: ContextVar[int] = ContextVar("turn", default=0)
"""Which one this is of all that began, for what is sent in this context: who began earlier goes first. However slow the
pace is, it is then not long ago for the target what a check did when the check goes on: a code may expire, an
idempotency key be forgotten."""


class Line:
    """Who waits: the hurried first, then who began earlier, and of equals whoever came first."""

    def __init__(self) -> None:
        self._places: list[tuple[bool, int, int, asyncio.Future[None]]] = []
        self._came = count()

    def is_ahead(self) -> bool:
        """Whether somebody waits who goes before this context."""
        return bool(self._places) and self._places[0][:2] <= (not hurried.get(), turn.get())

    def join(self) -> asyncio.Future[None]:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._places, (not hurried.get(), turn.get(), next(self._came), place))
        return place

    def next(self) -> asyncio.Future[None] | None:
        """The first who has not given up; it is in line no more."""
        while self._places:
            place = heappop(self._places)[3]
            if not place.done():
                return place
        return None

    def __bool__(self) -> bool:
        return bool(self._places)


class Gate:
    """A semaphore whose width follows the target: most 429s narrow it, answers widen it again up to `limit`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.width = float(limit)
        self.in_flight = 0
        self.most_in_flight = 0
        self._line = Line()
        self._recent: deque[bool] = deque(maxlen=_WINDOW)
        self._shrunk_at = 0.0
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Returns when nothing is in flight."""
        await self._idle.wait()

    async def __aenter__(self) -> None:
        if self.in_flight >= int(self.width) or self._line.is_ahead():
            place = self._line.join()
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
        self._idle.clear()
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()
        if not self.in_flight:
            self._idle.set()

    def _admit(self) -> None:
        while self.in_flight < int(self.width) and (place := self._line.next()) is not None:
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
    """At most `rate` starts a second, evenly spaced; no rate, no waiting. Whose turn it is first is `Line`'s to say."""

    def __init__(self, rate: float | None) -> None:
        self.rate = rate
        self._next = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._line = Line()

    async def __call__(self) -> float:
        """Waits for its turn; gives the seconds waited."""
        now = time.monotonic()
        if not self.rate:
            return 0.0
        if now >= self._next and not self._line:
            self._next = now + 1 / self.rate
            return 0.0
        place = self._line.join()
        self._set_timer()
        await place
        return time.monotonic() - now

    def _set_timer(self) -> None:
        if self._timer is None and self._line:
            wait = max(0.0, self._next - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait, self._admit)

    def _admit(self) -> None:
        self._timer = None
        gap = 1 / self.rate if self.rate else 0.0
        if (place := self._line.next()) is not None:
            self._next = max(time.monotonic() - gap, self._next) + gap
            place.set_result(None)
        self._set_timer()


class Follower(Pacer):
    """A pace that nobody stated: found by what the target lets through, while most of its answers are 429.

    From then on a little faster with every answer and a little slower with every 429, until nothing is left of it.
    """

    def __init__(self) -> None:
        super().__init__(None)
        self.slowest: float | None = None
        self._recent: deque[bool] = deque(maxlen=_WINDOW)
        self._crowded_since: float | None = None
        self._let_through = 0

    def forget(self) -> None:
        """No pace any more: it was that of a target which lets nothing through for good."""
        self.rate = self._crowded_since = None
        self._recent.clear()

    def tell(self, limited: bool) -> None:
        """Whether an answer was a 429 that nobody had asked for."""
        self._recent.append(limited)
        if self.rate is not None:
            self.rate *= _SLOWER if limited else _FASTER
            self.rate = max(self.rate, _SLOWEST)
            if self.rate > _FAST_ENOUGH:
                self.rate = None
        if sum(self._recent) <= _CROWDED * len(self._recent) or len(self._recent) < _FEW:
            self._crowded_since = None
            return
        now = time.monotonic()
        if self._crowded_since is None:
            self._crowded_since, self._let_through = now, 0
        self._let_through += not limited
        if (took := now - self._crowded_since) >= _LOOKED_FOR_S:
            seen = max(_SLOWEST, self._let_through / took)
            self.rate = seen if self.rate is None else min(self.rate, seen)
            self.slowest = min(self.rate, self.slowest or self.rate)
            self._crowded_since = None
