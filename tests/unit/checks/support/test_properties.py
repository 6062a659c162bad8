"""Properties: bounded, seeded, shrunk, and never mistaken for a verdict when something else goes wrong."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st

from conformance.checks.support.case import Case
from conformance.checks.support.properties import _draw, draw, explore
from conformance.checks.support.signals import Inconclusive
from conformance.core.outcomes import Outcome


def _property(strategy: Any, **options: Any) -> Any:
    async def check(case: Case) -> None:
        request = await case.arrange(prove_control=False)

        async def law(number: int) -> None:
            answer = await case.send(request.with_query(n=str(number)), "generated")
            if answer.status == 400:
                raise case.violation("a number was refused", answer, expected="200")

        await explore(case, strategy, law, examples=case.examples, **{"show": repr, **options})

    return check


def _refusing(answer: Any, least: int) -> Any:
    def script(arrived: Any) -> bytes:
        number = int(arrived.target.partition("n=")[2] or 0)
        return bytes(answer(400 if number >= least else 200, {"data": {}}))

    return script


def test_the_smallest_that_violates_is_told(judged: Any, answer: Any) -> None:
    """Of all the numbers that a target refuses, the report names the least, and shows its exchange last."""
    result, target = judged(_refusing(answer, 1000), _property(lambda: st.integers(0, 10**6)), examples=30)
    assert result.outcome is Outcome.FAILED
    assert result.message.endswith("the smallest found: 1000")
    assert len(target.arrived) <= 30 + 25


def test_equal_seeds_send_equal_requests(judged: Any, answer: Any) -> None:
    """Two runs with one seed ask for the same."""
    runs = [judged(_refusing(answer, 10**9), _property(lambda: st.integers(0, 10**6)))[1] for _ in range(2)]
    first, second = (sorted(arrived.target for arrived in run.arrived) for run in runs)
    assert first == second
    assert len(first) == 8


def test_many_examples_are_drawn_in_batches(judged: Any, answer: Any) -> None:
    """All that were asked for are sent, the later ones others than the first; what violates late is shrunk too."""
    _, target = judged(_refusing(answer, 10**9), _property(lambda: st.integers(0, 10**6)), examples=230)
    asked = [arrived.target for arrived in target.arrived]
    assert len(asked) == 230
    assert len(set(asked)) > 200

    arrived_before: list[int] = []
    wrong: list[int] = []

    def late(arrived: Any) -> bytes:
        number = int(arrived.target.partition("n=")[2] or 0)
        arrived_before.append(number)
        if len(arrived_before) > 110 and number >= 1_000:
            wrong.append(number)
        return bytes(answer(400 if wrong[-1:] == [number] else 200, {"data": {}}))

    result, target = judged(late, _property(lambda: st.integers(0, 10**6)), examples=5_000)
    assert (result.outcome, int(result.message.rpartition(" ")[2])) == (Outcome.FAILED, min(wrong))
    assert len(set(wrong)) > 5, "it was shrunk"
    assert 110 < len(target.arrived) < 200


def test_what_is_exhausted_is_not_drawn_again(judged: Any, answer: Any) -> None:
    """Where there are fewer values than were asked for, each is sent once."""
    _, target = judged(_refusing(answer, 10**9), _property(lambda: st.integers(0, 2)), examples=230)
    assert len(target.arrived) == 3


def test_a_strategy_that_outlives_a_run_is_drawn_once(judged: Any, answer: Any) -> None:
    """Another run with the same seed sends the same without drawing it again; a strategy of its own is drawn anew."""
    drawn: list[int] = []

    def make() -> Any:
        return st.integers(0, 10**6).map(lambda number: drawn.append(number) or number)

    kept = make()
    first, second = (judged(_refusing(answer, 10**9), _property(lambda: kept))[1] for _ in range(2))
    once = len(drawn)
    third = judged(_refusing(answer, 10**9), _property(make))[1]
    assert [sorted(arrived.target for arrived in run.arrived) for run in (second, third)] == [
        sorted(arrived.target for arrived in first.arrived)
    ] * 2
    assert len(drawn) == 2 * once > 0


def test_nothing_generated_is_untested(judged: Any, answer: Any) -> None:
    """A property without an example has not been tried: that is told, and never passed."""
    result, target = judged(_refusing(answer, 0), _property(st.nothing))
    assert (result.outcome, target.arrived) == (Outcome.UNTESTED, [])


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(Inconclusive("nobody knows"), Outcome.INCONCLUSIVE), (KeyError("data"), Outcome.BROKEN)],
)
def test_what_else_goes_wrong_ends_the_search(judged: Any, answer: Any, error: Exception, outcome: Outcome) -> None:
    """What is not a violation is not shrunk, nor tried again: it is what the check ends with."""
    tried: list[int] = []

    async def check(case: Case) -> None:
        await case.send(await case.arrange(prove_control=False), "first")

        async def law(number: int) -> None:
            tried.append(number)
            raise error

        await explore(case, st.integers, law, examples=8, show=repr)

    assert judged(_refusing(answer, 1), check)[0].outcome is outcome
    assert len(tried) == len(set(tried)) <= 4


def test_what_must_hold_at_the_end_comes_before_a_violation(judged: Any, answer: Any) -> None:
    """Where the control fails in the end, what was seen before says nothing."""

    async def after() -> None:
        raise Inconclusive("the control fails")

    result, _ = judged(_refusing(answer, 0), _property(lambda: st.integers(0, 9), final_check=after))
    assert result.outcome is Outcome.INCONCLUSIVE


def test_what_was_answered_200_needs_no_control_any_more(judged: Any, answer: Any) -> None:
    """A bad body that was carried out has used up what the control rests on: that must not hide what was seen."""
    spent: list[bool] = []

    def script(arrived: Any) -> bytes:
        spent.append("n=" in arrived.target)
        return bytes(answer(200 if any(spent) else 409, {"data": {}}))

    async def check(case: Case) -> None:
        request = await case.arrange(prove_control=False)

        async def law(number: int) -> None:
            await case.refusal(request.with_query(n=str(number)), {400}, "a bad one")

        async def after() -> None:
            raise Inconclusive("the control fails")

        await explore(case, lambda: st.integers(0, 9), law, examples=8, show=repr, final_check=after)

    assert judged(script, check)[0].outcome is Outcome.FAILED


def test_a_target_that_answers_now_so_now_so_is_no_trouble(judged: Any, answer: Any) -> None:
    """A violation that does not come back is told as it was seen; hypothesis' complaint about it is not."""
    seen: list[str] = []

    def script(arrived: Any) -> bytes:
        seen.append(arrived.target)
        return bytes(answer(400 if len(seen) == 3 else 200, {"data": {}}))

    result, _ = judged(script, _property(lambda: st.integers(0, 10**6)))
    assert result.outcome is Outcome.FAILED


def test_searches_at_once_do_not_disturb_each_other(judged: Any, answer: Any) -> None:
    """Many properties are searched at the same time, each with its own seed and its own end."""
    import asyncio

    async def check(case: Case) -> None:
        found: list[list[str]] = []

        async def one(word: str) -> None:
            mine: list[str] = []
            found.append(mine)

            async def law(value: Any) -> None:
                mine.append(json.dumps(value))
                await case.send(await case.arrange(prove_control=False), word)

            await explore(case, lambda: st.recursive(st.text(), st.lists), law, examples=5, show=repr)

        await asyncio.gather(*(one(str(n)) for n in range(20)))
        assert [len(mine) for mine in found] == [5] * 20

    assert judged(_refusing(answer, 1), check)[0].outcome is Outcome.PASSED
    assert threading.active_count() < 60


def test_a_search_ends_with_the_run() -> None:
    """Where nobody waits for its values any more, a search draws none: reports need the processor."""
    drawn: list[int] = []

    def slow(number: int) -> int:
        drawn.append(number)
        time.sleep(0.05)
        return number

    async def run() -> None:
        search = asyncio.ensure_future(draw(partial(_draw, lambda: st.integers().map(slow), 1, 1000)))
        while len(drawn) < 3:
            await asyncio.sleep(0.01)
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await search
        seen = len(drawn)
        assert await draw(lambda: "the next search") == "the next search"
        assert len(drawn) <= seen + 2

    asyncio.run(asyncio.wait_for(run(), 30))
