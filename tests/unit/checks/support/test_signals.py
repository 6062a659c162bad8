"""An answer that was too long to be kept says its status, and nothing of its value: no violation rests on that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.replays import are_alike, difference, expect_same
from conformance.client import memory_budget
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.core.outcomes import Outcome
from conformance.judge.invariants import DISCARDED_CODE
from tests.support.commands import journal_lines
from tests.support.values import replace

IDENTITY = load_contract().operations["getApiKeyIdentity"]
SHORT = b'{"data": {"id": "a"}}'


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is memory for one large answer at a time."""
    monkeypatch.setattr(memory_budget.MemoryBudget.__init__, "__defaults__", (1,))
    monkeypatch.setattr(memory_budget, "PATIENCE_S", 0.05)


async def _answers(case: Case) -> tuple[Answer, Answer]:
    """A large answer that is kept, and an equal one for which no memory is left."""
    kept, cut = await case.control(await case.arrange()), await case.control(await case.arrange())
    assert (kept.truncated, cut.truncated, cut.status, len(cut.body)) == (False, True, 200, 64 * 1024)
    return kept, cut


def _same(case: Case, kept: Answer, cut: Answer) -> None:
    expect_same(case, kept, cut)


def _alike(case: Case, kept: Answer, cut: Answer) -> None:
    assert not are_alike(case, cut, replace(kept, status=404))
    are_alike(case, cut, cut)


def _differ(case: Case, kept: Answer, cut: Answer) -> None:
    raise difference(case, "the answer changed", kept, cut)


def _lacks(case: Case, kept: Answer, cut: Answer) -> None:
    raise case.violation("the answer has no data", cut, expected="data")


def _of_status(case: Case, kept: Answer, cut: Answer) -> None:
    raise case.violation("it was not refused", cut, expected="401 or 403")


@pytest.mark.parametrize(
    ("judge", "outcome"),
    [
        (_same, Outcome.INCONCLUSIVE),
        (_alike, Outcome.INCONCLUSIVE),
        (_differ, Outcome.INCONCLUSIVE),
        (_lacks, Outcome.INCONCLUSIVE),
        (_of_status, Outcome.FAILED),
    ],
)
def test_what_is_not_known_of_a_long_answer_is_no_violation(
    judged: Any, answer: Any, little_memory: None, judge: Callable[[Case, Answer, Answer], None], outcome: Outcome
) -> None:
    """It was answered: it is neither repeated as a lost answer is, nor taken for another value."""
    text = "x" * 100_000

    async def check(case: Case) -> None:
        judge(case, *await _answers(case))

    result, target = judged(lambda arrived: answer(200, {"data": {"id": text}}), check)
    assert result.outcome is outcome, result.message
    assert len(target.arrived) <= 3  # one may be the proof of a control
    if outcome is Outcome.INCONCLUSIVE:
        assert (result.message, result.cause) == (
            "the answer to getApiKeyIdentity is too long to be judged",
            "answer too long",
        )


@pytest.mark.parametrize(
    ("judge", "outcome"),
    [(_same, Outcome.INCONCLUSIVE), (_lacks, Outcome.INCONCLUSIVE), (_of_status, Outcome.FAILED)],
)
def test_what_the_parser_does_not_read_is_no_violation(
    judged: Any, answer: Any, judge: Callable[[Case, Answer, Answer], None], outcome: Outcome
) -> None:
    """JSON beyond its limits, such as an integer of thousands of digits, may be right (RFC 8259, section 9)."""

    async def check(case: Case) -> None:
        judge(case, *[await case.control(await case.arrange()) for _ in range(2)])

    body = b'{"data": {}, "more": ' + b"1" * 5001 + b"}"
    result, _ = judged(lambda arrived: answer(200, body=body), check)
    assert result.outcome is outcome, result.message


@pytest.mark.parametrize("status", [200, 404])
def test_a_long_answer_violates_no_invariant(
    judged: Any, answer: Any, little_memory: None, tmp_path: Any, status: int
) -> None:
    """What is observed of it is that it was too long."""

    async def check(case: Case) -> None:
        request = await case.arrange()
        answers = [await case.send(request, "a long answer") for _ in range(2)]
        assert answers[1].is_unread

    judged(lambda arrived: answer(status, {"code": "x" * 100_000, "data": {}}), check)
    exchanges = journal_lines(tmp_path, "exchange")
    codes = {found["code"] for found in exchanges[-1].get("findings", ())}
    assert codes == ({DISCARDED_CODE} if status == 200 else set())


def test_a_fixture_says_that_an_answer_was_too_long(judged: Any, answer: Any, little_memory: None) -> None:
    """Not that it lacks a member."""

    async def check(case: Case) -> None:
        kept = await case.control(await case.arrange())
        try:
            await case.runtime.call(IDENTITY.id, {}, {})
        finally:
            assert kept.body

    result, _ = judged(lambda arrived: answer(200, {"data": {"id": "x" * 100_000}}), check)
    assert (result.outcome, result.message) == (
        Outcome.INCONCLUSIVE,
        "control:getApiKeyIdentity: the answer to getApiKeyIdentity is too long to be read",
    )
