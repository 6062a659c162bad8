"""A fixture that all reads share may end within a run, as carts do after some minutes."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from conformance.checks.support import certainty
from conformance.checks.support.case import Case
from conformance.client import fixtures as fixtures_module
from conformance.core.outcomes import Outcome
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, HttpCall, OperationFacts
from tests.support.check_runs import CONTRACT

READ, QUOTE = CONTRACT.operations["quotePublicCartCheckout"], CONTRACT.operations["quotePublicCart"]
_LIFETIME_S = 0.2


class EndingCarts:
    """A target whose carts end after one read, or all carts but the first one are lost."""

    def __init__(self, answer: Any, *, are_lost: bool) -> None:
        self._answer, self._are_lost = answer, are_lost
        self.carts = 0
        self.reads: dict[str, int] = {}

    def __call__(self, arrived: Any) -> bytes:
        if arrived.target == "/carts":
            self.carts += 1
            return bytes(self._answer(200, {"id": f"cart-{self.carts}"}))
        cart = arrived.target.split("/")[-2]
        self.reads[cart] = self.reads.get(cart, 0) + 1
        has_ended = self.reads[cart] > 1 and cart == "cart-1"
        if has_ended or (self._are_lost and cart != "cart-1"):
            return bytes(self._answer(404, {"error": "no such cart"}))
        return bytes(self._answer(200, {"data": {"id": cart}}))


@pytest.mark.parametrize(
    ("are_old", "are_lost", "outcome"),
    [(True, False, Outcome.PASSED), (True, True, Outcome.FAILED), (False, False, Outcome.FAILED)],
    ids=["ended", "lost", "new"],
)
def test_a_cart_that_ended_is_no_failure(
    judged: Any, answer: Any, monkeypatch: pytest.MonkeyPatch, *, are_old: bool, are_lost: bool, outcome: Outcome
) -> None:
    """The check runs again with another cart; one that is seconds old has not ended, and no second one is asked for."""
    monkeypatch.setattr(fixtures_module, "_LEAST_AGE_S", 0.0 if are_old else 60.0)

    async def law(case: Case) -> None:
        fixtures: Any = case.profile.fixtures
        fixtures["cart"] = {"open": Fixture("cart", "open", http=HttpCall(f"{case.profile.base_url}/carts"))}
        found = await case.send(await case.arrange(), "a good read")
        if not found.ok:
            raise case.violation("a good read was refused", found)

    target = EndingCarts(answer, are_lost=are_lost)

    def script(arrived: Any) -> bytes:
        return target(arrived)

    operations = {READ.id: OperationFacts(path={"cartId": "{cart.id}"})}
    keys = {"full": Credential("full", SecretSource(env="X"), frozenset({READ.scope}))}
    result, _ = judged(script, law, READ, fixtures={}, operations=operations, credentials=keys)
    assert result.outcome is outcome, (result, json.dumps(target.reads))
    assert target.carts == (1 if not are_old else 3 if are_lost else 2)


class BriefCarts:
    """A target whose carts, which are provided four at a time, end after a moment. `broken`: no cart can be used."""

    def __init__(self, answer: Any, *, broken: bool = False) -> None:
        self._answer, self._broken = answer, broken
        self.made_at: list[float] = []

    def __call__(self, arrived: Any) -> bytes:
        if arrived.target == "/carts":
            carts = [{"id": f"cart-{len(self.made_at) + number}"} for number in range(4)]
            self.made_at += [time.monotonic()] * len(carts)
            return bytes(self._answer(200, {"carts": carts}))
        cart = int(arrived.target.split("/")[-2].removeprefix("cart-"))
        is_good = time.monotonic() < self.made_at[cart] + _LIFETIME_S and not self._broken
        return bytes(self._answer(200 if is_good else 409, {"data": {}} if is_good else {"error": "ended"}))


async def _wait(seconds: float) -> None:
    """By the loop's own clock: the fixture of these tests shortens asyncio.sleep."""
    loop = asyncio.get_running_loop()
    turn = loop.create_future()
    loop.call_later(seconds, turn.set_result, None)
    await turn


@pytest.mark.parametrize(
    ("slow_attempts", "is_used_at_once", "broken", "outcome"),
    [
        (1, False, False, Outcome.PASSED),
        (9, False, False, Outcome.INCONCLUSIVE),
        (1, False, True, Outcome.FAILED),
        (9, True, False, Outcome.FAILED),
    ],
    ids=["once", "always", "refused when new", "held by the check"],
)
def test_a_cart_that_waited_for_its_first_call_is_no_failure(
    judged: Any,
    answer: Any,
    monkeypatch: pytest.MonkeyPatch,
    *,
    slow_attempts: int,
    is_used_at_once: bool,
    broken: bool,
    outcome: Outcome,
) -> None:
    """The check runs again with another cart, of another batch, before a refusal counts.

    How long a check uses its cart after the first call is part of its question.
    """
    monkeypatch.setattr(certainty, "_LEAST_LIFETIME_S", 1.0 + _LIFETIME_S / 2)
    attempts = 0

    async def law(case: Case) -> None:
        nonlocal attempts
        attempts += 1
        provider = HttpCall(f"{case.profile.base_url}/carts", method="POST")
        fixtures: Any = case.profile.fixtures
        fixtures["cart"] = {"open": Fixture("cart", "open", http=provider, items="/carts")}
        request = await case.arrange(prove_control=False)
        if is_used_at_once:
            await case.send(request, "a good call")
        await _wait(2 * _LIFETIME_S if attempts <= slow_attempts else 0.0)
        found = await case.send(request.with_fresh_key(), "another good call")
        if not found.ok:
            raise case.violation("a good call was refused", found)

    target = BriefCarts(answer, broken=broken)

    def script(arrived: Any) -> bytes:
        return target(arrived)

    operations = {QUOTE.id: OperationFacts(body={"reason": "x"}, path={"cartId": "{cart.id}"})}
    keys = {"full": Credential("full", SecretSource(env="X"), frozenset({QUOTE.scope}))}
    result, _ = judged(script, law, QUOTE, fixtures={}, operations=operations, credentials=keys)
    assert result.outcome is outcome, result
    assert len(target.made_at) == 4 * attempts, "what was provided in advance was used again"
