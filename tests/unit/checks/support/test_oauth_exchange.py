"""Seconds in an answer; exchanges that several checks judge, and those of the other client."""

from __future__ import annotations

import asyncio
import json
from math import inf
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.oauth_exchange import arrange_for_other_client, exchange_with, seconds_of
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import OAuth
from conformance.profile.resources import Fixture, HttpCall, OperationFacts
from tests.support.check_runs import CONTRACT

EXCHANGE = CONTRACT.operations["exchangeOAuthToken"]
FIRST = OAuth("client", "https://client.example/back")
BOTH = OAuth(
    "client",
    "https://client.example/back",
    other_client_id="client-2",
    other_client_redirect_uri="https://two.example/back",
)
CODES = Fixture("oauth", "code", values=tuple({"code": f"code-{number}"} for number in range(40)))
BODY = {"code": "{oauth.code}", "client": "{oauth.client_id}", "uri": "{oauth.redirect_uri}"}


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(600, 600.0), (600.0, 600.0), ("600", 600.0), (10**400, inf), ("9" * 5000, inf), (-(10**400), -inf)],
)
def test_a_number_of_seconds_is_read(value: Any, seconds: float) -> None:
    """One that no float holds is infinite, and no error of the suite."""
    assert seconds_of(value) == seconds


@pytest.mark.parametrize("value", [None, True, "", "ten", "6e2", "\u0666", [600], {"s": 600}])
def test_anything_else_is_none(value: Any) -> None:
    assert seconds_of(value) is None


def test_an_exchange_of_an_algorithm_is_sent_once(judged: Any, answer: Any) -> None:
    """By all checks that judge it; each of them has the exchange as its evidence."""

    async def law(case: Case) -> None:
        other = Case(case.runtime, case.operation)
        answers = await asyncio.gather(exchange_with(case, "ES384"), exchange_with(other, "ES384"))
        assert len({one.id for one in answers}) == 1 and case.answers == other.answers
        assert answers[0].request.proof is not None and answers[0].request.proof.key.algorithm == "ES384"

    result, target = judged(
        lambda _: answer(200, {"data": {}}),
        law,
        EXCHANGE,
        oauth=FIRST,
        fixtures={"oauth": {"code": CODES}},
        operations={EXCHANGE.id: OperationFacts(body={"code": "{oauth.code}"})},
    )
    assert result.outcome is Outcome.PASSED, result.message
    assert len(target.arrived) == 2  # the control before it


@pytest.mark.parametrize(
    ("oauth", "body", "outcome"),
    [
        (BOTH, BODY, Outcome.PASSED),
        (FIRST, BODY, Outcome.INAPPLICABLE),
        (BOTH, {**BODY, "client": "client"}, Outcome.INAPPLICABLE),
    ],
)
def test_the_other_client_has_a_code_and_a_redirect_uri_of_its_own(
    judged: Any, answer: Any, oauth: OAuth, body: Any, outcome: Outcome
) -> None:
    """Where the profile names both, and the source of codes and the body take them."""
    bound = []

    def script(arrived: Any) -> bytes:
        if arrived.target == "/codes":
            bound.append(json.loads(arrived.body))
        return bytes(answer(200, {"data": {}, "code": "a-code"}))

    async def law(case: Case) -> None:
        fixtures: Any = case.profile.fixtures
        binding = {"client": "{oauth.client_id}", "uri": "{oauth.redirect_uri}"}
        source = HttpCall(f"{case.profile.base_url}/codes", method="POST", json=binding)
        fixtures["oauth"] = {"code": Fixture("oauth", "code", http=source)}
        request = await arrange_for_other_client(case)
        await case.control(request)
        assert request.body["client"] == "client-2" and request.body["uri"] == "https://two.example/back"

    facts = OperationFacts(body=body)
    result, _ = judged(script, law, EXCHANGE, oauth=oauth, fixtures={}, operations={EXCHANGE.id: facts})
    assert result.outcome is outcome, result.message
    if outcome is Outcome.PASSED:
        assert bound[-1] == {"client": "client-2", "uri": "https://two.example/back"}
