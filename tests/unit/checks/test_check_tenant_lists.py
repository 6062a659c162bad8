"""Two lists of deliveries: what they have in common, and what is one endpoint of two installations."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_tenant_lists import _expect_no_common_endpoint
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from tests.support.check_runs import CONTRACT

READ = CONTRACT.operations["getApiKeyIdentity"]
"""Of which list it is makes no difference here: this one needs no scope."""
OURS, THEIRS = "ep_5b1f9c02a77d4e01", "ep_0c77aa10be93f212"


@pytest.mark.parametrize(
    ("further", "outcome"),
    [({}, Outcome.PASSED), ({"endpointId": 7}, Outcome.PASSED), ({"endpointId": OURS}, Outcome.FAILED)],
    ids=["the signing key", "a number", "an endpoint"],
)
def test_an_endpoint_is_of_one_installation(
    judged: Any, answer: Any, further: dict[str, Any], outcome: Outcome
) -> None:
    """Lists may name a key of the service alike, and count their endpoints alike; they name no endpoint alike."""

    def script(arrived: Any) -> bytes:
        endpoint = THEIRS if arrived.target.endswith("theirs") else OURS
        listed = [{"endpointId": endpoint, "signedWith": "key_8d41c6f0a9e2b730"}, further]
        return bytes(answer(200, {"data": {"items": listed}}))

    async def law(case: Case) -> None:
        request = await case.arrange(prove_control=False)
        foreign, own = [await case.send(request.with_query(of=of), of) for of in ("theirs", "ours")]
        _expect_no_common_endpoint(case, [THEIRS], foreign, own)

    result, _ = judged(script, law, READ)
    assert result.outcome is outcome, result
