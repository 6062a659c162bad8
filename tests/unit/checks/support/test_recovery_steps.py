"""The burst after the recovery: whether a limit is in force again."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.support.bursts import Burst
from conformance.checks.support.case import Case
from conformance.checks.support.provocation import Preparation, Provocation
from conformance.checks.support.recovery_steps import overrun_again, repeat_spare
from conformance.checks.support.signals import Inconclusive, Violation
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


class _BlindOracle:
    """Signs that can be read before a call, and not after it."""

    async def count_visible_effects(self, *, elapsed_s: float) -> int:
        return 0

    async def effects_within(self) -> int:
        raise Inconclusive("effects.getApiKeyIdentity cannot be read in this state")


def test_what_a_retry_was_answered_is_known_where_its_effect_cannot_be_read(judged: Any, answer: Any) -> None:
    """RATE-4 alone needs the effects; the other checks of the operation are judged by the answers."""

    async def law(case: Case) -> None:
        request = await case.arrange(prove_control=False)
        limited = await case.send(request, "limited", accept_statuses=(429,))
        provocation = Provocation(Burst(limited, limited, 1, 1, 0.1), recovered_after_s=0.1, spare=limited)
        found = await repeat_spare(Preparation(case, request, spare=request, oracle=_BlindOracle()), provocation)
        assert found.retry is not None and found.retry.ok and found.effects_after_retry is None

    result, _ = judged(lambda _: bytes(answer(200, {"data": {}})), law, IDENTITY, rate_limit=FACTS)
    assert result.outcome is Outcome.PASSED, result.message
