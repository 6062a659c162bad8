"""A code that ends with a newer one of its client: a refused exchange is not evidence then."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import OAuth
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

EXCHANGE = CONTRACT.operations["exchangeOAuthToken"]
CODES = Fixture("oauth", "code", values=tuple({"code": f"code-{number}"} for number in range(40)))


@pytest.mark.parametrize(
    ("accepted", "outcome", "codes"),
    [
        ({"code-2"}, Outcome.INCONCLUSIVE, 3),
        ({"code-1", "code-2"}, Outcome.FAILED, 2),
        ({"code-4"}, Outcome.INCONCLUSIVE, 5),
        (set(), Outcome.FAILED, 7),
    ],
    ids=["the older one is refused", "both are accepted", "at the second attempt", "none is accepted"],
)
def test_a_refused_exchange_is_evidence_where_older_codes_stay_good(
    judged: Any, answer: Any, accepted: set[str], outcome: Outcome, codes: int
) -> None:
    """Two codes are asked for, and the older one is exchanged first; the answer holds for the whole run."""
    seen: set[str] = set()

    def script(arrived: Any) -> bytes:
        code = json.loads(arrived.body)["code"]
        seen.add(code)
        return bytes(answer(200, {"data": {}}) if code in accepted else answer(400, {"error": "bad code"}))

    async def law(case: Case) -> None:
        refused = await case.send(await case.runtime.arranger.arrange(case.operation), "a good exchange")
        raise case.violation("a good exchange was refused", refused, expected="200")

    result, _ = judged(
        script, law, EXCHANGE, fixtures={"oauth": {"code": CODES}}, oauth=OAuth("client", "https://client.example/back"),
        operations={EXCHANGE.id: OperationFacts(body={"code": "{oauth.code}"})},
    )  # fmt: skip
    assert result.outcome is outcome, result
    assert len(seen) == codes
