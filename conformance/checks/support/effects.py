"""Observation of effects (`[effects]` of the profile).

No check fails on a sign that was not seen to move for its operation in this run. `Oracle` and `missing_effect` hold
that rule.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive, Signal
from conformance.checks.support.signs import LADDER_S
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.profile.behavior import Effect
from conformance.profile.render import placeholders

_PAUSE_S: Final = 0.1


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number; `2.0` is one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or math.isfinite(value)


def fixtures_of(request: Request) -> dict[str, Members]:
    """The fixtures of a request, by kind."""
    found: dict[str, dict[str, Any]] = {kind: dict(members) for kind, members in request.fixtures.preset.items()}
    for name, members in request.fixtures.members.items():
        found.setdefault(name.partition(".")[0], dict(members))
    for name, value in request.scope.items():
        kind, _, member = name.partition(".")
        if member and kind not in ("pkce", "dpop"):
            found.setdefault(kind, {})[member.rpartition(".")[2]] = value
    return dict(found)


class Oracle:
    """Observes the effect of one request: whether and how often it happened since the last observation."""

    def __init__(self, case: Case, request: Request, effect: Effect) -> None:
        self._case = case
        self._request = request
        self._effect = effect
        self._signs = case.runtime.signs
        self._last: Any = None

    @classmethod
    async def watch(cls, case: Case, request: Request) -> Oracle:
        """An oracle with a baseline that includes earlier writes of the suite on the same object.

        Unstated where the profile does not say how to see the effect.
        """
        effect = case.profile.effects.get(request.operation.id)
        key = f"effects.{request.operation.id}"
        case.need(effect, key, "a way to see the effect is needed")
        assert effect is not None
        oracle = cls(case, request, effect)
        oracle._last = await oracle._observe()
        for pause_s in _pauses(oracle._signs.unsettled_s(request, effect.within_s)):
            await asyncio.sleep(pause_s)
            if not await oracle._is_unchanged():
                break
        return oracle

    @property
    def counts(self) -> bool:
        """Whether effects are counted, or only visible as a change."""
        return self._effect.step is not None

    async def count_effects(self) -> int:
        """Counts effects since the last observation where none is expected; without a step, 1 means a change.

        Where the sign is known to lag, by the profile or by this run, it waits for that time before it returns 0.
        """
        count = await self._count_since_last()
        within_s = self._effect.within_s
        lag_s = self._signs.observed_lag_s(self._request.operation.id) if within_s is None else within_s
        for pause_s in _pauses(lag_s if not count else 0.0):
            await asyncio.sleep(pause_s)
            if count := await self._count_since_last():
                break
        return count

    async def effects_within(self) -> int:
        """Counts effects where one is expected, and waits for a sign that lags."""
        began = time.monotonic()
        count, lag_s = await self._count_since_last(), 0.0
        within_s = self._effect.within_s
        for pause_s in () if count else LADDER_S if within_s is None else _pauses(within_s):
            await asyncio.sleep(pause_s)
            lag_s = time.monotonic() - began
            if count := await self._count_since_last():
                break
        if count:
            self._signs.note_move(self._request.operation.id, lag_s)
        return count

    async def expect_one_effect(self, case: Case, description: str, *answers: Answer) -> None:
        """Violated unless there was one effect since the last observation."""
        count = await self.effects_within()
        count += await self.count_effects() if count == 1 else 0
        if count != 1:
            raise wrong_count(case, description, count, *answers)

    async def _count_since_last(self) -> int:
        before, self._last = self._last, await self._observe()
        if self._effect.step is None:
            count = int(not strictjson.is_equal(before, self._last))
        else:
            count = self._steps(before, self._last, self._effect.step)
        if count:
            self._signs.note_move(self._request.operation.id, 0.0)
        return count

    def _steps(self, before: Any, after: Any, step: int) -> int:
        key = f"effects.{self._request.operation.id}"
        if not (_is_number(before) and _is_number(after)):
            raise Inconclusive(f"{key} shows no number at {self._effect.pointer}", cause=key)
        try:
            count = int((after - before) // step)
        except (OverflowError, ValueError):  # a float that is infinite now, or an integer that no float holds
            raise Inconclusive(f"{key} shows numbers that cannot be compared", cause=key) from None
        if count < 0:
            raise Inconclusive(f"{key} went backwards: it is no count of effects", cause=key)
        return count

    async def _is_unchanged(self) -> bool:
        """Whether the sign is unchanged; its present value is the new baseline."""
        before, self._last = self._last, await self._observe()
        return strictjson.is_equal(before, self._last)

    async def _observe(self) -> Any:
        value = await self._answer()
        if not pointer.has(value, self._effect.pointer):
            key = f"effects.{self._request.operation.id}"
            raise Inconclusive(f"{key} shows nothing at {self._effect.pointer}", cause=key)
        return pointer.get(value, self._effect.pointer)

    async def _answer(self) -> Any:
        if (call := self._effect.http) is not None:
            names = placeholders([call.url, call.json, dict(call.headers)])
            scope = await self._case.runtime.arranger.extend_scope(self._request, names, own_fixtures=True)
            key = f"effects.{self._request.operation.id}"
            return await self._case.runtime.fixtures.http(call, scope, key)
        operation = self._case.contract.operations[self._effect.operation]
        look = await self._case.arrange(operation, preset=fixtures_of(self._request), prove_control=False)
        return (await self._case.control(look, "effect observation")).value


def _pauses(within_s: float) -> Iterator[float]:
    """Growing pauses with `within_s` as their sum."""
    pause_s = _PAUSE_S
    while within_s > 0:
        yield min(pause_s, within_s)
        within_s, pause_s = within_s - pause_s, 1.5 * pause_s


def wrong_count(case: Case, description: str, count: int, *answers: Answer) -> Signal:
    """The signal to raise where the number of effects is not one."""
    if not count:
        return missing_effect(case, f"{description} took effect no times", *answers, expected="1")
    return case.violation(f"{description} took effect {count} times", *answers, expected="1", observed=str(count))


def missing_effect(case: Case, message: str, *answers: Answer, expected: str) -> Signal:
    """The signal to raise where no effect was seen: Violation only if the sign has moved in this run."""
    name = case.operation.id
    if not case.runtime.signs.has_moved(name):
        return Inconclusive(f"the sign of {name} was not seen to move in this run", *answers, cause=f"effects.{name}")
    return case.violation(message, *answers, expected=expected, observed="0")


async def control_with_effect(case: Case, request: Request, purpose: str) -> Answer:
    """Sends a control, and waits until its effect shows where the profile says how to see it."""
    has_sign = request.operation.id in case.profile.effects
    oracle = await Oracle.watch(case, request) if has_sign else None
    answer = await case.control(request, purpose)
    if oracle is not None:
        await oracle.effects_within()
    return answer


async def expect_no_effect(case: Case, request: Request, defective: Request, purpose: str) -> None:
    """Violated if the defective request takes effect although it is refused."""
    oracle = await Oracle.watch(case, request)
    answer = await case.send(defective, purpose)
    if answer.ok:
        raise Inconclusive(f"{purpose} was not refused", answer, cause=f"control:{case.operation.id}")
    if count := await oracle.count_effects():
        raise case.violation(
            f"{purpose} was answered {answer.summary} and yet took effect",
            answer,
            expected="no effect",
            observed=f"{count}",
        )
    await case.control(request)
    if not await oracle.effects_within():
        raise Inconclusive("the effect of the control cannot be seen either", cause=f"effects.{case.operation.id}")
