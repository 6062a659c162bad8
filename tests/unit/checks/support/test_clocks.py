"""A target whose clock is off: the failed control of the exchange says why a good proof may have been refused."""

from __future__ import annotations

import email.utils
import time
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import OAuth
from conformance.profile.resources import OperationFacts
from tests.support.check_runs import CONTRACT

EXCHANGE = CONTRACT.operations["exchangeOAuthToken"]


@pytest.mark.parametrize(
    ("offset_s", "stated", "is_said"),
    [
        (-76, {"clock_allowance_s": 30}, True),
        (-76, {}, True),
        (-45, {}, False),
        (45, {"clock_behind_s": 30}, True),
        (45, {"clock_ahead_s": 30}, False),
        (2, {"clock_allowance_s": 30}, False),
        (None, {}, False),
    ],
)
@pytest.mark.parametrize("is_first", [True, False], ids=["the first control", "a later one"])
def test_a_clock_that_is_off_is_told(
    judged: Any, answer: Any, offset_s: float | None, stated: dict[str, float], *, is_said: bool, is_first: bool
) -> None:
    def script(_arrived: Any) -> bytes:
        now = time.time() + (offset_s or 0)
        dates = {} if offset_s is None else {"Date": email.utils.formatdate(now, usegmt=True)}
        return bytes(answer(401, {"error": "invalid_dpop_proof"}, **dates))

    async def law(case: Case) -> None:
        if is_first:
            await case.runtime.controls.prove(case.operation)
        await case.control(await case.arrange(prove_control=False))

    body = {"code": "c"}
    result, _ = judged(
        script, law, EXCHANGE, oauth=OAuth(**stated), operations={EXCHANGE.id: OperationFacts(body=body)}
    )
    assert result.outcome is Outcome.INCONCLUSIVE, result
    assert ("s off" in result.message and "DPoP proofs carry the time" in result.message) is is_said, result.message
    assert result.cause == "control:exchangeOAuthToken"
