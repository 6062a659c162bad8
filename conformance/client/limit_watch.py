"""Rate limits that do not end, noticed while a run goes on.

A caller is one credential on one operation. Where all its answers are 429 for some seconds, nothing at all is sent for
the time in which the limit ought to recover, and then its last request is repeated. What is still answered 429 is a
lasting limit: nothing more is sent for that caller. An idempotency key can be limited in the same way while its caller
gets other answers. Once that was found, the next such key is given up after a few answers, and nobody is silent for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from conformance.client.request import Request, repeatable
from conformance.client.response import Answer
from conformance.profile.model import Profile

_SUSPECT_AFTER_S: Final = 3.0
_SUSPECT_ANSWERS: Final = 4
_SUSPECT_ANSWERS_TO_ANYBODY: Final = 12
_GIVE_UP_AFTER_S: Final = 1.0
_GIVE_UP_ANSWERS: Final = 3
"""Once one limit was found to last, other callers that get nothing but 429 are given up sooner."""
_UNSTATED_RECOVERY_S: Final = 5.0
_SLACK_S: Final = 0.2
"""The declared recovery is counted from a 429 at the target, and known here a moment later."""
_EVERYBODY: Final = 5
"""Callers, one after the other, that got nothing but 429 once a limit was found to last: the target answers nobody."""
_FOUND_AT_ONCE: Final = 3
"""In one silence: more would only hold up what is not limited."""
_MOST_EXAMINATIONS: Final = 8
"""After as many, no more is found out at the end of a run."""
_ATTEMPTS: Final = 4
_ATTEMPT_EVERY_S: Final = 0.1
"""One answer may be a 429 by chance."""
_BEFORE_THE_DEADLINE_S: Final = 2.0
_OTHER: Final = "?"
"""Stands for every credential that the profile does not name."""

Caller = tuple[str, str]
"""Credential name and operationId; the credential is empty where no Authorization header was sent."""
Place = tuple[Caller, str]
"""A caller and an idempotency key; the key is empty where the caller itself is meant."""


@dataclass
class _Row:
    """429s in a row, with no other answer in between."""

    began: float = field(default_factory=time.monotonic)
    count: int = 0

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.began


@dataclass(kw_only=True)
class _Streak(_Row):
    """Those of one caller, or under one idempotency key."""

    first: Answer
    last: Answer
    examined: int = 0
    compared: bool = False
    """Whether its caller was asked under another key, without a silence."""


@dataclass(frozen=True)
class LastingLimit:
    """A limit that was there before, and again after a time in which nothing was sent."""

    first: Answer
    last: Answer
    count: int
    waited_s: float
    key_used_up: bool
    """It concerns one idempotency key, while its caller gets other answers."""
    binding: bool
    """The declared recovery has passed entirely, for a caller that the profile says is a good one."""

    @property
    def requirement(self) -> str:
        """Which requirement reports it; empty where nothing is violated."""
        return ("IDEM-8" if self.key_used_up else "RATE-3") if self.binding else ""

    @property
    def message(self) -> str:
        request = self.first.request
        who = f"the key {request.credential}" if request.credential else "a request without a known key"
        what = f"{who}, under one idempotency key," if self.key_used_up else who
        waited = f", again after {self.waited_s:.1f} s in which nothing was sent" if self.waited_s else ""
        return f"{what} was answered 429 to {request.operation.id} {self.count} times{waited}"


class LimitWatch:
    """Watches the 429s that nobody asked for. Not thread-safe: it lives in the engine's event loop.

    `ends_at` is the run's deadline on the monotonic clock.
    """

    def __init__(self, profile: Profile | None, *, ends_at: float | None = None, first_ends_all: bool = False) -> None:
        """Without a profile nothing is suspected. `first_ends_all`: once a violation is known, nothing is sent."""
        self._react: Callable[[], None] = lambda: None
        self.silent = False
        """Whether nothing is to be sent just now."""
        self.uses_keys_up = False
        """Whether it is known that a 429 uses an idempotency key up."""
        self._profile = profile
        self._ends_at = ends_at
        self._first_ends_all = first_ends_all
        self._streaks: dict[Place, _Streak] = {}
        self._answered: dict[Caller, tuple[float, Request]] = {}
        """When a caller last got another answer, and to which request."""
        self._lasting: dict[Place, LastingLimit] = {}
        self._limited_last: set[Caller] = set()
        """Who was answered 429 since anybody got another answer."""
        self._everybody = _Row()
        self._false_alarms = self._examinations = 0
        self._comparing = False
        self._sound = asyncio.Event()
        self._sound.set()
        self._found = asyncio.Event()

    def note(self, answer: Answer, *, deliberate: bool) -> None:
        """Each answer. `deliberate`: a 429 is what was wanted."""
        if answer.status is None or answer.gateway_trouble or (answer.status == 429 and deliberate):
            return
        for place in _places(answer.request):
            if answer.status != 429:
                self._streaks.pop(place, None)
            elif (streak := self._streaks.get(place)) is None:
                self._streaks[place] = _Streak(count=1, first=answer.slim, last=answer.slim)
            else:
                streak.last, streak.count = answer.slim, streak.count + 1
        if answer.status == 429:
            self._limited_last.add(_caller(answer.request))
            self._everybody.count += 1
            return
        self._limited_last.clear()
        self._everybody = _Row()
        if repeatable(answer.request):
            self._answered[_caller(answer.request)] = time.monotonic(), answer.request

    def on_found(self, react: Callable[[], None]) -> None:
        """Calls `react` whenever a limit was found to last."""
        self._react = react

    def lasting(self, request: Request) -> LastingLimit | None:
        """What keeps a request from being sent, if anything does."""
        if self._first_ends_all and (known := next((one for one in self._lasting.values() if one.requirement), None)):
            return known
        places = [place for place in _places(request) if place in self._lasting]
        if places or not self._answers_nobody:
            return self._lasting[places[0]] if places else None
        return next(limit for (_, key), limit in self._lasting.items() if not key)

    @property
    def _answers_nobody(self) -> bool:
        callers = any(not key for _, key in self._lasting)
        return callers and len(self._limited_last) >= _EVERYBODY

    def violation(self, operation_id: str, requirement: str) -> LastingLimit | None:
        """What violates RATE-3 or IDEM-8 on an operation, if anything was found."""
        found = (one for ((_, operation), _), one in self._lasting.items() if operation == operation_id)
        return next((one for one in found if one.requirement == requirement), None)

    def is_suspect(self, operation_id: str, requirement: str) -> bool:
        """Whether a caller of an operation was last answered 429, and it is worth while to find out for how long.

        RATE-3 is about callers alone; IDEM-8 is about keys as well, which may be found behind a caller.
        """
        known = self._first_ends_all and any(one.requirement for one in self._lasting.values())
        if known or self._answers_nobody or self._examinations >= _MOST_EXAMINATIONS:
            return False
        return any(
            operation == operation_id and not one.examined and (requirement == "IDEM-8" or not key)
            for ((_, operation), key), one in self._suspects()
        )

    async def resume(self) -> None:
        """Returns when sending is allowed."""
        await self._sound.wait()

    async def pause(self, seconds: float) -> None:
        """A wait that ends sooner where a lasting limit is found meanwhile."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._found.wait(), seconds)

    async def consider(
        self, request: Request, send: Callable[[Request], Awaitable[Answer]], settle: Callable[[], Awaitable[None]]
    ) -> None:
        """After a 429 to the request: examines all suspects where it has become one.

        `send` sends in spite of the silence; `settle` returns when nothing is under way any more.
        """
        for place in reversed(_places(request)):
            streak = self._streaks.get(place)
            if streak is None or self.silent or self._comparing or self.lasting(request):
                continue
            if self._is_hopeless(place, streak) or await self._is_used_up(place, streak, send):
                self._record(place, streak, waited_s=0.0, binding=False)
            elif self._stands_alone(place, streak) and self._is_suspect(streak) and not self._may_be_used_up(request):
                await self.examine(send, settle)

    async def examine(
        self, send: Callable[[Request], Awaitable[Answer]], settle: Callable[[], Awaitable[None]]
    ) -> None:
        """Stays silent for the recovery, and asks the suspects again until one of them is answered.

        Callers may share a limit: after an answer a 429 to the next one would prove nothing.
        """
        self.silent = True
        self._examinations += 1
        self._sound.clear()
        try:
            await settle()
            waited_s, whole = self._recovery_s
            await asyncio.sleep(waited_s)
            binding, most = whole, len(self._lasting) + _FOUND_AT_ONCE
            for place, streak in self._suspects():
                if len(self._lasting) == most:
                    break
                if self.lasting(streak.last.request):
                    continue  # its caller was found to be limited before its key was looked at, or nobody is answered
                streak.examined += 1
                binding = binding and self._is_genuine(streak.last.request)
                if await _is_answered(streak.last.request, send):
                    self._false_alarms += 1
                    break
                caller, key = place[0], streak.last.request.key
                if key and await self._is_only_the_key(caller, streak.last.request, send):
                    self._record((caller, key), streak, waited_s=waited_s, binding=binding)
                elif not place[1]:
                    self._record(place, streak, waited_s=waited_s, binding=binding)
        finally:
            self.silent = False
            self._sound.set()

    async def _is_used_up(self, place: Place, streak: _Streak, send: Callable[[Request], Awaitable[Answer]]) -> bool:
        """Whether a key is limited where its caller is not, once a 429 is known to use keys up: that needs no silence.

        Where the caller was not answered meanwhile it is asked, once.
        """
        caller, key = place
        if not (self.uses_keys_up and key and streak.count >= _GIVE_UP_ANSWERS and repeatable(streak.last.request)):
            return False
        if self._stands_alone(place, streak):
            return True
        if streak.compared:
            return False
        self._comparing = streak.compared = True
        try:
            only = await self._is_only_the_key(caller, streak.last.request, send)
        finally:
            self._comparing = False
        return only and self._streaks.get(place) is streak

    def _may_be_used_up(self, request: Request) -> bool:
        """Whether a request's key is likelier to be the reason than its caller, since neither was asked about yet."""
        streak = self._streaks.get((_caller(request), request.key or ""))
        return self.uses_keys_up and bool(request.key) and streak is not None and not streak.compared

    async def _is_only_the_key(
        self, caller: Caller, request: Request, send: Callable[[Request], Awaitable[Answer]]
    ) -> bool:
        """Whether the caller is answered under another key: one that was answered before, or a fresh one."""
        known = self._answered.get(caller)
        if known and await _is_answered(known[1], send):
            return True
        for _ in range(_ATTEMPTS):  # each time another one: a 429 may use it up
            if (await send(request.with_fresh_key())).status != 429:
                return True
        return False

    @property
    def _recovery_s(self) -> tuple[float, bool]:
        """How long nothing is sent, and whether that is all of the recovery that the profile declares."""
        assert self._profile is not None
        declared = self._profile.rate_limit.recovery_s
        wanted = _UNSTATED_RECOVERY_S if declared is None else declared + _SLACK_S
        waited = min(wanted, self.longest_silence_s)
        return waited, declared is not None and waited >= wanted

    @property
    def longest_silence_s(self) -> float:
        """How long nothing may be sent at all."""
        patience_s = self._profile.limits.patience_s + _SLACK_S if self._profile is not None else math.inf
        left = math.inf if self._ends_at is None else self._ends_at - time.monotonic() - _BEFORE_THE_DEADLINE_S
        return max(0.0, min(patience_s, left))

    def _suspects(self) -> Iterator[tuple[Place, _Streak]]:
        """Who is asked, in order: first whom the profile names, of those who was not asked yet, and callers first."""
        found = [
            (place, streak)
            for place, streak in self._streaks.items()
            if repeatable(streak.last.request) and streak.count > 1 and self._stands_alone(place, streak)
        ]
        order = sorted(found, key=lambda one: (one[1].examined, bool(one[0][1])))
        yield from sorted(order, key=lambda one: not self._is_genuine(one[1].last.request))

    def _stands_alone(self, place: Place, streak: _Streak) -> bool:
        """Whether it is the key and not the caller that is limited, where a key is meant."""
        caller, key = place
        if not key or (caller in self._answered and self._answered[caller][0] > streak.began):
            return True
        return any(known == caller and other for known, other in self._lasting)

    def _is_suspect(self, streak: _Streak) -> bool:
        if self._profile is None or not repeatable(streak.last.request):
            return False
        patience_s = _SUSPECT_AFTER_S * 2**self._false_alarms
        rows = ((streak, _SUSPECT_ANSWERS), (self._everybody, _SUSPECT_ANSWERS_TO_ANYBODY))
        return any(row.count >= least and row.age_s >= patience_s for row, least in rows)

    def _is_hopeless(self, place: Place, streak: _Streak) -> bool:
        alike = any(bool(key) == bool(place[1]) for _, key in self._lasting) and self._stands_alone(place, streak)
        return alike and streak.count >= _GIVE_UP_ANSWERS and streak.age_s >= _GIVE_UP_AFTER_S

    def _is_genuine(self, request: Request) -> bool:
        """Whether nothing but a limit explains a 429: not, for example, a guard against keys that are tried."""
        assert self._profile is not None
        credential = self._profile.credentials.get(request.credential)
        if credential is not None:
            return credential.active
        return not request.authorization and request.operation.auth != "api_key"

    def _record(self, place: Place, streak: _Streak, *, waited_s: float, binding: bool) -> None:
        limit = LastingLimit(
            streak.first, streak.last, streak.count, waited_s, key_used_up=bool(place[1]), binding=binding
        )
        self._lasting[place] = limit
        self.uses_keys_up = self.uses_keys_up or limit.requirement == "IDEM-8"
        for explained in (place, (place[0], "")):  # where it is the key, nothing is known against its caller
            self._streaks.pop(explained, None)
        self._react()
        self._found.set()
        self._found = asyncio.Event()


async def _is_answered(request: Request, send: Callable[[Request], Awaitable[Answer]]) -> bool:
    """Whether one of a few attempts is answered otherwise than 429."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            await asyncio.sleep(_ATTEMPT_EVERY_S)
        if (await send(request)).status != 429:
            return True
    return False


def _caller(request: Request) -> Caller:
    return request.credential or (_OTHER if request.authorization else ""), request.operation.id


def _places(request: Request) -> tuple[Place, ...]:
    caller = _caller(request)
    return ((caller, ""), (caller, request.key)) if request.key else ((caller, ""),)
