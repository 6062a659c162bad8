"""This machine's clock is set during a run, by a jump: proofs carry its time, and no verdict rests on that."""

from __future__ import annotations

import time
from typing import Any

import pytest

from conformance.checks.check_dpop import a_proof_from_another_hour_is_refused
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from tests.support.code_exchanges import age_s_of, exchanging


@pytest.mark.parametrize("age_s", [3600.0, -3600.0], ids=["old", "ahead"])
@pytest.mark.parametrize("is_set", [True, False], ids=["set", "not set"])
def test_a_proof_of_another_hour_may_be_one_of_now(judged: Any, answer: Any, age_s: float, is_set: bool) -> None:
    """A target whose clock differs by an hour from the second exchange on accepts it, and refuses a good one after it.

    Where the clock is as before, one that accepts it accepts every age.
    """
    ages: list[float] = []

    def script(arrived: Any) -> bytes:
        if arrived.target == "/codes":
            return bytes(answer(200, {"code": f"code-{time.perf_counter_ns()}"}))
        ages.append(age_s_of(arrived))
        good = not is_set or abs(ages[-1] - (age_s if len(ages) > 1 else 0.0)) < 60
        return bytes(answer(200 if good else 401, {"data": {}} if good else {"error": "iat"}))

    async def law(case: Case) -> None:
        await a_proof_from_another_hour_is_refused(case, (age_s, 0))

    result, _ = exchanging(judged, script, law)
    assert result.outcome is (Outcome.INCONCLUSIVE if is_set else Outcome.FAILED), result
    assert len(ages) > 2
