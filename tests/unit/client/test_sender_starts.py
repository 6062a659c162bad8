"""Requests that go out together: at once, and at the stated rate on the average."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from conformance.client.sender import Sender
from tests.support.senders import IDENTITY

ACCEPTED = frozenset({429})
RATE = 40


async def starts_of(flow: Sender, count: int) -> list[float]:
    """When each of some concurrent requests that accept a 429 is answered."""

    async def send() -> float:
        await flow.send(IDENTITY, accept_statuses=ACCEPTED)
        return time.perf_counter()

    return await asyncio.gather(*(send() for _ in range(count)))


@pytest.mark.parametrize("planned", [8, 1])
def test_they_go_out_at_once_and_the_average_is_kept(through: Any, answer: Any, planned: int) -> None:
    """Nine starts take eight intervals: those waited for in advance, and those that the next request waits for."""

    async def work(flow: Sender) -> tuple[float, float]:
        began = time.perf_counter()
        async with flow.reserve_starts(planned):
            starts = await starts_of(flow, 8)
        await flow.send(IDENTITY)
        return max(starts) - min(starts), time.perf_counter() - began

    (spread_s, elapsed_s), _, flow, _ = through(lambda arrived: answer(), work, rate=RATE)
    assert spread_s < 4 / RATE
    assert elapsed_s >= 0.95 * 8 / RATE - 1 / RATE
    assert flow.requests == 9


def test_a_request_that_accepts_no_429_keeps_its_pace(through: Any, answer: Any) -> None:
    """Such as the calls that create what is needed."""

    async def work(flow: Sender) -> float:
        began = time.perf_counter()
        async with flow.reserve_starts(1):
            await asyncio.gather(*(flow.send(IDENTITY) for _ in range(5)))
        return time.perf_counter() - began

    assert through(lambda arrived: answer(), work, rate=RATE)[0] >= 0.95 * 4 / RATE


def test_within_another_context_nothing_is_waited_for(through: Any, answer: Any) -> None:
    """A call and its duplicate are parts of one step, a few milliseconds apart."""

    async def work(flow: Sender) -> float:
        async with flow.reserve_starts(4):
            began = time.perf_counter()
            async with flow.reserve_starts(2):
                await starts_of(flow, 2)
            async with flow.reserve_starts(2):
                await starts_of(flow, 2)
            return time.perf_counter() - began

    assert through(lambda arrived: answer(), work, rate=5)[0] < 0.2


def test_without_a_rate_nothing_is_waited_for(through: Any, answer: Any) -> None:
    async def work(flow: Sender) -> float:
        async with flow.reserve_starts(100):
            await starts_of(flow, 4)
        return flow.waited_s

    assert through(lambda arrived: answer(), work)[0] == 0
