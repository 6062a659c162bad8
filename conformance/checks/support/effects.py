"""Observation of effects (`[effects]` of the profile).

No check fails on a sign that was not seen to move for its operation in this run, nor on one that moves with other
calls. `Oracle` and `missing_effect` hold that rule.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

from conformance.checks.support.calibration import calibrate, expect_private
from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.sign_reader import Unobservable
from conformance.checks.support.sign_watch import SignWatch, pauses
from conformance.checks.support.signals import Inconclusive, Signal, require_whole
from conformance.checks.support.signs import LADDER_S, UNMOVED, sign_key
from conformance.client.request import Request
from conformance.client.response import NO_VALUE, Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.profile.behavior import Effect


class Oracle:
    """Observes the effects of one request: whether and how often it happened since the last observation.

    All signs of the operation are read, and each counts from its own baseline: an effect is one that any of them
    shows, whichever shows it first.
    """

    def __init__(self, case: Case, request: Request, watches: Iterable[SignWatch]) -> None:
        self._case = case
        self._request = request
        self._watches = list(watches)
        self._known = 0
        """The effects since the baseline that were reported."""

    @classmethod
    async def watch(cls, case: Case, request: Request) -> Oracle:
        """An oracle with a baseline that includes earlier writes of the suite on the same object.

        Unstated where the profile does not say how to see the effect. Raises Inconclusive where no sign can be read.
        """
        name = request.operation.id
        signs = case.profile.effects.get(name, ())
        case.need(signs, f"effects.{name}", "a way to see the effect is needed")
        keys = [sign_key(name, index, len(signs)) for index in range(len(signs))]
        watches = [SignWatch(case, request, sign, key) for sign, key in zip(signs, keys, strict=True)]
        await asyncio.gather(*(watch.start() for watch in watches))
        problems = [watch.problem for watch in watches]
        if problems and problems[0] is not None and None not in problems:
            raise problems[0]
        return cls(case, request, watches)

    @classmethod
    async def watch_if_visible(cls, case: Case, request: Request) -> Oracle | None:
        """An oracle for a check that has another question; None where no effect can be seen in this state."""
        if request.operation.id not in case.profile.effects:
            return None
        try:
            return await cls.watch(case, request)
        except Unobservable as blind:
            case.note(blind.message)
            return None

    @property
    def sees_refused_calls(self) -> bool:
        """Whether any sign can show an effect of a call that is not answered 200."""
        return not all(watch.awaits_answer for watch in self._watches)

    async def count_effects(self, *, is_proven_later: bool = False, elapsed_s: float = 0.0) -> int:
        """Counts effects since the last observation where none is expected; without a step, 1 means a change.

        Where a sign is known to lag, by the profile or by this run, it waits for that time before it returns 0.
        Raises Inconclusive where no sign can be read, or where each that moved also moves with other calls.
        `is_proven_later`: the caller shows afterwards that a sign moves, which need not have moved in this run yet.
        `elapsed_s`: the time since the call, which counts as waited for.
        """
        await self._look()
        lag_s = max(watch.lag_s for watch in self._watches) - elapsed_s
        for pause_s in pauses(lag_s if not self._new_count else 0.0):
            await asyncio.sleep(pause_s)
            await self._look()
            if self._new_count:
                break
        await self._examine_new_effects()
        return self._report(is_proven_later)

    @property
    def readable_signs(self) -> list[SignWatch]:
        """The signs that can be read now: not those that are read by an answer that the call does not have."""
        return [watch for watch in self._watches if watch.obstacle is None]

    async def count_visible_effects(self, *, elapsed_s: float = 0.0) -> int:
        """Like `count_effects`, for a check that has another question: 0 where no sign can be read."""
        try:
            return await self.count_effects(elapsed_s=elapsed_s)
        except Unobservable as blind:
            self._case.note(blind.message)
            return 0

    async def effects_within(self) -> int:
        """Counts effects where one is expected, and waits for signs that lag. Inconclusive where none can be read.

        A sign that does not show what another one shows is left out for the rest of the run.
        """
        began, pending = time.monotonic(), [watch for watch in self._watches if watch.obstacle is None]
        pending += [watch for watch in self._watches if watch.awaits_answer]
        for pause_s in (0.0, *_waits([watch.effect for watch in self._watches])):
            if pause_s and not (pending := self._overdue(pending, time.monotonic() - began)):
                break
            await asyncio.sleep(pause_s)
            lag_s = time.monotonic() - began if pause_s else 0.0
            moved = await self._look(lag_s)
            pending = [watch for watch in pending if watch not in moved]
        if self._new_count:
            self._doubt_others()
        return self._report()

    async def count_effects_of_one_call(self) -> int:
        """Counts effects where one is expected. Several are examined, and count only where the sign moves for it alone.

        Raises what `count_effects` raises.
        """
        count = await self.effects_within()
        if count > 1:
            self._known -= count
            count = await self.count_effects()
        return count

    def _overdue(self, pending: list[SignWatch], elapsed_s: float) -> list[SignWatch]:
        """The signs to wait for: where one shows the effect already, only those that may be later by their lag."""
        readable = [watch for watch in pending if watch.problem is None]
        if not self._new_count:
            return readable or pending
        return [watch for watch in readable if not watch.has_moved or watch.lag_s > elapsed_s]

    def _doubt_others(self) -> None:
        """Leaves out each sign that has never moved in this run, and not with this effect either."""
        for watch in self._watches:
            if watch.obstacle is None and not watch.has_moved:
                self._case.runtime.signs.doubts[watch.key] = UNMOVED

    async def expect_one_effect(self, case: Case, description: str, *answers: Answer) -> None:
        """Violated unless there was one effect since the last observation. Without a count nothing is decided."""
        await asyncio.gather(*(calibrate(case, watch) for watch in self._watches if watch.unit is None))
        self._watches = [watch for watch in self._watches if watch.unit is not None]
        if not self._watches:
            case.note(f"effects.{self._request.operation.id} shows a change, and not how often")
            return
        try:
            count = await self.count_effects_of_one_call()
            count += await self.count_effects() if count == 1 else 0
        except Unobservable as blind:
            case.note(blind.message)
            return
        if count != 1:
            raise wrong_count(case, description, count, *answers)

    async def _look(self, lag_s: float = 0.0) -> list[SignWatch]:
        """Reads all signs; those that moved."""
        counts = await asyncio.gather(*(watch.look() for watch in self._watches))
        moved = [watch for watch, count in zip(self._watches, counts, strict=True) if count > 0]
        for watch in moved:
            watch.note_move(lag_s)
        return moved

    @property
    def _new_count(self) -> int:
        """The effects that were not reported yet, by the signs that decide."""
        return max((watch.effects - self._known for watch in self._watches if watch.obstacle is None), default=0)

    async def _examine_new_effects(self) -> None:
        """Examines each sign that shows an unexpected effect."""
        for watch in self._watches:
            if watch.obstacle is None and watch.effects > self._known:
                await expect_private(self._case, watch)

    def _report(self, is_proven_later: bool = False) -> int:
        """The effects that were not reported yet. Raises the reason where no sign decides."""
        obstacles = [watch.obstacle for watch in self._watches]
        if obstacles and None not in obstacles:
            raise next(problem for problem in obstacles if problem is not None)
        count = max(0, self._new_count)
        proven = is_proven_later or any(watch.has_moved for watch in self._watches if watch.obstacle is None)
        blind = next((problem for problem in obstacles if problem is not None), None)
        if not count and not proven and blind is not None:
            raise blind
        self._known += count
        return count


def _waits(signs: Sequence[Effect]) -> Iterable[float]:
    """The pauses between the looks for an effect that is expected."""
    stated = [sign.within_s for sign in signs if sign.within_s is not None]
    longest_s = max(stated, default=0.0)
    return pauses(longest_s) if len(stated) == len(signs) or longest_s > sum(LADDER_S) else LADDER_S


def wrong_count(case: Case, description: str, count: int, *answers: Answer) -> Signal:
    """The signal to raise where the number of effects is not one."""
    if not count:
        return missing_effect(case, f"{description} took effect no times", *answers, expected="1")
    return case.violation(
        f"{description} took effect {count} times", *answers, expected="once", observed=f"{count} times"
    )


def missing_effect(case: Case, message: str, *answers: Answer, expected: str) -> Signal:
    """The signal to raise where no effect was seen: Violation only if a sign of the operation has moved in this run."""
    name = case.operation.id
    if not case.runtime.signs.has_moved(name):
        return Inconclusive(f"the sign of {name} was not seen to move in this run", *answers, cause=f"effects.{name}")
    return case.violation(message, *answers, expected=expected, observed="0")


async def read_change(case: Case, write: Request, read: Request, before: Answer, shown_at: Iterable[str]) -> Answer:
    """The answer to a read after a write, once it differs from the one before at one of the pointers; the last one
    where it does not in time.

    It waits for as long as the signs of the write may lag.
    """
    answer = await case.send(read, "a read after the change")
    for pause_s in _waits(case.profile.effects[write.operation.id]):
        if shows_change(before, answer, shown_at):
            break
        await asyncio.sleep(pause_s)
        answer = await case.send(read, "a read after the change")
    if not answer.ok:
        raise control_failed(answer)
    require_whole(before, answer)
    return answer


def shows_change(before: Answer, after: Answer, shown_at: Iterable[str]) -> bool:
    """Whether an answer differs from an earlier one in its status, or in a value at one of the pointers of 200s."""
    if before.status != after.status or not after.ok:
        return before.status != after.status
    return any(not strictjson.is_equal(*(_value_at(answer, place) for answer in (before, after))) for place in shown_at)


def _value_at(answer: Answer, place: str) -> object:
    return pointer.get(answer.value, place) if pointer.has(answer.value, place) else NO_VALUE


async def control_with_effect(case: Case, request: Request, purpose: str) -> Answer:
    """Sends a control, and waits until its effect shows where the profile says how to see it."""
    oracle = await Oracle.watch_if_visible(case, request)
    answer = await case.control(request, purpose)
    if oracle is not None:
        with suppress(Unobservable):
            await oracle.effects_within()
    return answer
