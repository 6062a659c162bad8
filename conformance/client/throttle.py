"""Limits on the number of requests in flight and on their rate."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextvars import ContextVar
from heapq import heappop, heappush
from itertools import count
from typing import Final

_WINDOW: Final = 30
_LIMITED_SHARE: Final = 0.4
"""The share of 429s among the last answers above which the concurrency is reduced."""
_SHRINK_EVERY_S: Final = 0.1
_MIN_ANSWERS: Final = 5
_MEASURE_S: Final = 2.0
"""Seconds of mostly 429 answers before a rate is derived from the successful ones: another client that examines the
target's limits, such as another shard, is done sooner."""
_SPEED_UP: Final = 1.02
_SLOW_DOWN: Final = 0.95
"""They balance at 28 % of 429s; with accidental 429s, which are fewer, the rate grows until it is dropped."""
_MIN_RATE: Final = 2.0
"""Minimum requests a second, for a target that lets nothing through."""
_MAX_RATE: Final = 200.0
_EARLY_S: Final = 0.001
"""Seconds by which a timer may fire too early."""


high_priority: ContextVar[bool] = ContextVar("high_priority", default=False)
"""Whether requests of this context go first: for a long chain of sequential calls."""
start_order: ContextVar[int] = ContextVar("start_order", default=0)
"""The start order of the item that sends in this context: earlier items go first. However slow the rate is, little time
then passes at the target between two requests of one check: a code may expire, an idempotency key be dropped."""


class StartAllowance:
    """Starts and places that were waited for in advance, for requests that go out together."""

    def __init__(self, count: int) -> None:
        self._remaining = count
        self.places = 0
        """Reserved places of the limiter that no request has taken yet."""

    def take(self, pacer: Pacer) -> None:
        """Uses one start; beyond the allowance it is added to the wait of what follows, so that the average is kept."""
        if self._remaining:
            self._remaining -= 1
        else:
            pacer.charge()


start_allowance: ContextVar[StartAllowance | None] = ContextVar("start_allowance", default=None)
"""The allowance of requests of this context that go out together."""


class WaitQueue:
    """Waiting requests: high priority first, then by start order, then in order of arrival."""

    def __init__(self) -> None:
        self._waiters: list[tuple[bool, int, int, asyncio.Future[None]]] = []
        self._arrivals = count()

    def has_earlier_waiter(self) -> bool:
        """Whether a waiting request goes before this context."""
        return bool(self._waiters) and self._waiters[0][:2] <= (not high_priority.get(), start_order.get())

    def enqueue(self) -> asyncio.Future[None]:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiters, (not high_priority.get(), start_order.get(), next(self._arrivals), place))
        return place

    def next(self) -> asyncio.Future[None] | None:
        """Removes and returns the first waiter that was not cancelled."""
        while self._waiters:
            place = heappop(self._waiters)[3]
            if not place.done():
                return place
        return None

    def __bool__(self) -> bool:
        return bool(self._waiters)


class ConcurrencyLimiter:
    """A semaphore whose width adapts to the target: frequent 429s narrow it, answers widen it again up to `limit`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.width = float(limit)
        self.in_flight = 0
        self._reserved = 0
        self._reservation = asyncio.Lock()
        """One group reserves at a time: two with half of the places each would wait for each other."""
        self._next_place: asyncio.Future[None] | None = None
        """What the group waits for that reserves."""
        self.most_in_flight = 0
        self._queue = WaitQueue()
        self._recent: deque[bool] = deque(maxlen=_WINDOW)
        self._shrunk_at = 0.0
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Returns when no request is in flight."""
        await self._idle.wait()

    async def reserve(self, allowance: StartAllowance, count: int) -> None:
        """Waits for places for requests that go out together, at most all. It is not narrowed: one after the other they
        would not compete. A reserved place is not in flight."""
        async with self._reservation:
            for _ in range(min(count, self.limit)):
                while self.in_flight + self._reserved >= self.limit:
                    self._next_place = asyncio.get_running_loop().create_future()
                    await self._next_place
                self._reserved += 1
                allowance.places += 1

    def release(self, allowance: StartAllowance, remaining: int = 0) -> None:
        """Gives reserved places back, but for `remaining` ones."""
        self._reserved -= max(0, allowance.places - remaining)
        allowance.places = min(allowance.places, remaining)
        self._admit()

    async def __aenter__(self) -> None:
        allowance = start_allowance.get()
        if allowance is not None and allowance.places:
            allowance.places -= 1
            self._reserved -= 1
            self._enter()
        elif allowance is not None and self.in_flight + self._reserved < self.limit:
            self._enter()
        elif self.in_flight + self._reserved >= int(self.width) or self._queue.has_earlier_waiter():
            place = self._queue.enqueue()
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
        if self._next_place is not None and self.in_flight + self._reserved < self.limit:
            next_place, self._next_place = self._next_place, None
            if not next_place.done():  # not cancelled
                next_place.set_result(None)
                return
        while self.in_flight + self._reserved < int(self.width) and (place := self._queue.next()) is not None:
            self._enter()
            place.set_result(None)

    def note_answer(self, limited: bool) -> None:
        """Records whether an answer was a 429."""
        self._recent.append(limited)
        if not limited:
            self.width = min(float(self.limit), self.width + 1 / self.width)
            self._admit()
            return
        now = time.monotonic()
        mostly_limited = sum(self._recent) > _LIMITED_SHARE * len(self._recent) and len(self._recent) >= 5
        if mostly_limited and now - self._shrunk_at > _SHRINK_EVERY_S:
            self.width = max(1.0, self.width * 0.7)
            self._shrunk_at = now


class Pacer:
    """At most `rate` starts a second, evenly spaced; without a rate no waiting. `WaitQueue` decides the order."""

    def __init__(self, rate: float | None) -> None:
        self.rate = rate
        self._next = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._queue = WaitQueue()

    async def __call__(self) -> float:
        """Waits until the request may start; returns the seconds waited."""
        now = time.monotonic()
        if not self.rate:
            return 0.0
        if now >= self._next and not self._queue:
            self._next = now + 1 / self.rate
            return 0.0
        place = self._queue.enqueue()
        self._set_timer()
        await place
        return time.monotonic() - now

    def charge(self) -> None:
        """Counts a start that did not wait: what follows waits longer."""
        if self.rate:
            self._next = max(time.monotonic(), self._next) + 1 / self.rate

    def _set_timer(self) -> None:
        if self._timer is None and self._queue:
            wait = max(0.0, self._next - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait, self._admit)

    def _admit(self) -> None:
        self._timer = None
        if time.monotonic() < self._next - _EARLY_S:  # starts were counted since the timer was set
            self._set_timer()
            return
        gap = 1 / self.rate if self.rate else 0.0
        if (place := self._queue.next()) is not None:
            self._next = max(time.monotonic() - gap, self._next) + gap
            place.set_result(None)
        self._set_timer()


class AdaptivePacer(Pacer):
    """A rate derived from the answers that a target lets through while most of its answers are 429.

    It then grows with every answer and shrinks with every 429, until it is no longer needed. `bounds`: the rates in
    requests a second between which it stays, as far as they are known.
    """

    def __init__(self, bounds: tuple[float, float | None] = (0.0, None)) -> None:
        super().__init__(None)
        least_rate, self._most_rate = bounds
        self._least_rate = max(_MIN_RATE, least_rate)
        self.slowest_rate: float | None = None
        self._recent: deque[bool] = deque(maxlen=_WINDOW)
        self._limited_since: float | None = None
        self._success_count = 0

    def reset(self) -> None:
        """Drops the rate: it was derived from a target that is limited permanently."""
        self.rate = self._limited_since = None
        self._recent.clear()

    def note_answer(self, limited: bool) -> None:
        """Records whether an answer was an unexpected 429."""
        self._recent.append(limited)
        if self.rate is not None:
            self.rate *= _SLOW_DOWN if limited else _SPEED_UP
            self.rate = max(self.rate, self._least_rate)
            if self._most_rate is not None:
                self.rate = min(self.rate, max(self._most_rate, self._least_rate))
            if self.rate > _MAX_RATE:
                self.rate = None
        if sum(self._recent) <= _LIMITED_SHARE * len(self._recent) or len(self._recent) < _MIN_ANSWERS:
            self._limited_since = None
            return
        now = time.monotonic()
        if self._limited_since is None:
            self._limited_since, self._success_count = now, 0
        self._success_count += not limited
        if (elapsed_s := now - self._limited_since) >= _MEASURE_S:
            observed_rate = max(self._least_rate, self._success_count / elapsed_s)
            self.rate = observed_rate if self.rate is None else min(self.rate, observed_rate)
            self.slowest_rate = min(self.rate, self.slowest_rate or self.rate)
            self._limited_since = None
