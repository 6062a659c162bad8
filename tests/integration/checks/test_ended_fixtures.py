"""A fixture that all reads share may end within a run, as carts do after some minutes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.client import fixtures as fixtures_module
from conformance.core.outcomes import Outcome
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, HttpCall, OperationFacts
from tests.support.check_runs import CONTRACT

READ = CONTRACT.operations["quotePublicCartCheckout"]


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
