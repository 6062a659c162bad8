"""Facts about signs of effects: one call moves a sign by its step and in time, and an unrelated call does not."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Final

from conformance.checks.support.calibration import SHARED, until_moved
from conformance.checks.support.case import Case
from conformance.checks.support.context import Runtime
from conformance.checks.support.sign_reader import Unobservable
from conformance.checks.support.sign_watch import SignWatch, pauses
from conformance.checks.support.signals import Signal
from conformance.checks.support.signs import sign_key
from conformance.client.fixtures import NotSent
from conformance.client.request_builder import MissingFact
from conformance.contract import Operation
from conformance.core.errors import FixtureError
from conformance.profile.behavior import Effect
from conformance.setup.doctor.facts import Fact, proven, unsure, wrong

_LATE_S: Final = 1.5
"""For this time after the stated one it is observed whether an effect shows late."""
_LAST_MOVE_S: Final = 0.3
"""After this time an unrelated call has moved what it moves, where no lag is stated."""
_NARROW: Final = "count by what the call alone has: its object, {unique}, {answer:/data/id}"


async def sign_facts(runtime: Runtime, operations: list[Operation]) -> list[Fact]:
    """One fact for each sign of these operations, whose controls must be proven. All are examined concurrently."""
    profile = runtime.settings.profile
    trials = []
    for operation in operations:
        signs = profile.effects[operation.id]
        for index, effect in enumerate(signs):
            trials.append(_Trial(Case(runtime, operation), effect, sign_key(operation.id, index, len(signs))))
    return list(await asyncio.gather(*(trial.examine() for trial in trials)))


class _Trial:
    """One change and one unrelated call for a sign."""

    def __init__(self, case: Case, effect: Effect, key: str) -> None:
        self._case = case
        self._effect = effect
        self._key = key

    async def examine(self) -> Fact:
        try:
            return await self._fact()
        except Unobservable as obstacle:
            return unsure(self._key, obstacle.message, "state `absent`, or another sign beside it")
        except (FixtureError, Signal) as error:
            return wrong(self._key, str(error), "how can the effect be observed?")
        except (MissingFact, NotSent) as missing:
            return unsure(self._key, str(missing))

    async def _fact(self) -> Fact:
        case, effect = self._case, self._effect
        request = await case.arrange()
        watch = SignWatch(case, request, replace(effect, step=None), self._key)  # any movement counts
        await watch.start()
        if watch.problem is not None:
            raise watch.problem
        await case.control(request, "a change")
        began = time.monotonic()
        if not await until_moved(watch):
            return await self._late_fact(watch, began)
        wrong_step = self._step_fact(watch)
        await asyncio.sleep(watch.lag_s)
        await watch.look()
        await case.control(await case.arrange(), "an unrelated call")
        await asyncio.sleep(max(watch.lag_s, _LAST_MOVE_S if effect.within_s is None else 0.0))
        if await watch.look():
            return wrong(self._key, SHARED, _NARROW)
        if wrong_step is not None:
            return wrong_step
        if watch.problem is not None:
            raise watch.problem
        return proven(self._key, "moved with one call, and stayed with an unrelated one")

    async def _late_fact(self, watch: SignWatch, began: float) -> Fact:
        if watch.problem is not None:
            raise watch.problem
        for pause_s in pauses(_LATE_S):
            await asyncio.sleep(pause_s)
            if await watch.look():
                shown_s = time.monotonic() - began
                message = f"shows an effect after {shown_s:.1f} s, and within_s is {self._effect.within_s}"
                return wrong(self._key, message, f"within_s = {2 * shown_s:.0f}")
        place = self._effect.pointer
        return wrong(self._key, f"the value at {place} did not move with a call answered 200", "is it the right value?")

    def _step_fact(self, watch: SignWatch) -> Fact | None:
        """What is wrong with the stated step, by the first movement."""
        step, moved = self._effect.step, watch.movement()
        if step is None or moved is None or moved == step:
            return None
        return wrong(self._key, f"moved by {moved} with one call, and step is {step}", f"step = {moved}")
