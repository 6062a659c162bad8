"""What is counted separately: a limit without bursts refuses the second of two requests, whatever it counts."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.checks.support import separate_counts
from conformance.checks.support.case import Case
from conformance.checks.support.separate_counts import ATTEMPTS, observe, other_request
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import RateLimit
from tests.support.check_runs import CONTRACT

IDENTITY = CONTRACT.operations["getApiKeyIdentity"]
_EVERY_S = 0.1


@pytest.mark.parametrize("is_separate", [True, False])
@pytest.mark.parametrize("window_s", [_EVERY_S * 5, None])
def test_calls_that_are_let_through_evenly(
    judged: Any, answer: Any, monkeypatch: pytest.MonkeyPatch, is_separate: bool, window_s: float | None
) -> None:
    """Time passes only in the pauses of the rounds."""
    now, due = [0.0], dict[str, float]()

    async def pause(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(separate_counts, "asyncio", SimpleNamespace(sleep=pause, gather=asyncio.gather))

    def script(arrived: Any) -> bytes:
        bucket = arrived.target if is_separate else ""
        if now[0] < due.get(bucket, 0.0):
            return bytes(answer(429, {"error": "limited"}))
        due[bucket] = now[0] + _EVERY_S
        return bytes(answer(200, {"data": {}}))

    async def law(case: Case) -> None:
        request = await case.arrange(prove_control=False)
        other = await case.runtime.arranger.arrange(CONTRACT.operations["getInstallationCredentialReadiness"])
        assert (await other_request(case, request)).operation is other.operation
        now[0] += 1
        found = await observe(case, request, other, attempts=ATTEMPTS)
        assert found.was_answered is is_separate
        assert bool(found.limited_answers) is not is_separate

    facts = RateLimit(provoke=True, max_requests=20, limit=5 if window_s else None, window_s=window_s, per="operation")
    result, _ = judged(script, law, IDENTITY, rate_limit=facts)
    assert result.outcome is Outcome.PASSED, result.message
