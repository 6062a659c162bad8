"""Signs of effects: blind ones, late ones, and ones that are not counts."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any

import pytest

from conformance.checks.check_conflicts import a_state_conflict_is_answered_409
from conformance.checks.check_effects import a_repeated_call_takes_effect_once
from conformance.checks.support.case import Case
from conformance.checks.support.effects import Oracle, wrong_count
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Effect, Transition
from conformance.profile.resources import Fixture, HttpCall
from tests.support.check_runs import CONTRACT

QUOTE = CONTRACT.operations["quotePublicCart"]
CARTS = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(40)))}}


def watched(case: Case, **more: Any) -> None:
    """Gives the profile of a case a sign at the target itself."""
    call = HttpCall(case.profile.base_url + "/count?id={cart.id}")
    effects: Any = case.profile.effects
    effects[QUOTE.id] = (Effect("/count", http=call, step=1, **more),)


@pytest.mark.parametrize("blind", [False, True], ids=["it was seen to move", "it was never seen to move"])
@pytest.mark.parametrize("check", ["a replay", "a limit", "a call at once"])
def test_nothing_fails_on_a_sign_that_was_not_seen_to_move(judged: Any, answer: Any, blind: bool, check: str) -> None:
    """That an operation took effect no times is a failure only where the run has seen its sign at work."""
    counted: dict[str, int] = {}

    def script(arrived: Any) -> bytes:
        path, _, name = arrived.target.partition("?id=")
        if path == "/count":
            return bytes(answer(200, {"count": 0 if blind else counted.get(name, 0)}))
        cart = path.split("/")[-2]
        counted[cart] = counted.get(cart, 0) + int(len(counted) < 2)  # the control's cart and the next one alone
        return bytes(answer(200, {"data": {}}))

    async def law(case: Case) -> None:
        watched(case)
        first = await case.arrange()
        oracle = await Oracle.watch(case, first)
        await case.control(first)
        assert await oracle.effects_within() == (0 if blind else 1)
        request = await case.arrange()
        if check == "a limit":
            limited = await case.send(request, "limited")
            raise wrong_count(case, "what was limited and sent again", 0, limited)
        if check == "a replay":
            await a_repeated_call_takes_effect_once(case)
        else:
            await (await Oracle.watch(case, request)).expect_one_effect(case, "it")

    result, _ = judged(script, law, QUOTE, fixtures=CARTS, effects={})
    failed = not blind and check != "a replay"
    assert result.outcome is (Outcome.FAILED if failed else Outcome.INCONCLUSIVE), result
    assert failed or result.cause == f"effects.{QUOTE.id}"


@pytest.mark.parametrize("stated", [True, False], ids=["stated", "seen in the run"])
@pytest.mark.parametrize("wrong", [False, True], ids=["refused", "carried out"])
def test_a_baseline_is_taken_when_the_earlier_write_shows(
    judged: Any, answer: Any, stated: bool, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads that lag 300 ms behind writes: a conflict that was refused did not take effect, and one that was did."""
    monkeypatch.undo()  # the lag is one of real time
    written: dict[str, list[float]] = {}

    async def script(arrived: Any) -> bytes:
        path, _, name = arrived.target.partition("?id=")
        if path == "/count":
            return bytes(answer(200, {"count": sum(at < time.monotonic() - 0.3 for at in written.get(name, ()))}))
        calls = written.setdefault(path.split("/")[-2], [])
        conflict = bool(calls)
        if wrong or not conflict:
            calls.append(time.monotonic())
        await asyncio.sleep(0.4 if conflict else 0.0)  # by the end of it, the earlier write shows
        return bytes(answer(409, {"error": "again"}) if conflict else answer(200, {"data": {}}))

    async def law(case: Case) -> None:
        watched(case, **({"within_s": 0.6} if stated else {}))
        await a_state_conflict_is_answered_409(case, Transition(QUOTE.id, "cart.open", (QUOTE.id,)))

    result, _ = judged(script, law, QUOTE, fixtures=CARTS, effects={})
    assert result.outcome is (Outcome.FAILED if wrong else Outcome.PASSED), result
    assert not wrong or "yet took effect" in result.message


@pytest.mark.parametrize("shown", [float("1e308"), 10**400], ids=["beyond a float", "beyond any float"])
def test_numbers_that_cannot_be_compared_are_no_error_of_the_suite(judged: Any, answer: Any, shown: Any) -> None:
    looks = itertools.count()

    def script(arrived: Any) -> bytes:
        if arrived.target.startswith("/count"):
            return bytes(answer(200, {"count": shown if next(looks) else -1e308}))
        return bytes(answer(200, {"data": {}}))

    async def law(case: Case) -> None:
        watched(case)
        await a_repeated_call_takes_effect_once(case)

    result, _ = judged(script, law, QUOTE, fixtures=CARTS, effects={})
    assert (result.outcome, result.cause) == (Outcome.INCONCLUSIVE, f"effects.{QUOTE.id}"), result
