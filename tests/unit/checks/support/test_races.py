"""Rivals: what is raced for, and when nothing is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.checks.support.certainty import Doubts
from conformance.checks.support.races import expect_overlap
from conformance.checks.support.signals import Inconclusive


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
