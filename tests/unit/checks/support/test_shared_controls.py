"""Negatives that share a control are judged as each would be alone, and cost one control."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from conformance.checks.support.shared_controls import SharedControl
from conformance.checks.support.signals import Inapplicable, Violation
from conformance.client.request import Request
from conformance.contract import load_contract


class Reply:
    """An answer, as far as a shared control looks at it."""

    def __init__(self, status: int) -> None:
        self.ok = status == 200
        self.ref = object()


class Desk:
    """Counts what is arranged and proven."""

    def __init__(self, proof: int = 200, operation: str = "quotePublicCart") -> None:
        self.arranged = self.proven = 0
        self.request = Request(load_contract().operations[operation])
        self.proof = proof
        self.control = SharedControl()

    async def arrange(self) -> Any:
        self.arranged += 1
        return self.request

    async def prove(self, _: Any) -> Any:
        self.proven += 1
        return Reply(self.proof)

    async def negative(self, status: int, is_idle: Callable[[], bool] = lambda: True) -> Any:
        async def refuse(_: Any) -> Any:
            await asyncio.sleep(0)
            if status == 0:
                raise Inapplicable("nothing to send")
            if status in (200, 500):
                raise Violation("not refused", Reply(status))  # type: ignore[arg-type]
            return Reply(status)

        return await self.control.negative(self.arrange, refuse, self.prove, is_idle)

    def run(self, *statuses: int) -> list[Any]:
        async def together() -> list[Any]:
            tasks = (asyncio.wait_for(self.negative(status), 5) for status in statuses)
            return await asyncio.gather(*tasks, return_exceptions=True)

        return asyncio.run(together())


def test_negatives_at_once_have_one_request_and_one_control() -> None:
    """All of them get the control's 200."""
    desk = Desk()
    results = desk.run(401, 400, 404)
    assert [answer.ok for answer, _ in results] == [False] * 3
    assert len({proof for _, proof in results}) == 1
    assert all(proof.ok for _, proof in results)
    assert (desk.arranged, desk.proven) == (1, 1)


def test_a_control_that_is_refused_is_given_to_all() -> None:
    """Whoever gets it asks again, alone."""
    assert [proof.ok for _, proof in Desk(proof=409).run(401, 401)] == [False, False]


def test_what_was_answered_200_leaves_the_others_without_a_proof() -> None:
    """It may have used the request up; those after it have another one."""
    desk = Desk()
    first, violated, last = desk.run(401, 200, 401)
    assert isinstance(violated, Violation)
    assert first[1] is None
    assert last[1].ok
    assert desk.arranged == 2


@pytest.mark.parametrize(("proof", "is_raised"), [(200, True), (409, False)])
def test_another_answer_is_a_violation_only_where_the_control_is_good(proof: int, is_raised: bool) -> None:
    """A 500 to everything says nothing of the defect."""
    (result,) = Desk(proof=proof).run(500)
    assert isinstance(result, Violation) is is_raised


@pytest.mark.parametrize("order", [(0, 401), (401, 0), (0,), (401, 0, 0, 401)])
def test_one_that_sends_nothing_does_not_keep_the_others_waiting(order: tuple[int, ...]) -> None:
    """Wherever it stands."""
    results = Desk().run(*order)
    for status, result in zip(order, results, strict=True):
        assert isinstance(result, Inapplicable) if status == 0 else result[1].ok


@pytest.mark.parametrize(("operation", "controls"), [("exchangeOAuthToken", 3), ("quotePublicCart", 2)])
def test_a_request_is_proven_again_after_a_dozen_refusals_or_two(operation: str, controls: int) -> None:
    """A code may expire, and a target may lock what is misused often: sooner a code or a ticket than a cart."""
    desk = Desk(operation=operation)
    assert len(desk.run(*[401] * 30)) == 30
    assert (desk.arranged, desk.proven) == (controls, controls)


@pytest.mark.parametrize(("is_idle", "controls"), [(False, 1), (True, 2)])
def test_a_control_waits_for_the_next_negative_while_the_run_sends_something(is_idle: bool, controls: int) -> None:
    """The next one needs no control of its own then. Where nothing is sent, none is to be expected."""
    desk, looked = Desk(), asyncio.Event()

    def look() -> bool:
        looked.set()
        return is_idle

    async def later() -> Any:
        await looked.wait()
        return await desk.negative(400)

    async def both() -> list[Any]:
        return await asyncio.gather(desk.negative(401, look), later())

    results = asyncio.run(both())
    assert all(proof.ok for _, proof in results)
    assert (desk.arranged, desk.proven) == (controls, controls)


def test_a_cancelled_negative_does_not_keep_the_others_waiting() -> None:
    """The one that waits for its turn, and the one that has it."""
    desk = Desk()

    async def cancel_one() -> list[Any]:
        tasks = [asyncio.create_task(desk.negative(401)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[-1].cancel()
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)

    results = asyncio.run(cancel_one())
    assert isinstance(results[-1], asyncio.CancelledError)
    assert not any(isinstance(result, Exception) for result in results[:2])
