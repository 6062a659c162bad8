"""What a run finds out about a sign: by how much one effect moves it, and whether it moves with other calls too."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.sign_watch import SignWatch, pauses
from conformance.checks.support.signals import OBSTACLES, Signal
from conformance.checks.support.signs import LADDER_S

SHARED: Final = "moved with an unrelated call: it is shared with other calls"
READ: Final = "moves without a call of its own: with a read of it, or with other calls"
_SETTLE_S: Final = 0.2
_CLOCK_S: Final = 1.2
"""A clock in seconds moves in this time."""
_LOOKS: Final = 5
_UNPROVEN: Final = (Signal, *OBSTACLES)


async def calibrate(case: Case, watch: SignWatch) -> None:
    """Measures the unit of a sign without a step, once in a run: two single effects must move it by the same."""
    memory, name = case.runtime.memory, f"calibration of {watch.key}"
    if name not in memory:
        memory[name] = asyncio.ensure_future(_unit(case, watch))
    task = memory[name]
    assert isinstance(task, asyncio.Future)
    watch.unit = await asyncio.shield(task)


async def _unit(case: Case, watch: SignWatch) -> int | None:
    movements = []
    for _ in range(2):
        try:
            single = await _single_effect(case, watch)
        except _UNPROVEN:
            return None
        movements.append(single.movement() if single is not None and single.problem is None else None)
    unit = movements[0]
    return unit if isinstance(unit, int) and unit and unit == movements[1] else None


async def _single_effect(case: Case, watch: SignWatch, *, pause_s: float = 0.0) -> SignWatch | None:
    """The sign of another request after its one effect has shown; None where it was not answered 200, or did not."""
    request = await case.arrange(watch.operation)
    single = SignWatch(case, request, watch.effect, watch.key)
    await single.start()
    await asyncio.sleep(pause_s)
    if not (await case.send(request, "a single effect")).ok or not await until_moved(single):
        return None
    await asyncio.sleep(_SETTLE_S)
    await single.look()
    return single


async def until_moved(watch: SignWatch) -> bool:
    """Whether the sign moves in time; records its lag."""
    began, within_s = time.monotonic(), watch.effect.within_s
    for pause_s in (0.0, *(LADDER_S if within_s is None else pauses(within_s))):
        await asyncio.sleep(pause_s)
        if await watch.look():
            watch.note_move(time.monotonic() - began if pause_s else 0.0)
            return True
    return False


async def expect_private(case: Case, watch: SignWatch) -> None:
    """Examines a sign that has shown an unexpected effect, and records any doubt about it.

    Neither a read nor an unrelated call must move it, and without a step one effect must move it once at any time.
    """
    doubts = case.runtime.signs.doubts
    if watch.key in doubts:
        return
    try:
        doubt = await _doubt(case, watch)
    except _UNPROVEN:
        return
    if doubt is not None:
        doubts[watch.key] = doubt


async def _doubt(case: Case, watch: SignWatch) -> str | None:
    """Why the sign decides nothing; empty where it does, None where that could not be examined."""
    if not await _is_settled(watch):
        return "does not stay as it is while nothing is sent: it is shared with other calls"
    unchanged = SignWatch(case, await case.arrange(watch.operation), watch.effect, watch.key)
    await unchanged.start()
    if await unchanged.look():
        return READ
    single = await _single_effect(case, watch)
    if single is None:
        return None
    if await watch.look():
        return SHARED
    if watch.effect.step is None and single.effects != 1:
        return "moves more than once with one effect"
    if watch.effect.step is None and watch.unit is not None:
        timed = await _single_effect(case, watch, pause_s=_CLOCK_S)
        if timed is None or timed.movement() != watch.unit:
            return "does not move by the same with each effect"
    return ""


async def _is_settled(watch: SignWatch) -> bool:
    for _ in range(_LOOKS):
        await asyncio.sleep(max(_SETTLE_S, watch.lag_s))
        if not await watch.look():
            return True
    return False
