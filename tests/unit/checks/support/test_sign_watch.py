"""Signs of one operation together: shared ones, ones without a step, ones that are read by the answer."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from conformance.checks.check_concurrency import duplicates_at_once_are_one_call
from conformance.checks.check_conflicts import a_state_conflict_is_answered_409
from conformance.checks.check_effects import a_bad_request_has_no_effect, a_repeated_call_takes_effect_once
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Effect, Transition
from conformance.profile.resources import Fixture, HttpCall, OperationFacts
from tests.support.check_runs import CONTRACT

QUOTE = CONTRACT.operations["quotePublicCart"]
READ = "getStorefrontOrderCancellationEligibility"
CARTS = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(60)))}}


class Shop:
    """A target whose carts have an event log; a key is carried out once, unless `twice`."""

    def __init__(self, answer: Any, *, twice: bool = False) -> None:
        self.answer = answer
        self.twice = twice
        self.events: dict[str, list[float]] = {}
        self.keys: set[str] = set()

    def __call__(self, arrived: Any) -> bytes:
        path, _, query = arrived.target.partition("?id=")
        if path.startswith("/sign/"):
            return bytes(self.sign(path.removeprefix("/sign/"), self.events.get(query, [])))
        if arrived.method == "GET":
            return bytes(self.answer(409, {"error": "no quote in this state"}))
        if not arrived.body:
            return bytes(self.answer(400, {"error": "no body"}))
        cart = path.split("/")[-2]
        key = str(arrived.headers)
        events = self.events.setdefault(cart, [])
        events.append(time.time())
        if not self.twice and key in self.keys:
            events.pop()
        self.keys.add(key)
        return bytes(self.answer(200, {"data": {"id": cart}}))

    def sign(self, form: str, events: list[float]) -> Any:
        everything = sum(map(len, self.events.values()))
        shown: dict[str, Any] = {
            "count": {"value": len(events)},
            "shared": {"value": everything},
            "log": {"value": events},
            "clock": {"value": int(time.time())},
            "stuck": {"value": 0},
            "absent": {"value": len(events)} if events else {},
        }
        if form == "missing" and not events:
            return self.answer(404, {"error": "no such counter"})
        return self.answer(200, shown.get(form, {"value": len(events)}))


def sign(case: Case, form: str, place: str = "{cart.id}", **facts: Any) -> Effect:
    return Effect("/value", http=HttpCall(f"{case.profile.base_url}/sign/{form}?id={place}"), **facts)


def judge(judged: Any, shop: Shop, law: Any, *signs: tuple[str, dict[str, Any]], **rest: Any) -> Any:
    async def check(case: Case) -> None:
        effects: Any = case.profile.effects
        effects[QUOTE.id] = tuple(sign(case, form, **facts) for form, facts in signs)
        await law(case)

    result, _ = judged(shop, check, QUOTE, fixtures=CARTS, effects={}, **rest)
    return result


STEP = {"step": 1}


@pytest.mark.parametrize("signs", [
    [("count", STEP)],
    [("absent", {"step": 1, "absent": 0})],
    [("missing", {"step": 1, "absent": 0})],
    [("log", {})],
    [("shared", STEP), ("count", STEP)],
    [("stuck", STEP), ("count", STEP)],
    [("missing", STEP), ("count", STEP)],
    [("missing", {"step": 1, "absent": 0, "place": "{answer:/data/id}"})],
], ids=lambda signs: "+".join(form for form, _ in signs) + ("-answer" if "place" in signs[0][1] else ""))  # fmt: skip
@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
def test_a_second_effect_is_seen_by_any_sign_that_shows_effects(
    judged: Any, answer: Any, signs: Any, twice: bool
) -> None:
    """A sign that is shared, stuck or not there decides nothing where another one does. A stuck one is a warning."""
    result = judge(judged, Shop(answer, twice=twice), a_repeated_call_takes_effect_once, *signs)
    is_stuck = any(form == "stuck" for form, _ in signs)
    sound = Outcome.WARNED if is_stuck else Outcome.PASSED
    assert result.outcome is (Outcome.FAILED if twice else sound), result


@pytest.mark.parametrize(("form", "outcome"), [("shared", Outcome.INCONCLUSIVE), ("count", Outcome.FAILED)])
def test_a_run_in_doubt_about_a_sign_says_so(judged: Any, answer: Any, form: str, outcome: Outcome) -> None:
    """A shared counter that moved is not evidence against the target; a private one is."""
    result = judge(judged, Shop(answer, twice=True), a_repeated_call_takes_effect_once, (form, STEP))
    assert result.outcome is outcome, result
    assert outcome is Outcome.FAILED or "shared with other calls" in result.message


@pytest.mark.parametrize("form", ["log", "clock"])
@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
def test_without_a_step_one_effect_is_measured_first(judged: Any, answer: Any, form: str, twice: bool) -> None:
    """A log that grows by one entry counts; a clock never does."""

    async def law(case: Case) -> None:
        await duplicates_at_once_are_one_call(case, 1)

    result = judge(judged, Shop(answer, twice=twice), law, (form, {}))
    if form == "log":
        # a replay alone takes effect too: that is IDEM-2's question
        assert result.outcome is (Outcome.INCONCLUSIVE if twice else Outcome.PASSED), result
    else:
        assert result.outcome is not Outcome.FAILED, result


def test_a_read_that_is_refused_in_a_state_is_another_question(judged: Any, answer: Any) -> None:
    """CONF-1 is judged although its effect cannot be read there; a question about effects is not."""

    written: set[str] = set()

    def shop(arrived: Any) -> bytes:
        if arrived.method == "POST" and arrived.target not in written:
            written.add(arrived.target)
            return bytes(answer(200, {"data": {}}))
        return bytes(answer(409, {"error": "not in this state"}))

    async def law(case: Case) -> None:
        effects: Any = case.profile.effects
        effects[QUOTE.id] = (Effect("/data/version", operation=READ, step=1),)
        await a_state_conflict_is_answered_409(case, Transition(QUOTE.id, "cart.open", (QUOTE.id,)))

    facts = OperationFacts(path={"cartId": "{cart.id}"}, body={})
    operations = {QUOTE.id: facts, READ: OperationFacts(path={"orderId": "{cart.id}"})}
    result, _ = judged(shop, law, QUOTE, fixtures=CARTS, effects={}, operations=operations)
    assert result.outcome is Outcome.PASSED, result
    assert "cannot be read in this state" in json.dumps(result.notes)


def test_a_refused_call_has_no_answer_to_read_a_sign_by(judged: Any, answer: Any) -> None:
    """Then its effects cannot be seen on this target, and nothing is decided."""
    by_answer = ("count", {"step": 1, "absent": 0, "place": "{answer:/data/id}"})
    result = judge(judged, Shop(answer), a_bad_request_has_no_effect, by_answer)
    assert result.outcome is Outcome.INAPPLICABLE, result


def test_an_answer_without_the_value_makes_the_sign_blind(judged: Any, answer: Any) -> None:
    by_answer = ("count", {"step": 1, "absent": 0, "place": "{answer:/data/number}"})
    result = judge(judged, Shop(answer), a_repeated_call_takes_effect_once, by_answer)
    assert result.outcome is Outcome.INCONCLUSIVE, result
    assert "/data/number" in result.message
