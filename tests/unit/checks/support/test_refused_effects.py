"""A refused call that was carried out: the state of its resource shows it, and nothing else may pass for that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.refused_effects import examine_failed_control, expect_no_effect
from conformance.client.request import Request
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Effect
from conformance.profile.resources import HttpCall
from tests.support.check_runs import CONTRACT

QUOTE = CONTRACT.operations["quotePublicCart"]


@pytest.mark.parametrize(
    ("after_refusal", "outcome"),
    [("done", Outcome.FAILED), ("locked", Outcome.INCONCLUSIVE), ("open", Outcome.PASSED)],
    ids=["carried out", "another state", "no effect"],
)
def test_only_the_refusal_of_a_call_that_was_carried_out_shows_one(
    judged: Any, answer: Any, after_refusal: str, outcome: Outcome
) -> None:
    """The good call afterwards is refused as after a good call: not for any other reason, such as a lock."""
    states: dict[str, str] = {}

    def script(arrived: Any) -> bytes:
        cart = arrived.target.split("/")[-2]
        if not arrived.all("authorization"):
            states[cart] = after_refusal
            return bytes(answer(401, {"error": "no key"}))
        state = states.get(cart, "open")
        states[cart] = "done" if state == "open" else state
        return bytes(answer(200, {"data": {}}) if state == "open" else answer(409, {"error": state}))

    async def without_key(request: Request) -> Request:
        return request.with_authorization()

    async def law(case: Case) -> None:
        request = await case.arrange()
        await case.send(await without_key(request), "no key")
        async with examine_failed_control(case, without_key, "a write without a key"):
            await case.control(request)

    result, _ = judged(script, law, QUOTE)
    assert result.outcome is outcome, result
    assert outcome is not Outcome.FAILED or "yet carried out" in result.message


def test_an_effect_that_no_sign_shows_is_found_by_the_state(judged: Any, answer: Any) -> None:
    """The counter stands still, and the cart is quoted all the same."""
    states: dict[str, bool] = {}
    counted: dict[str, int] = {}

    def script(arrived: Any) -> bytes:
        path, _, name = arrived.target.partition("?id=")
        if path == "/count":
            return bytes(answer(200, {"count": counted.get(name, 0)}))
        cart = path.split("/")[-2]
        is_done, states[cart] = states.get(cart, False), True
        if not arrived.body:
            return bytes(answer(400, {"error": "no body"}))
        if is_done:
            return bytes(answer(409, {"error": "done"}))
        counted[cart] = 1
        return bytes(answer(200, json.loads('{"data": {}}')))

    async def law(case: Case) -> None:
        effects: Any = case.profile.effects
        effects[QUOTE.id] = (Effect("/count", http=HttpCall(case.profile.base_url + "/count?id={cart.id}"), step=1),)
        request = await case.arrange()
        await expect_no_effect(case, request, Request.without_body, "a write without its body")

    result, _ = judged(script, law, QUOTE)
    assert result.outcome is Outcome.FAILED, result
    assert "a write without its body was answered 400" in result.message
