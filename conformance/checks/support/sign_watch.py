"""Counts the effects of one request by one sign."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.sign_reader import Blind, SignReader, Unobservable, is_number
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.contract import Operation
from conformance.core import strict_json as strictjson
from conformance.core.errors import FixtureError
from conformance.profile.behavior import Effect

_PAUSE_S: Final = 0.1
_MAX_NUMBER: Final = 2.0**1000


def pauses(within_s: float) -> Iterator[float]:
    """Growing pauses with `within_s` as their sum."""
    pause_s = _PAUSE_S
    while within_s > 0:
        yield min(pause_s, within_s)
        within_s, pause_s = within_s - pause_s, 1.5 * pause_s


class SignWatch:
    """One sign of one request since its baseline. Where it cannot be read, `problem` says why, and nothing counts."""

    def __init__(self, case: Case, request: Request, effect: Effect, key: str) -> None:
        self.key = key
        self.effect = effect
        self.problem: Inconclusive | FixtureError | None = None
        self.value: Any = None
        self.effects = 0
        """The number of effects since the baseline at the last look; without a unit, the number of changes seen."""
        self.unit = effect.step
        """By how much one effect moves the value: the profile's step, or measured in this run; None: not known."""
        self._signs = case.runtime.signs
        self._reader = SignReader(case, request, effect, key)
        self._request = request
        self._baseline: Any = None

    @property
    def obstacle(self) -> Inconclusive | FixtureError | None:
        """Why it decides nothing now; None where its count may be believed."""
        if self.problem is not None:
            return self.problem
        if self._reader.awaits_answer:
            message = f"{self.key} is read by the answer of the call, and the call has none"
            return Unobservable(message, cause=self.key)
        doubt = self._signs.doubts.get(self.key)
        return self._blind(doubt) if doubt else None

    @property
    def operation(self) -> Operation:
        """The operation whose effect it shows."""
        return self._request.operation

    @property
    def awaits_answer(self) -> bool:
        return self._reader.awaits_answer

    @property
    def has_moved(self) -> bool:
        """Whether the sign has moved in this run, for any request."""
        return self.key in self._signs.lag_s

    @property
    def lag_s(self) -> float:
        """How long an effect may take to show, by the profile or by this run."""
        within_s = self.effect.within_s
        return self._signs.observed_lag_s(self.key) if within_s is None else within_s

    async def start(self) -> None:
        """Takes the baseline when earlier writes of the suite on the same object show, and the object itself."""
        await self._read()
        for pause_s in pauses((self.effect.within_s or 0.0) if isinstance(self.problem, Blind) else 0.0):
            await asyncio.sleep(pause_s)
            await self._read()
            if self.problem is None:
                break
        values = self._request.path.values()
        for pause_s in pauses(self._signs.unsettled_s(values, self.key, self.effect.within_s)):
            before = self.value
            await asyncio.sleep(pause_s)
            await self._read()
            if not strictjson.is_equal(before, self.value):
                break
        self._baseline = self.value

    async def _read(self) -> None:
        try:
            self.value, self.problem = await self._reader.read(), None
        except (Inconclusive, FixtureError) as problem:
            self.problem = problem

    async def look(self) -> int:
        """Updates `effects`, and returns by how many they have grown."""
        before, effects = self.value, self.effects
        await self._read()
        if self.problem is not None:
            return 0
        if self.unit is None:
            self.effects += not strictjson.is_equal(before, self.value)
        else:
            self._count_units(self.unit)
        return self.effects - effects

    def _count_units(self, unit: int) -> None:
        moved = movement(self._baseline, self.value, lengths=self.effect.step is None)
        if moved is None:
            both = is_number(self.value) and is_number(self._baseline)
            problem = "numbers that cannot be compared" if both else f"no number at {self.effect.pointer}"
            self.problem = self._blind(f"shows {problem}")
        elif moved // unit < 0:
            self.problem = self._blind("went backwards: it is not a count of effects")
        elif self.effect.step is None and moved % unit:
            self.problem = self._blind("does not move by the same with each effect")
        else:
            self.effects = int(moved // unit)

    def movement(self) -> float | int | None:
        """By how much the value has grown since the baseline; None where that is not a number."""
        return movement(self._baseline, self.value, lengths=True)

    def note_move(self, lag_s: float) -> None:
        """Records that the sign has moved, with its lag."""
        self._signs.note_move(self.key, lag_s)

    def _blind(self, problem: str) -> Blind:
        return Blind(f"{self.key} {problem}", cause=self.key)


def movement(before: Any, after: Any, *, lengths: bool) -> float | int | None:
    """By how much a value has grown: a number by a difference, an array by its length; None for anything else."""
    if lengths and isinstance(before, list) and isinstance(after, list):
        return len(after) - len(before)
    if not (is_number(before) and is_number(after)):
        return None
    if isinstance(before, int) and isinstance(after, int):
        return after - before
    return after - before if max(abs(before), abs(after)) < _MAX_NUMBER else None
