"""A form in place of JSON (BODY-2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.checks.check_bodies import a_form_is_answered_400
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import OAuth
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT, profile

CODES = tuple({"code": f"code-{number}"} for number in range(40))
FIXTURES = {
    "oauth": {"code": Fixture("oauth", "code", values=CODES)},
    "cart": {"open": Fixture("cart", "open", values=({"id": "c1"},), reusable=True)},
}


@pytest.mark.parametrize(
    ("operation", "body", "outcome"),
    [
        ("exchangeOAuthToken", {"code": "{oauth.code}", "codeVerifier": "{pkce.verifier}"}, Outcome.PASSED),
        ("quotePublicCart", {"reason": "late"}, Outcome.FAILED),
    ],
)
def test_a_form_may_be_read_at_the_token_endpoint_alone(
    judged: Any, answer: Any, operation: str, body: dict[str, str], outcome: Outcome
) -> None:
    """The standard of that endpoint demands forms, so that a service may take them beside JSON."""

    async def law(case: Case) -> None:
        await a_form_is_answered_400(case)

    known = profile("http://127.0.0.1:1").operations
    result, target = judged(
        lambda _: answer(200, {"data": {}}),
        law,
        CONTRACT.operations[operation],
        oauth=OAuth("client", "https://client.example/back"),
        fixtures=FIXTURES,
        operations={operation: replace(known.get(operation, OperationFacts()), body=body)},
    )
    assert result.outcome is outcome, result
    assert any("form" in "".join(request.all("content-type")) for request in target.arrived)
