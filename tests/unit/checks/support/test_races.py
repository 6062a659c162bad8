"""Rivals: what is raced for, and when nothing is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.certainty import Doubts
from conformance.checks.support.effects import Oracle
from conformance.checks.support.races import Duplicates, expect_overlap
from conformance.checks.support.signals import Inconclusive
from conformance.profile.behavior import Idempotency
from tests.support.check_runs import CONTRACT


def answer_at(at: float, duration_s: float, status: int = 200) -> Any:
    return SimpleNamespace(at=at, duration_s=duration_s, status=status, ref="x1")


def case_of(concurrency: int) -> Any:
    runtime = SimpleNamespace(settings=SimpleNamespace(concurrency=concurrency), memory={})
    return SimpleNamespace(runtime=runtime, doubts=Doubts())


@pytest.mark.parametrize(
    "answers",
    [
        [answer_at(0, 0.1), answer_at(0.05, 0.1)],
        [answer_at(0, 1), answer_at(0.1, 0.1), answer_at(0.9, 0.1)],
        [answer_at(0.3, 0.1), answer_at(0, 0.1), answer_at(0.35, 0.1, 409)],
        [answer_at(0, 0.1, 429), answer_at(0.2, 0.1), answer_at(0.2, 0.1)],
    ],
)
def test_two_calls_under_way_together_are_rivals(answers: list[Any]) -> None:
    """In whatever order they are listed, and whatever else was answered."""
    expect_overlap(case_of(16), answers)


@pytest.mark.parametrize(
    ("answers", "concurrency", "message"),
    [
        ([answer_at(0, 0.1), answer_at(0.2, 0.1), answer_at(0.4, 0.1)], 1, "raise limits.concurrency"),
        ([answer_at(0, 0.1), answer_at(0.2, 0.1)], 16, "run it again"),
        ([answer_at(0, 0.1), answer_at(0.05, 0.1, 429)], 16, "all calls but one at a time were limited"),
        ([answer_at(0, 0.1, 429), answer_at(0, 0.1, 429)], 16, "all calls but one at a time were limited"),
    ],
)
def test_calls_one_after_the_other_race_for_nothing(answers: list[Any], concurrency: int, message: str) -> None:
    """A pass would say more than was seen: what would help is named."""
    with pytest.raises(Inconclusive, match=message):
        expect_overlap(case_of(concurrency), answers)


@pytest.mark.parametrize(
    ("status", "is_second", "is_watched"),
    [(409, True, True), (200, False, False)],
    ids=["refused in the same way", "carried out"],
)
def test_what_a_probe_under_another_key_does_is_no_effect_of_the_duplicates(
    judged: Any, answer: Any, status: int, is_second: bool, is_watched: bool
) -> None:
    async def law(case: Case) -> None:
        request, oracle = await case.arrange(prove_control=False), cast("Oracle", object())
        conflict = await case.send(request, "a duplicate")
        burst = Duplicates(request, oracle, [conflict], conflict)
        is_found = await burst.is_second_call(case, conflict)
        case.note(f"{is_found} {burst.oracle is oracle}")

    keys: list[str] = []

    def script(arrived: Any) -> bytes:
        keys.extend(arrived.all("idempotency-key"))
        is_probe = keys[-1] != keys[0]
        return bytes(answer(status, {"data": {}}) if is_probe and status == 200 else answer(409, {"code": "state"}))

    idempotency = Idempotency("header", name="Idempotency-Key", format="any")
    result, _ = judged(script, law, CONTRACT.operations["quotePublicCart"], idempotency=idempotency)
    assert result.notes == (f"{is_second} {is_watched}",), result
