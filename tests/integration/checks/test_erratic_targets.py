"""A target that errs now and then: its undeclared 5xx are STA-1's question, and fail no other requirement."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.resources import Fixture
from tests.support.check_runs import CONTRACT, key_of

QUOTE = CONTRACT.operations["quotePublicCart"]
CARTS = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(60)))}}


async def _without_key(case: Case) -> None:
    """Four calls without a key, each of which must be refused."""
    for _ in range(4):
        request = (await case.arrange()).with_key(None)
        answer = await case.send(request, "no key")
        if answer.status != 400:
            raise case.violation("a call without a key was not answered 400", answer, expected="400")


@pytest.mark.parametrize(
    ("service", "outcome"),
    [
        ("errs once", Outcome.PASSED),
        ("errs twice, elsewhere", Outcome.PASSED),
        ("errs each time", Outcome.FAILED),
        ("errs where it accepts", Outcome.FAILED),
        ("is a gateway", Outcome.INCONCLUSIVE),
    ],
)
def test_an_error_that_does_not_come_again_fails_no_other_requirement(
    judged: Any, answer: Any, service: str, outcome: Outcome
) -> None:
    """What a second attempt does not show was the target's condition at that time, and is in STA-1 all the same."""
    numbers = itertools.count(1)

    def script(arrived: Any) -> bytes:
        if key_of(arrived):
            return bytes(answer(200, {"data": {}}))
        number = next(numbers)
        errors = {
            "errs once": number == 3,
            "errs twice, elsewhere": number in (2, 7),
            "errs each time": True,
            "errs where it accepts": number == 2,
            "is a gateway": True,
        }[service]
        if errors:
            return bytes(answer(503 if service == "is a gateway" else 500, {"error": "oops"}))
        return bytes(answer(200, {"data": {}}) if service == "errs where it accepts" else answer(400, {"error": "no"}))

    result, _ = judged(script, _without_key, QUOTE, fixtures=CARTS)
    assert result.outcome is outcome, result


async def _at_once(case: Case) -> None:
    answer = await case.send((await case.arrange()).with_key(None), "a rival", accept_statuses={500})
    raise case.violation("a rival failed", answer, expected="409")


def test_an_error_that_calls_at_once_may_meet_is_judged_at_once(judged: Any, answer: Any) -> None:
    """A race that is lost once in many attempts is not lost again."""

    def script(arrived: Any) -> bytes:
        return bytes(answer(200, {"data": {}}) if key_of(arrived) else answer(500, {"error": "oops"}))

    result, target = judged(script, _at_once, QUOTE, fixtures=CARTS)
    assert result.outcome is Outcome.FAILED
    assert sum(not key_of(arrived) for arrived in target.arrived) == 1
