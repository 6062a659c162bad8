"""A control of a read is proven by the same read of another check, sent after the defect and answered 200."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from conformance.checks.support import control_reads
from conformance.checks.support.control_reads import ControlReads
from conformance.client.request import Request
from conformance.contract import load_contract

READ = load_contract().operations["getStorefrontOrderCancellationEligibility"]
GOOD = Request(READ, path={"orderId": "o1"}, authorization=("Bearer k1",))
SINCE_S = 5.0


@dataclass
class Reply:
    """An answer, as far as what waits for a read looks at it."""

    request: Request
    ok: bool = True
    at: float = SINCE_S


@pytest.mark.parametrize(
    ("reply", "is_proof"),
    [
        (Reply(GOOD), True),
        (Reply(GOOD, at=SINCE_S + 1), True),
        (Reply(GOOD, at=SINCE_S - 0.1), False),
        (Reply(GOOD, ok=False), False),
        (Reply(GOOD.with_path(orderId="o2")), False),
        (Reply(GOOD.with_authorization("Bearer k2")), False),
        (Reply(GOOD.with_header("X-Other", "1")), False),
        (Reply(GOOD.with_query(page="1")), False),
    ],
)
def test_the_very_same_read_since_then_is_a_proof(
    monkeypatch: pytest.MonkeyPatch, reply: Reply, *, is_proof: bool
) -> None:
    """What differs in anything that is sent, began before, or was refused, proves nothing."""
    monkeypatch.setattr(control_reads, "_WAIT_S", 0.02)

    async def run() -> object:
        reads = ControlReads()
        waiting = asyncio.ensure_future(reads.wait(GOOD, SINCE_S, lambda: False))
        await asyncio.sleep(0)
        reads.note(reply)  # type: ignore[arg-type]
        found = await waiting
        assert not reads._pending
        return found

    assert (asyncio.run(run()) is reply) is is_proof


def test_two_that_wait_are_proven_by_one_read() -> None:
    """Each of them gets the answer, and one that is noted later is not needed."""

    async def run() -> list[object]:
        reads, reply = ControlReads(), Reply(GOOD)
        waiting = [asyncio.ensure_future(reads.wait(GOOD, SINCE_S, lambda: False)) for _ in range(2)]
        await asyncio.sleep(0)
        reads.note(reply)  # type: ignore[arg-type]
        reads.note(reply)  # type: ignore[arg-type]
        return [await found for found in waiting]

    assert all(isinstance(found, Reply) for found in asyncio.run(run()))


def test_where_nothing_is_under_way_a_read_is_not_waited_for() -> None:
    """At the end of a run nobody reads any more: after two looks the control is sent, not after a second."""

    async def run() -> float:
        loop = asyncio.get_running_loop()
        began, looks = loop.time(), iter([False, True, False, True, True])
        assert await ControlReads().wait(GOOD, SINCE_S, lambda: next(looks)) is None
        assert not list(looks)
        return loop.time() - began

    assert asyncio.run(run()) < control_reads._WAIT_S
