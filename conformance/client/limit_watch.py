"""Detection of rate limits that do not end, during a run.

A caller is one credential, as the profile says that it is sent, on one operation. Where all its answers are 429 for
some seconds, nothing is sent for the declared recovery time, and then its last request is repeated; where no time is
declared, after growing pauses up to the patience. If the answer is still 429, that is a lasting limit: nothing more is
sent for that caller. An idempotency key can be limited in the same way while its caller gets other answers. Once that
was found, the next such key is abandoned after a few answers, without a pause for the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from conformance.client.lasting_limit import LastingLimit
from conformance.client.pauses import growing_pauses_s
from conformance.client.request import Request, repeatable
from conformance.client.response import Answer
from conformance.profile.model import Profile

_SUSPECT_AFTER_S: Final = 3.0
_SUSPECT_ANSWERS: Final = 4
_SUSPECT_ANSWERS_OVERALL: Final = 12
_GIVE_UP_AFTER_S: Final = 1.0
_GIVE_UP_ANSWERS: Final = 3
"""After the first lasting limit, other callers that get only 429 are given up sooner."""
_UNSTATED_RECOVERY_S: Final = 5.0
_SLACK_S: Final = 0.2
"""The recovery starts at the target's 429, which arrives here a little later."""
_LIMITED_CALLERS: Final = 5
"""If this many callers in sequence got only 429 after a lasting limit was found, the target limits every caller."""
_MAX_FOUND: Final = 3
"""Lasting limits found in one pause; more would delay callers that are not limited."""
_MAX_EXAMINATIONS: Final = 8
"""Maximum number of pauses for examination in one run."""
_ATTEMPTS: Final = 4
_ATTEMPT_EVERY_S: Final = 0.1
"""Several attempts, since one answer may be a 429 by chance."""
_BEFORE_THE_DEADLINE_S: Final = 2.0
_UNKNOWN_CREDENTIAL: Final = "?"
"""Represents every credential that the profile does not name, or that is not sent in the stated form."""

Caller = tuple[str, str]
"""Credential name and operationId; the credential is empty where no Authorization header was sent."""
Place = tuple[Caller, str]
"""A caller and an idempotency key; the key is empty for the caller as a whole."""


@dataclass
class _LimitedSequence:
    """A sequence of 429s with no other answer in between."""

    began: float = field(default_factory=time.monotonic)
    count: int = 0

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.began


@dataclass(kw_only=True)
class _Streak(_LimitedSequence):
    """The sequence of one caller, or of one idempotency key."""

    first: Answer
    last: Answer
    examinations: int = 0
    compared: bool = False
    """Whether its caller was asked under another key, without a silence."""


class LimitWatch:
    """Watches unexpected 429s. `ends_at` is the run's deadline on the monotonic clock. It lives in one event loop."""

    def __init__(self, profile: Profile | None, *, ends_at: float | None = None, first_ends_all: bool = False) -> None:
        """Without a profile nothing is suspected. `first_ends_all`: once a violation is known, nothing is sent."""
        self._react: Callable[[], None] = lambda: None
        self.is_silent = False
        """Whether sending is paused."""
        self.uses_keys_up = False
        """Whether it is known that a 429 uses an idempotency key up."""
        self._profile = profile
        self._ends_at = ends_at
        self._first_ends_all = first_ends_all
        self._streaks: dict[Place, _Streak] = {}
        self._last_answers: dict[Caller, tuple[float, Request]] = {}
        """The time and the request of each caller's last answer other than 429."""
        self._limits: dict[Place, LastingLimit] = {}
        self._limited_last: set[Caller] = set()
        """Callers answered 429 since the last answer other than 429 to any caller."""
        self._all_callers = _LimitedSequence()
        self._false_alarms = self._examinations = 0
        self._is_comparing = False
        self._resume_event = asyncio.Event()
        self._resume_event.set()
        self._limit_found = asyncio.Event()

    def note(self, answer: Answer, *, deliberate: bool) -> None:
        """Records an answer. `deliberate`: a 429 was provoked on purpose."""
        if answer.status is None or answer.gateway_trouble or (answer.status == 429 and deliberate):
            return
        for place in self._places(answer.request):
            if answer.status != 429:
                self._streaks.pop(place, None)
            elif (streak := self._streaks.get(place)) is None:
                self._streaks[place] = _Streak(count=1, first=answer.without_body, last=answer.without_body)
            else:
                streak.last, streak.count = answer.without_body, streak.count + 1
        if answer.status == 429:
            self._limited_last.add(self._caller(answer.request))
            self._all_callers.count += 1
            return
        self._limited_last.clear()
        self._all_callers = _LimitedSequence()
        if repeatable(answer.request):
            self._last_answers[self._caller(answer.request)] = time.monotonic(), answer.request

    def on_found(self, react: Callable[[], None]) -> None:
        """Calls `react` whenever a lasting limit was found."""
        self._react = react

    def lasting_limit(self, request: Request) -> LastingLimit | None:
        """The lasting limit that prevents a request from being sent, if there is one."""
        if self._first_ends_all and (
            violation := next((item for item in self._limits.values() if item.requirement), None)
        ):
            return violation
        places = [place for place in self._places(request) if place in self._limits]
        if places or not self._are_all_limited:
            return self._limits[places[0]] if places else None
        return next(limit for (_, key), limit in self._limits.items() if not key)

    @property
    def _are_all_limited(self) -> bool:
        return len(self._limited_last) >= _LIMITED_CALLERS and any(not key for _, key in self._limits)

    def violation(self, operation_id: str, requirement: str) -> LastingLimit | None:
        """The lasting limit that violates RATE-3 or IDEM-8 on an operation, if one was found."""
        limits = (limit for ((_, operation), _), limit in self._limits.items() if operation == operation_id)
        return next((limit for limit in limits if limit.requirement == requirement), None)

    def is_suspect(self, operation_id: str, requirement: str) -> bool:
        """Whether a caller of an operation was last answered 429 and has not been examined.

        RATE-3 is about callers alone; IDEM-8 is about keys as well, which may be found behind a caller.
        """
        has_violation = self._first_ends_all and any(item.requirement for item in self._limits.values())
        if has_violation or self._are_all_limited or self._examinations >= _MAX_EXAMINATIONS:
            return False
        return any(
            operation == operation_id and not item.examinations and (requirement == "IDEM-8" or not key)
            for ((_, operation), key), item in self._suspects()
        )

    async def resume(self) -> None:
        """Returns when sending is allowed."""
        await self._resume_event.wait()

    async def pause(self, seconds: float) -> None:
        """Waits; returns early when a lasting limit is found."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._limit_found.wait(), seconds)

    async def consider(
        self, request: Request, send: Callable[[Request], Awaitable[Answer]], settle: Callable[[], Awaitable[None]]
    ) -> None:
        """Called after a 429 to the request: examines all suspects if the request has become one.

        `send` sends although sending is paused; `settle` returns when no request is in flight.
        """
        for place in reversed(self._places(request)):
            streak = self._streaks.get(place)
            if streak is None or self.is_silent or self._is_comparing or self.lasting_limit(request):
                continue
            if self._is_hopeless(place, streak) or await self._is_used_up(place, streak, send):
                self._record(place, streak, waited_s=0.0, binding=False)
            elif (
                self._is_key_specific(place, streak) and self._is_suspect(streak) and not self._may_be_used_up(request)
            ):
                await self.examine(send, settle)

    async def examine(
        self, send: Callable[[Request], Awaitable[Answer]], settle: Callable[[], Awaitable[None]]
    ) -> None:
        """Pauses sending for the recovery time, then repeats the suspects' requests until one is answered.

        Callers may share a limit: after an answer other than 429, a 429 to the next suspect proves nothing.
        """
        self.is_silent = True
        self._examinations += 1
        self._resume_event.clear()
        try:
            await settle()
            *early_pauses, last_pause = self._pauses_s
            for number, pause_s in enumerate(early_pauses, 1):
                await asyncio.sleep(pause_s)
                request = next(self._suspects())[1].last.request
                if await _is_answered(request, send):
                    self._false_alarms += 1
                    return
                if request.key and await self._is_only_the_key(request, send):
                    await self._examine_suspects(send, sum(early_pauses[:number]))
                    return
            await asyncio.sleep(last_pause)
            await self._examine_suspects(send, sum(early_pauses) + last_pause)
        finally:
            self.is_silent = False
            self._resume_event.set()

    async def _examine_suspects(self, send: Callable[[Request], Awaitable[Answer]], waited_s: float) -> None:
        """`waited_s`: for how long nothing was sent. Only a silence of the whole declared recovery is binding."""
        binding, max_limits = waited_s >= self._binding_s, len(self._limits) + _MAX_FOUND
        for place, streak in self._suspects():
            if len(self._limits) == max_limits:
                break
            if self.lasting_limit(streak.last.request):
                continue  # a lasting limit of its caller, or of all callers, is known already
            streak.examinations += 1
            binding = binding and self._is_genuine(streak.last.request)
            if await _is_answered(streak.last.request, send):
                self._false_alarms += 1
                break
            caller, key = place[0], streak.last.request.key
            if key and await self._is_only_the_key(streak.last.request, send):
                self._record((caller, key), streak, waited_s=waited_s, binding=binding)
            elif not place[1] and not await self._is_served(caller, send):
                self._record(place, streak, waited_s=waited_s, binding=binding)

    async def _is_used_up(self, place: Place, streak: _Streak, send: Callable[[Request], Awaitable[Answer]]) -> bool:
        """Whether a key is limited where its caller is not, once a 429 is known to use keys up: that needs no silence.

        Where the caller was not answered meanwhile it is asked, once.
        """
        key = place[1]
        if not (self.uses_keys_up and key and streak.count >= _GIVE_UP_ANSWERS and repeatable(streak.last.request)):
            return False
        if self._is_key_specific(place, streak):
            return True
        if streak.compared:
            return False
        self._is_comparing = streak.compared = True
        try:
            only = await self._is_only_the_key(streak.last.request, send)
        finally:
            self._is_comparing = False
        return only and self._streaks.get(place) is streak

    def _may_be_used_up(self, request: Request) -> bool:
        """Whether a request's key is likelier to be the reason than its caller, since neither was asked about yet."""
        streak = self._streaks.get((self._caller(request), request.key or ""))
        return self.uses_keys_up and bool(request.key) and streak is not None and not streak.compared

    async def _is_only_the_key(self, request: Request, send: Callable[[Request], Awaitable[Answer]]) -> bool:
        """Whether the very request gets an answer under a fresh key: else its caller, or its resource, is limited."""
        for _ in range(_ATTEMPTS):  # a new key each time: a 429 may use it up
            if _is_outside_limit(await send(request.with_fresh_key())):
                return True
        return False

    async def _is_served(self, caller: Caller, send: Callable[[Request], Awaitable[Answer]]) -> bool:
        """Whether the caller gets an answer to a request that was answered before: one resource may be limited."""
        last_answer = self._last_answers.get(caller)
        return last_answer is not None and await _is_answered(last_answer[1], send)

    @property
    def _binding_s(self) -> float:
        """Seconds without sending that cover the whole declared recovery."""
        assert self._profile is not None
        declared_s = self._profile.rate_limit.longest_recovery_s
        return math.inf if declared_s is None else declared_s + _SLACK_S

    @property
    def _pauses_s(self) -> list[float]:
        """Seconds without sending, after each of which a suspect is asked.

        Where no recovery is stated, the limit may be a window of any length: the whole patience is waited, once for
        genuine callers, and once for others, which may have met a guard against guessed keys.
        """
        longest_s = self.longest_silence_s
        if self._binding_s < math.inf:
            return [min(self._binding_s, longest_s)]
        suspect = next(self._suspects(), None)
        if suspect is None or self._has_limit_alike(suspect[1].last.request):
            return [min(_UNSTATED_RECOVERY_S, longest_s)]
        return growing_pauses_s(_UNSTATED_RECOVERY_S, longest_s)

    @property
    def longest_silence_s(self) -> float:
        """The longest pause in seconds that the profile's patience and the deadline allow."""
        patience_s = self._profile.limits.patience_s + _SLACK_S if self._profile is not None else math.inf
        remaining_s = math.inf if self._ends_at is None else self._ends_at - time.monotonic() - _BEFORE_THE_DEADLINE_S
        return max(0.0, min(patience_s, remaining_s))

    def _suspects(self) -> Iterator[tuple[Place, _Streak]]:
        """In order of examination: credentials of the profile first, then those not examined yet, then callers."""
        suspects = [
            (place, streak)
            for place, streak in self._streaks.items()
            if repeatable(streak.last.request) and streak.count > 1 and self._is_key_specific(place, streak)
        ]
        order = sorted(suspects, key=lambda item: (item[1].examinations, bool(item[0][1])))
        yield from sorted(order, key=lambda item: not self._is_genuine(item[1].last.request))

    def _is_key_specific(self, place: Place, streak: _Streak) -> bool:
        """For an idempotency key: whether the key is limited, and not its caller."""
        caller, key = place
        if not key or (caller in self._last_answers and self._last_answers[caller][0] > streak.began):
            return True
        return any(limited_caller == caller and limited_key for limited_caller, limited_key in self._limits)

    def _is_suspect(self, streak: _Streak) -> bool:
        if self._profile is None or not repeatable(streak.last.request):
            return False
        patience_s = _SUSPECT_AFTER_S * 2**self._false_alarms
        sequences = ((streak, _SUSPECT_ANSWERS), (self._all_callers, _SUSPECT_ANSWERS_OVERALL))
        return any(sequence.count >= min_count and sequence.age_s >= patience_s for sequence, min_count in sequences)

    def _is_hopeless(self, place: Place, streak: _Streak) -> bool:
        kind_known = any(bool(key) == bool(place[1]) for _, key in self._limits)
        alike = kind_known and self._is_key_specific(place, streak) and self._has_limit_alike(streak.last.request)
        return alike and streak.count >= _GIVE_UP_ANSWERS and streak.age_s >= _GIVE_UP_AFTER_S

    def _has_limit_alike(self, request: Request) -> bool:
        """Whether a caller, genuine as this one is or not, is known to be limited permanently."""
        genuine = self._is_genuine(request)
        return any(self._is_genuine(limit.last.request) == genuine for limit in self._limits.values())

    def _is_genuine(self, request: Request) -> bool:
        """Whether only a rate limit explains a 429, and not, for example, a guard against guessed keys."""
        assert self._profile is not None
        credential = self._profile.credentials.get(request.credential)
        if credential is None:
            return not request.authorization and request.operation.auth != "api_key"
        return credential.active and self._is_as_stated(request)

    def _caller(self, request: Request) -> Caller:
        name = request.credential if self._is_as_stated(request) else _UNKNOWN_CREDENTIAL
        return name or (_UNKNOWN_CREDENTIAL if request.authorization else ""), request.operation.id

    def _is_as_stated(self, request: Request) -> bool:
        """Whether the key is sent in the stated form: another one may be no credential for the target."""
        label = f"«credential:{request.credential}»"
        stated = self._profile.authorization.header(label) if self._profile is not None else ""
        return all(request.evidence_texts.get(("authorization", v), stated) == stated for v in request.authorization)

    def _places(self, request: Request) -> tuple[Place, ...]:
        caller = self._caller(request)
        return ((caller, ""), (caller, request.key)) if request.key else ((caller, ""),)

    def _record(self, place: Place, streak: _Streak, *, waited_s: float, binding: bool) -> None:
        first, last, used_up = streak.first, streak.last, bool(place[1])
        limit = LastingLimit(first, last, streak.count, waited_s, key_used_up=used_up, binding=binding)
        self._limits[place] = limit
        self.uses_keys_up = self.uses_keys_up or limit.requirement == "IDEM-8"
        for explained in (place, (place[0], "")):  # where it is the key, nothing is known against its caller
            self._streaks.pop(explained, None)
        self._react()
        self._limit_found.set()
        self._limit_found = asyncio.Event()


async def _is_answered(request: Request, send: Callable[[Request], Awaitable[Answer]]) -> bool:
    """Whether one of a few attempts gets an answer other than 429."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            await asyncio.sleep(_ATTEMPT_EVERY_S)
        if _is_outside_limit(await send(request)):
            return True
    return False


def _is_outside_limit(answer: Answer) -> bool:
    """Whether the service has answered, and not with 429: a lost answer or a gateway's says nothing of the limit."""
    return answer.status not in (None, 429) and not answer.gateway_trouble
