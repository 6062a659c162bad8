"""A good answer that several checks judge is asked for once, and a call that one of them uses further is its own."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.plain_replays import plain_replays
from conformance.checks.support.races import concurrent_calls
from conformance.checks.support.signals import Inconclusive
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Effect, Idempotency
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import OperationFacts
from tests.support.check_runs import CONTRACT

IDENTITY = CONTRACT.operations["getApiKeyIdentity"]
QUOTE = CONTRACT.operations["quotePublicCart"]


def calls(target: Any, method: str) -> int:
    return sum(request.method == method for request in target.arrived)


def test_what_a_read_says_of_a_key_is_asked_once(judged: Any, answer: Any) -> None:
    """By all checks that judge it, also at once; each of them has the exchange as its evidence."""

    async def law(case: Case) -> None:
        others = [Case(case.runtime, case.operation) for _ in range(3)]
        answers = await asyncio.gather(*(one.answer_to("full") for one in (case, *others)))
        assert len({one.id for one in answers}) == 1
        assert all(one.answers == case.answers for one in others)

    result, target = judged(lambda _: answer(200, {"data": {}}), law, IDENTITY)
    assert result.outcome is Outcome.PASSED, result.message
    assert calls(target, "GET") == 1


def test_a_limited_read_is_asked_again_by_the_next_check(judged: Any, answer: Any) -> None:
    """What was not answered says nothing of the key."""
    statuses = [503, 503, 503, 503, 200]

    async def law(case: Case) -> None:
        with pytest.raises(Inconclusive):
            await case.answer_to("full")
        assert (await Case(case.runtime, case.operation).answer_to("full")).ok

    def script(_: Any) -> bytes:
        return bytes(answer(statuses.pop(0) if len(statuses) > 1 else statuses[0], {"data": {}}))

    result, _ = judged(script, law, IDENTITY)
    assert result.outcome is Outcome.PASSED, result.message


def test_an_answer_to_an_old_code_is_no_others_evidence(judged: Any, answer: Any) -> None:
    """The check that sent it runs again, and must not get it back."""

    async def law(case: Case) -> None:
        case.doubts.expired_code_s = 30.0
        first = await case.answer_to("full")
        again = Case(case.runtime, case.operation)
        second = await again.answer_to("full")
        third = await Case(case.runtime, case.operation).answer_to("full")
        assert first.id != second.id == third.id
        case.doubts.expired_code_s = 0.0

    result, target = judged(lambda _: answer(200, {"data": {}}), law, IDENTITY)
    assert (result.outcome, calls(target, "GET")) == (Outcome.PASSED, 2), result


def test_a_good_answer_is_that_of_the_control(judged: Any, answer: Any) -> None:
    """Nothing is sent for it, unless the control's body was too long to be kept."""

    async def law(case: Case) -> None:
        first = await case.good_answer()
        assert (await Case(case.runtime, case.operation).good_answer()).id == first.id

    result, target = judged(lambda _: answer(200, {"data": {}}), law, IDENTITY)
    assert (result.outcome, calls(target, "GET")) == (Outcome.PASSED, 1), result

    async def long_law(case: Case) -> None:
        assert len((await case.good_answer()).body) > 100_000

    result, target = judged(lambda _: answer(200, {"data": {"text": "x" * 100_000}}), long_law, IDENTITY)
    assert (result.outcome, calls(target, "GET")) == (Outcome.PASSED, 2), result


def test_one_check_takes_the_control_and_the_others_have_calls_of_their_own(judged: Any, answer: Any) -> None:
    """No two checks go on with one key."""

    async def law(case: Case) -> None:
        others = [Case(case.runtime, case.operation) for _ in range(3)]
        answers = await asyncio.gather(*(one.first_call() for one in (case, *others)))
        assert len({one.request.key for one in answers}) == 4

    result, target = judged(lambda _: answer(200, {"data": {}}), law, QUOTE)
    assert (result.outcome, calls(target, "POST")) == (Outcome.PASSED, 4), result


def test_a_control_whose_key_may_be_forgotten_is_not_taken(judged: Any, answer: Any) -> None:
    """A key is used further within a quarter of the stated retention only."""

    async def law(case: Case) -> None:
        control = await case.runtime.controls.prove(case.operation)
        time.sleep(0.15)  # the fixture `quick` cuts the pauses of asyncio
        assert (await case.first_call()).request.key != control.request.key

    short = Idempotency(carrier="header", name="Idempotency-Key", retention_s=0.4)
    result, _ = judged(lambda _: answer(200, {"data": {}}), law, QUOTE, idempotency=short)
    assert result.outcome is Outcome.PASSED, result.message


class Counter:
    """Counts the calls on each cart, and answers repeats of a key from its record if it `keeps` one."""

    def __init__(self, answer: Any, *, keeps: bool = True, shows: bool = True) -> None:
        self.answer, self.keeps, self.shows = answer, keeps, shows
        self.carried_out: list[tuple[str, str]] = []

    def __call__(self, arrived: Any) -> bytes:
        cart = arrived.target.split("/")[-2]
        if arrived.method == "GET":
            count = sum(one == cart for one, _ in self.carried_out) if self.shows else 0
            return bytes(self.answer(200, {"data": {"count": count}}))
        call = cart, arrived.all("Idempotency-Key")[0]
        if call not in self.carried_out or not self.keeps:
            self.carried_out.append(call)
        return bytes(self.answer(200, {"data": {"id": cart}}))


COUNTED: Any = {
    "effects": {QUOTE.id: (Effect(operation="quotePublicCartCheckout", pointer="/data/count", step=1),)},
    "credentials": {"full": Credential("full", SecretSource(env="X"), frozenset({"catalog:read", "checkout:quote"}))},
    "operations": {
        QUOTE.id: OperationFacts(body={"reason": "{unique}"}, path={"cartId": "{cart.id}"}),
        "quotePublicCartCheckout": OperationFacts(path={"cartId": "{cart.id}"}),
    },
}


@pytest.mark.parametrize(("keeps", "effects"), [(True, 0), (False, 3)])
def test_replays_and_their_effects_are_seen_with_the_same_calls(
    judged: Any, answer: Any, keeps: bool, effects: int
) -> None:
    """Two checks judge one call and its three replays."""

    async def law(case: Case) -> None:
        other = Case(case.runtime, case.operation)
        first, second = await asyncio.gather(plain_replays(case), plain_replays(other))
        assert first is second and first.effects == effects
        assert len(first.repeats) == 3 and all(repeat.ok for repeat in first.repeats)

    counter = Counter(answer, keeps=keeps)
    result, target = judged(counter, law, QUOTE, **COUNTED)
    assert result.outcome is Outcome.PASSED, result.message
    assert calls(target, "POST") == 5 + effects // 3  # the control; and one that shows whose effects are counted


def test_an_effect_that_cannot_be_seen_leaves_the_replays_as_they_are(quick: Any, judged: Any, answer: Any) -> None:
    """A sign that does not move says why nothing is counted, and nothing of the answers."""

    async def law(case: Case) -> None:
        replays = await plain_replays(case)
        assert isinstance(replays.effects, Inconclusive)
        assert json.loads(replays.first.body) == json.loads(replays.repeats[0].body)

    counter = Counter(answer, shows=False)
    result, _ = judged(counter, law, QUOTE, **COUNTED)
    assert result.outcome is Outcome.PASSED, result.message


@pytest.mark.parametrize(("depth", "number"), [("quick", 4), ("standard", 9), ("deep", 9)])
def test_rivals_are_few_where_requests_are_dear(judged: Any, answer: Any, depth: str, number: int) -> None:
    """A quick run sends four at once."""

    async def law(case: Case) -> None:
        await case.good_answer()
        object.__setattr__(case.profile.limits, "depth", depth)
        assert concurrent_calls(case) == number

    result, _ = judged(lambda _: answer(200, {"data": {}}), law, IDENTITY)
    assert result.outcome is Outcome.PASSED, result.message


@pytest.mark.parametrize(("retention_s", "is_watched"), [(None, True), (3600.0, True), (2.0, False)])
def test_replays_of_keys_that_end_soon_wait_for_no_sign(
    judged: Any, answer: Any, retention_s: float | None, is_watched: bool
) -> None:
    """Whoever needs the effects has a call of its own then."""

    async def law(case: Case) -> None:
        plain = await plain_replays(case)
        watched = await plain_replays(Case(case.runtime, case.operation), needs_effects=True)
        assert (plain is watched) == is_watched
        assert (plain.effects, watched.effects) == (0 if is_watched else None, 0)

    idempotency = Idempotency(carrier="header", name="Idempotency-Key", retention_s=retention_s)
    result, _ = judged(Counter(answer), law, QUOTE, **{**COUNTED, "idempotency": idempotency})
    assert result.outcome is Outcome.PASSED, result.message
