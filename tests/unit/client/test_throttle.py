"""How many at once, and how fast: the limit is reached and never exceeded, and follows what the target says."""

from __future__ import annotations

import asyncio
import time

import pytest

from conformance.client import throttle as module
from conformance.client.throttle import ConcurrencyLimiter, Pacer, StartAllowance, high_priority, start_allowance


async def crowd(gate: ConcurrencyLimiter, size: int, hold_s: float = 0.002) -> None:
    async def one() -> None:
        async with gate:
            assert gate.in_flight <= gate.limit
            await asyncio.sleep(hold_s)

    await asyncio.gather(*(one() for _ in range(size)))
    assert gate.in_flight == 0


@pytest.mark.parametrize("limit", [1, 2, 16, 64])
def test_the_limit_is_reached_and_never_exceeded(limit: int) -> None:
    """As many as allowed are in flight when there are enough, and not one more."""
    gate = ConcurrencyLimiter(limit)
    asyncio.run(crowd(gate, limit * 4))
    assert gate.most_in_flight == limit


def test_they_enter_in_the_order_they_came() -> None:
    """Nobody overtakes those who wait."""

    async def main() -> list[int]:
        gate, order = ConcurrencyLimiter(1), []

        async def one(number: int) -> None:
            async with gate:
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(one(number) for number in range(20)))
        return order

    assert asyncio.run(main()) == list(range(20))


def test_who_is_in_a_hurry_overtakes_those_who_are_not() -> None:
    """Among themselves they keep their order, and everybody gets in."""

    async def main() -> list[int]:
        gate, order = ConcurrencyLimiter(1), []

        async def one(number: int) -> None:
            high_priority.set(number >= 10)
            async with gate:
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(asyncio.create_task(one(number)) for number in range(13)))
        return order

    assert asyncio.run(main()) == [0, 10, 11, 12, *range(1, 10)]


def test_whoever_gives_up_keeps_no_place() -> None:
    """Cancelled while waiting, or just as it was let in: the place goes to the next."""

    async def main() -> None:
        gate = ConcurrencyLimiter(1)
        entered = asyncio.Event()

        async def hold(seconds: float) -> None:
            async with gate:
                entered.set()
                await asyncio.sleep(seconds)

        first = asyncio.ensure_future(hold(30))
        await entered.wait()
        waiting = [asyncio.ensure_future(hold(0)) for _ in range(5)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        first.cancel()
        await asyncio.sleep(0)
        waiting[1].cancel()
        done = await asyncio.wait_for(asyncio.gather(first, *waiting, return_exceptions=True), 2)
        assert done[3:] == [None, None, None]
        assert gate.in_flight == 0

    asyncio.run(main())


def test_crowds_of_429_narrow_it_and_answers_widen_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most answers are 429: fewer at once, down to one. They cease: back to the limit, not beyond."""
    monkeypatch.setattr(module, "_SHRINK_EVERY_S", 0.0)
    gate = ConcurrencyLimiter(16)
    for _ in range(60):
        gate.note_answer(True)
    assert gate.width == 1
    asyncio.run(crowd(gate, 8))
    assert gate.most_in_flight == 1
    for _ in range(400):
        gate.note_answer(False)
    assert gate.width == 16
    asyncio.run(crowd(gate, 64))
    assert gate.most_in_flight == 16


def test_a_stray_429_narrows_nothing() -> None:
    """One in ten is not a crowd."""
    gate = ConcurrencyLimiter(16)
    for number in range(100):
        gate.note_answer(number % 10 == 9)
    assert gate.width == 16


def test_one_burst_narrows_once() -> None:
    """Thirty-two requests that were refused together are one sign, not thirty-two."""
    gate = ConcurrencyLimiter(32)
    for _ in range(32):
        gate.note_answer(True)
    assert gate.width >= 32 * 0.7


def test_widening_lets_those_in_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that widens the gate admits at once."""
    monkeypatch.setattr(module, "_SHRINK_EVERY_S", 0.0)

    async def main() -> None:
        gate = ConcurrencyLimiter(4)
        for _ in range(40):
            gate.note_answer(True)
        release = asyncio.Event()

        async def hold() -> None:
            async with gate:
                await release.wait()

        tasks = [asyncio.ensure_future(hold()) for _ in range(4)]
        await asyncio.sleep(0.01)
        assert gate.in_flight == 1
        for _ in range(40):
            gate.note_answer(False)
        await asyncio.sleep(0.01)
        assert gate.in_flight == 4
        release.set()
        await asyncio.gather(*tasks)

    asyncio.run(main())


def test_the_pace_is_kept() -> None:
    """Starts are evenly spaced at the rate, however many want to start at once."""

    async def main() -> list[float]:
        pace, starts = Pacer(100), []

        async def one() -> None:
            await pace()
            starts.append(time.monotonic())

        await asyncio.gather(*(one() for _ in range(11)))
        return sorted(starts)

    starts = asyncio.run(main())
    assert starts[-1] - starts[0] >= 0.095


@pytest.mark.parametrize("rate", [None, 0])
def test_no_rate_no_waiting(rate: float | None) -> None:
    """Without a rate nobody waits, not even for the loop."""

    async def main() -> list[float]:
        pace = Pacer(rate)
        return [await pace() for _ in range(1000)]

    assert set(asyncio.run(main())) == {0.0}


def test_starts_that_did_not_wait_delay_what_follows() -> None:
    """The average is kept: a timer that was set before does not let the next one through too early."""

    async def main() -> float:
        pace, began = Pacer(100), time.monotonic()
        await pace()
        waiting = asyncio.ensure_future(pace())
        await asyncio.sleep(0)
        for _ in range(9):
            pace.charge()
        await waiting
        return time.monotonic() - began

    assert asyncio.run(main()) >= 0.095


@pytest.mark.parametrize("count", [3, 8])
def test_a_group_has_its_places_at_once(count: int) -> None:
    """At most as many as there are; however narrow the width, and others enter before and after it."""

    async def main() -> tuple[list[int], int]:
        gate, sizes = ConcurrencyLimiter(4), []
        gate.width = 1.0

        async def one() -> None:
            async with gate:
                await asyncio.sleep(0.002)

        others = [asyncio.ensure_future(one()) for _ in range(9)]
        await asyncio.sleep(0)
        allowance = StartAllowance(count)
        await gate.reserve(allowance, count)
        reserved = allowance.places
        token = start_allowance.set(allowance)

        async def member() -> None:
            async with gate:
                sizes.append(gate.in_flight)
                await asyncio.sleep(0.005)

        await asyncio.gather(*(member() for _ in range(count)))
        start_allowance.reset(token)
        gate.release(allowance)
        await asyncio.gather(*others)
        assert (gate.in_flight, gate._reserved) == (0, 0)
        return sizes, reserved

    sizes, reserved = asyncio.run(main())
    assert reserved == min(count, 4)
    assert reserved <= max(sizes) <= 4


def test_a_group_that_is_cancelled_leaves_its_places() -> None:
    """Those that it has, and the one that it waits for: what waits behind it enters."""

    async def main() -> None:
        gate, allowance = ConcurrencyLimiter(2), StartAllowance(2)
        await gate.__aenter__()
        group = asyncio.ensure_future(gate.reserve(allowance, 2))
        await asyncio.sleep(0)
        waiting = asyncio.ensure_future(crowd(gate, 3))
        await asyncio.sleep(0)
        group.cancel()
        await asyncio.gather(group, return_exceptions=True)
        gate.release(allowance)
        await gate.__aexit__()
        await asyncio.wait_for(waiting, 2)

    asyncio.run(main())
