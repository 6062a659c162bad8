"""Seeing that something happened: the profile's effect observations (`[effects]`)."""

from __future__ import annotations

import asyncio
import math
from typing import Any, Final

from conformance import strictjson
from conformance.checks.case import Case
from conformance.checks.signals import Inconclusive
from conformance.client.answer import Answer
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.profile import pointer
from conformance.profile.model import Effect

_LATER_S: Final = (0.1, 0.2, 0.4, 0.8, 1.5)


def _counted(value: Any) -> bool:
    """Whether a value is a number, be it written as `2.0`."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def given_of(request: Request) -> dict[str, Members]:
    """The fixtures that a request was made with, by kind."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in request.scope.items():
        kind, _, member = name.partition(".")
        if member and kind not in ("pkce", "dpop"):
            found.setdefault(kind, {})[member.rpartition(".")[2]] = value
    return dict(found)


class Oracle:
    """Watches one request's effect: `changed()` tells whether it happened since the last look, and how often."""

    def __init__(self, case: Case, request: Request, effect: Effect) -> None:
        self._case = case
        self._request = request
        self._effect = effect
        self._last: Any = None

    @classmethod
    async def watching(cls, case: Case, request: Request) -> Oracle:
        """An oracle that has looked once. Inapplicable where the profile tells no effect of the operation."""
        effect = case.profile.effects.get(request.operation.id)
        key = f"effects.{request.operation.id}"
        case.need(effect, key, "a way to see the effect is needed")
        assert effect is not None
        oracle = cls(case, request, effect)
        oracle._last = await oracle._look()
        return oracle

    @property
    def counts(self) -> bool:
        """Whether effects are counted, or only seen as a change."""
        return self._effect.step is not None

    async def happened(self) -> int:
        """Effects since the last look; without a step, 1 says that something changed."""
        before, self._last = self._last, await self._look()
        if self._effect.step is None:
            return int(not strictjson.same(before, self._last))
        if not (_counted(before) and _counted(self._last)):
            raise Inconclusive(f"effects.{self._request.operation.id} shows no number at {self._effect.pointer}")
        return int((self._last - before) // self._effect.step)

    async def happened_soon(self) -> int:
        """As `happened`, where something is expected: what is observed may show it a moment later."""
        count = await self.happened()
        for pause_s in _LATER_S if not count else ():
            await asyncio.sleep(pause_s)
            if count := await self.happened():
                break
        return count

    async def happened_once(self, case: Case, what: str, *answers: Answer) -> None:
        """Violated unless there was one effect since the last look."""
        if (count := await self.happened_soon()) != 1:
            raise case.violated(
                f"{what} took effect {count or 'no'} times", *answers, expected="1", observed=str(count)
            )

    async def _look(self) -> Any:
        value = await self._answer()
        if not pointer.has(value, self._effect.pointer):
            raise Inconclusive(f"effects.{self._request.operation.id} shows nothing at {self._effect.pointer}")
        return pointer.get(value, self._effect.pointer)

    async def _answer(self) -> Any:
        if self._effect.http is not None:
            where = f"effects.{self._request.operation.id}"
            return await self._case.runtime.fixtures.http(self._effect.http, self._request.scope, where)
        operation = self._case.contract.operations[self._effect.operation]
        look = await self._case.arrange(operation, given=given_of(self._request), proven=False)
        return (await self._case.control(look, "effect observation")).value


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
