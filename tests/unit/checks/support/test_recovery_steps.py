"""The burst after the recovery: whether a limit is in force again."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.support.bursts import Burst
from conformance.checks.support.case import Case
from conformance.checks.support.provocation import Preparation, Provocation
from conformance.checks.support.recovery_steps import overrun_again
from conformance.checks.support.signals import Violation
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import RateLimit
from conformance.profile.model import Limits
from tests.support.check_runs import CONTRACT

IDENTITY = CONTRACT.operations["getApiKeyIdentity"]
FACTS = RateLimit(provoke=True, max_requests=20, limit=5, window_s=60)


@pytest.mark.parametrize(
    ("depth", "recovered_after_s", "statuses", "kind"),
    [
        ("standard", 0.1, (200, 429), Burst),
        ("standard", 0.1, (502, 502), Violation),
        ("standard", None, (200, 429), type(None)),
        ("quick", 0.1, (200, 429), type(None)),
    ],
)
def test_a_second_burst_is_sent_after_the_recovery(
    judged: Any, answer: Any, depth: Any, recovered_after_s: float | None, statuses: tuple[int, int], kind: type
) -> None:
    """Not in quick depth. One that fails leaves what the first burst showed to the other checks."""
    arrived = []

    def script(_: Any) -> bytes:
        arrived.append(1)
        return bytes(answer(statuses[len(arrived) > 7], {"data": {}} if statuses[0] == 200 else {"error": "down"}))

    async def law(case: Case) -> None:
        request = await case.arrange(prove_control=False)
        first = Burst(None, await case.send(request, "the first burst", accept_statuses=(502,)), 1, 1, 0.1)
        provocation = Provocation(first, recovered_after_s=recovered_after_s)
        found = await overrun_again(Preparation(case, request), provocation)
        assert isinstance(found.second_burst, kind) and found.burst is first
        if isinstance(found.second_burst, Burst):
            assert found.second_burst.limited_answer is not None and found.second_burst.successes == 6

    result, _ = judged(script, law, IDENTITY, rate_limit=FACTS, limits=Limits(timeout_s=2, patience_s=0.2, depth=depth))
    assert result.outcome is Outcome.PASSED, result.message
    assert (len(arrived) == 1) == (kind is type(None))
