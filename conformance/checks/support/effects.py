"""Seeing that something happened: the profile's effect observations (`[effects]`).

Nothing fails on a sign that was not seen to move for its operation in this run: that rule stands in `Oracle`, and in
`too_few`, and nowhere else.
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
from conformance.profile.model import Effect
from conformance.profile.render import placeholders

_PAUSE_S: Final = 0.1


def _counted(value: Any) -> bool:
    """Whether a value is a number, be it written as `2.0`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or math.isfinite(value)


def given_of(request: Request) -> dict[str, Members]:
    """The fixtures that a request was made with, by kind."""
    found: dict[str, dict[str, Any]] = {kind: dict(members) for kind, members in request.drawn.given.items()}
    for name, members in request.drawn.members.items():
        found.setdefault(name.partition(".")[0], dict(members))
    for name, value in request.scope.items():
        kind, _, member = name.partition(".")
        if member and kind not in ("pkce", "dpop"):
            found.setdefault(kind, {})[member.rpartition(".")[2]] = value
    return dict(found)


class Oracle:
    """Watches one request's effect: says whether it happened since the last look, and how often."""

    def __init__(self, case: Case, request: Request, effect: Effect) -> None:
        self._case = case
        self._request = request
        self._effect = effect
        self._signs = case.runtime.signs
        self._last: Any = None

    @classmethod
    async def watching(cls, case: Case, request: Request) -> Oracle:
        """An oracle that has looked once: an earlier write of the suite on the same object shows by then.

        Without the profile's way to see the effect there is none.
        """
        effect = case.profile.effects.get(request.operation.id)
        key = f"effects.{request.operation.id}"
        case.need(effect, key, "a way to see the effect is needed")
        assert effect is not None
        oracle = cls(case, request, effect)
        oracle._last = await oracle._look()
        for pause_s in _pauses(oracle._signs.unsettled_s(request, effect.within_s)):
            await asyncio.sleep(pause_s)
            if not await oracle._is_still():
                break
        return oracle

    @property
    def counts(self) -> bool:
        """Whether effects are counted, or only seen as a change."""
        return self._effect.step is not None

    async def happened(self) -> int:
        """Effects since the last look, where none is expected; without a step, 1 says that something changed.

        Where this sign is known to be late, by the profile or by what the run has seen, none is none only then.
        """
        count = await self._since()
        within_s = self._effect.within_s
        lag_s = self._signs.seen_lag_s(self._request.operation.id) if within_s is None else within_s
        for pause_s in _pauses(lag_s if not count else 0.0):
            await asyncio.sleep(pause_s)
            if count := await self._since():
                break
        return count

    async def happened_soon(self) -> int:
        """As `happened`, where something is expected: what is observed may show it a moment later."""
        began = time.monotonic()
        count, lag_s = await self._since(), 0.0
        within_s = self._effect.within_s
        for pause_s in () if count else LADDER_S if within_s is None else _pauses(within_s):
            await asyncio.sleep(pause_s)
            lag_s = time.monotonic() - began
            if count := await self._since():
                break
        if count:
            self._signs.saw(self._request.operation.id, lag_s)
        return count

    async def happened_once(self, case: Case, what: str, *answers: Answer) -> None:
        """Violated unless there was one effect since the last look."""
        count = await self.happened_soon()
        count += await self.happened() if count == 1 else 0
        if count != 1:
            raise otherwise_than_once(case, what, count, *answers)

    async def _since(self) -> int:
        before, self._last = self._last, await self._look()
        if self._effect.step is None:
            count = int(not strictjson.same(before, self._last))
        else:
            count = self._steps(before, self._last, self._effect.step)
        if count:
            self._signs.saw(self._request.operation.id, 0.0)
        return count

    def _steps(self, before: Any, after: Any, step: int) -> int:
        where = f"effects.{self._request.operation.id}"
        if not (_counted(before) and _counted(after)):
            raise Inconclusive(f"{where} shows no number at {self._effect.pointer}", cause=where)
        try:
            count = int((after - before) // step)
        except (OverflowError, ValueError):  # a float that is infinite now, or an integer that no float holds
            raise Inconclusive(f"{where} shows numbers that cannot be compared", cause=where) from None
        if count < 0:
            raise Inconclusive(f"{where} went backwards: it is no count of effects", cause=where)
        return count

    async def _is_still(self) -> bool:
        """Whether the sign shows what it showed before; what it shows now is the new baseline."""
        before, self._last = self._last, await self._look()
        return strictjson.same(before, self._last)

    async def _look(self) -> Any:
        value = await self._answer()
        if not pointer.has(value, self._effect.pointer):
            where = f"effects.{self._request.operation.id}"
            raise Inconclusive(f"{where} shows nothing at {self._effect.pointer}", cause=where)
        return pointer.get(value, self._effect.pointer)

    async def _answer(self) -> Any:
        if (call := self._effect.http) is not None:
            names = placeholders([call.url, call.json, dict(call.headers)])
            scope = await self._case.runtime.arranger.known(self._request, names, of_its_own=True)
            where = f"effects.{self._request.operation.id}"
            return await self._case.runtime.fixtures.http(call, scope, where)
        operation = self._case.contract.operations[self._effect.operation]
        look = await self._case.arrange(operation, given=given_of(self._request), proven=False)
        return (await self._case.control(look, "effect observation")).value


def _pauses(within_s: float) -> Iterator[float]:
    """Pauses that are together as long as that, and a little longer each."""
    pause_s = _PAUSE_S
    while within_s > 0:
        yield min(pause_s, within_s)
        within_s, pause_s = within_s - pause_s, 1.5 * pause_s


def otherwise_than_once(case: Case, what: str, count: int, *answers: Answer) -> Signal:
    """What to raise where another number of effects than one was seen."""
    if not count:
        return too_few(case, f"{what} took effect no times", *answers, expected="1")
    return case.violated(f"{what} took effect {count} times", *answers, expected="1", observed=str(count))


def too_few(case: Case, message: str, *answers: Answer, expected: str) -> Signal:
    """What to raise where no effect was seen: Violated, if the sign was ever seen to move in this run."""
    name = case.operation.id
    if not case.runtime.signs.has_moved(name):
        return Inconclusive(f"the sign of {name} was not seen to move in this run", *answers, cause=f"effects.{name}")
    return case.violated(message, *answers, expected=expected, observed="0")


async def shown(case: Case, request: Request, purpose: str) -> Answer:
    """The 200 to a write that must be answered so, once its effect shows, where the profile says how to see it."""
    watched = request.operation.id in case.profile.effects
    oracle = await Oracle.watching(case, request) if watched else None
    answer = await case.control(request, purpose)
    if oracle is not None:
        await oracle.happened_soon()
    return answer


async def has_no_effect(case: Case, request: Request, refused: Request, purpose: str) -> None:
    """Violated if `refused`, a defective form of `request`, takes effect though it is turned down."""
    oracle = await Oracle.watching(case, request)
    answer = await case.send(refused, purpose)
    if answer.ok:
        raise Inconclusive(f"{purpose} was not refused", answer, cause=f"control:{case.operation.id}")
    if happened := await oracle.happened():
        raise case.violated(
            f"{purpose} was answered {answer.summary} and yet took effect",
            answer,
            expected="no effect",
            observed=f"{happened}",
        )
    await case.control(request)
    if not await oracle.happened_soon():
        raise Inconclusive("the effect of the control cannot be seen either", cause=f"effects.{case.operation.id}")
