"""A pace that nobody stated is found and left again; what is waited for is told; what must not be repeated is known."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from conformance.client import throttle as module
from conformance.client.dpop import Proof, ProofKey
from conformance.client.request import Request, repeatable
from conformance.client.throttle import AdaptivePacer, ConcurrencyLimiter, Pacer, high_priority, start_order
from conformance.client.wait_stats import WaitStats
from conformance.contract import load_contract
from tests.support.values import replace

OPERATIONS = load_contract().operations


def limited_for(follower: AdaptivePacer, seconds: float, monkeypatch: pytest.MonkeyPatch, *, through: int) -> None:
    """So long 429s, with so many other answers among them, on a clock of our own."""
    now = time.monotonic()
    steps = 10 * (through or 2)
    for step in range(steps + 1):
        monkeypatch.setattr(module.time, "monotonic", lambda step=step: now + seconds * step / steps)
        follower.note_answer(not through or step % 10 != 5)
    monkeypatch.undo()


def test_the_pace_is_what_was_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where most answers were 429 for a while, no more is sent than was answered meanwhile."""
    follower = AdaptivePacer()
    limited_for(follower, 2.2, monkeypatch, through=11)
    assert follower.rate == pytest.approx(5, abs=1.5)
    assert follower.slowest_rate == pytest.approx(5, abs=1.5)


def test_a_limit_that_is_soon_over_is_no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another shard may be looking at the target's limits just now."""
    follower = AdaptivePacer()
    limited_for(follower, 1.5, monkeypatch, through=7)
    assert follower.rate is None


def test_the_pace_stays_within_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few answers there are for a while, it is not slower than the least rate; and never above the greatest."""
    follower = AdaptivePacer((50.0, 95.0))
    limited_for(follower, 2.2, monkeypatch, through=11)
    assert follower.rate == pytest.approx(50)
    for _ in range(500):
        follower.note_answer(False)
    assert follower.rate == 95.0
    for _ in range(500):
        follower.note_answer(True)
    assert follower.rate == 50.0


def test_a_target_that_lets_nothing_through_is_still_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    follower = AdaptivePacer()
    limited_for(follower, 5.0, monkeypatch, through=0)
    assert follower.rate == module._MIN_RATE


@pytest.mark.parametrize("every", [4, 5, 10])
def test_chance_429s_are_no_pace(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long they come."""
    follower, now = AdaptivePacer(), time.monotonic()
    for step in range(2000):
        monkeypatch.setattr(module.time, "monotonic", lambda step=step: now + step / 100)
        follower.note_answer(step % every == 0)
    assert follower.rate is None


def test_answers_leave_the_pace_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one 429 in five too: some hundred answers later nobody waits for a pace any more."""
    follower = AdaptivePacer()
    limited_for(follower, 2.2, monkeypatch, through=11)
    for step in range(1500):
        follower.note_answer(step % 5 == 0)
    assert follower.rate is None
    assert follower.slowest_rate is not None


def test_who_is_hurried_has_the_next_turn() -> None:
    """A long chain is not held up by the many that wait for the pace."""

    async def main() -> list[int]:
        pace, order = Pacer(100), []

        async def one(number: int) -> None:
            high_priority.set(number == 9)
            await pace()
            order.append(number)

        await asyncio.gather(*(asyncio.create_task(one(number)) for number in range(10)))
        return order

    assert asyncio.run(main())[:2] == [0, 9]


@pytest.mark.parametrize("way", [lambda: Pacer(100), lambda: ConcurrencyLimiter(1)], ids=["pace", "gate"])
def test_what_began_earlier_goes_on_earlier(way: Callable[[], Any]) -> None:
    """However many begin meanwhile: of ten that send three requests each, one is done before the next comes far.

    Else what a target keeps for a while, an idempotency key, a code, would be gone when a check comes back to it.
    """

    async def main() -> list[int]:
        place, order = way(), []

        async def one(number: int) -> None:
            start_order.set(number)
            for _ in range(3):
                if isinstance(place, ConcurrencyLimiter):
                    async with place:
                        await asyncio.sleep(0.001)
                else:
                    await place()
                order.append(number)

        await asyncio.gather(*(asyncio.create_task(one(number)) for number in range(10)))
        return order

    order = asyncio.run(main())
    taken = [len(order) - order[::-1].index(number) - order.index(number) for number in range(10)]
    assert max(taken) <= 5, order


def test_who_gives_up_takes_no_turn() -> None:
    """A cancelled request is passed over."""

    async def main() -> None:
        pace = Pacer(1)
        await pace()
        tasks = [asyncio.ensure_future(pace()) for _ in range(100)]
        await asyncio.sleep(0)
        for task in tasks[:-1]:
            task.cancel()
        await asyncio.wait_for(tasks[-1], 50)  # with their turns it would be 100 s

    asyncio.run(main())


def test_what_is_waited_for_is_told_and_counted_once_by_the_clock() -> None:
    """Ten that wait at once: ten times in all, once by the clock."""

    async def main() -> WaitStats:
        waiting = WaitStats()

        async def one(why: str) -> None:
            async with waiting.measure(why):
                await asyncio.sleep(0)  # until all of them wait
                assert waiting.description == "waiting: the target answered 429"
                await asyncio.sleep(0.05)

        await asyncio.gather(*(one("429") for _ in range(9)), one("lost"))
        return waiting

    waiting = asyncio.run(main())
    assert waiting.description == ""
    assert (waiting.counts["429"], waiting.counts["lost"]) == (9, 1)
    assert waiting.total_s >= 0.5
    assert 0.05 <= waiting.clock_s <= waiting.total_s / 5  # counted once for each of ten it would be equal


CREATE = Request(OPERATIONS["createInstallationWebhook"], body={}, key="k")
TOKEN = Request(OPERATIONS["exchangeOAuthToken"], body={}, key="k", proof=Proof(ProofKey.new()))


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (Request(OPERATIONS["getApiKeyIdentity"]), True),
        (replace(Request(OPERATIONS["getApiKeyIdentity"]), method="POST"), False),
        (CREATE, True),
        (CREATE.with_key(None), False),
        (CREATE.with_key(""), False),
        (TOKEN, True),
        (TOKEN.with_proof(Proof(ProofKey.new(), claims={"jti": "j"})), False),
    ],
)
def test_what_may_be_repeated_when_its_answer_was_lost(request_: Request, wanted: bool) -> None:
    """A read; a write that its key protects, unless its proof is to be used once."""
    assert repeatable(request_) is wanted
