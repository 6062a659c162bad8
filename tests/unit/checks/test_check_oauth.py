"""Which algorithms a target takes for DPoP proofs is not shown: each that its profile declares is tried."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from conformance.checks.check_oauth import a_proof_of_each_declared_algorithm_is_accepted
from conformance.checks.support.case import Case
from conformance.checks.support.oauth_exchange import other_algorithms
from conformance.core.outcomes import Level, Outcome
from conformance.profile.behavior import OAuth
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT, profile

EXCHANGE = CONTRACT.operations["exchangeOAuthToken"]
CODES = tuple({"code": f"code-{number}"} for number in range(40))
DECLARED = ("ES256", "PS256", "EdDSA", "ES256K")


def taking(accepted: tuple[str, ...], answer: Any) -> Any:
    def script(arrived: Any) -> bytes:
        head = "".join(arrived.all("dpop")).partition(".")[0]
        used = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))["alg"]
        return bytes(answer(200, {"data": {}}) if used in accepted else answer(401, {"error": "invalid_dpop_proof"}))

    return script


@pytest.mark.parametrize(
    ("algorithm", "accepted", "outcome"),
    [
        ("PS256", DECLARED, Outcome.PASSED),
        ("EdDSA", DECLARED, Outcome.PASSED),
        ("PS256", ("ES256", "EdDSA"), Outcome.FAILED),
        ("EdDSA", ("ES256",), Outcome.FAILED),
        ("ES256K", DECLARED, Outcome.PASSED),
        ("PS256", (), Outcome.INCONCLUSIVE),
    ],
)
def test_what_is_declared_is_accepted(
    judged: Any, answer: Any, algorithm: str, accepted: tuple[str, ...], outcome: Outcome
) -> None:
    """A target that takes none at all says nothing of one."""

    async def law(case: Case) -> None:
        await a_proof_of_each_declared_algorithm_is_accepted(case, algorithm)

    result, _ = judged(
        taking(accepted, answer),
        law,
        EXCHANGE,
        oauth=OAuth("client", "https://client.example/back", algorithms=DECLARED),
        fixtures={"oauth": {"code": Fixture("oauth", "code", values=CODES)}},
        operations={EXCHANGE.id: OperationFacts(body={"code": "{oauth.code}", "codeVerifier": "{pkce.verifier}"})},
    )
    assert result.outcome is outcome, result
    assert outcome is not Outcome.FAILED or result.level is Level.DECLARED


def test_one_bad_code_is_no_refused_algorithm(judged: Any, answer: Any) -> None:
    """The source of codes may give out one that is none: another one is exchanged in the same way."""
    accepting, algorithms = taking(DECLARED, answer), list[str]()

    def script(arrived: Any) -> bytes:
        head = "".join(arrived.all("dpop")).partition(".")[0]
        algorithms.append(json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))["alg"])
        is_first = algorithms[-1] == "PS256" and algorithms.count("PS256") == 1
        return bytes(answer(400, {"error": "invalid_grant"}) if is_first else accepting(arrived))

    async def law(case: Case) -> None:
        await a_proof_of_each_declared_algorithm_is_accepted(case, "PS256")

    result, _ = judged(
        script,
        law,
        EXCHANGE,
        oauth=OAuth("client", "https://client.example/back", algorithms=DECLARED),
        fixtures={"oauth": {"code": Fixture("oauth", "code", values=CODES)}},
        operations={EXCHANGE.id: OperationFacts(body={"code": "{oauth.code}", "codeVerifier": "{pkce.verifier}"})},
    )
    assert result.outcome is Outcome.INCONCLUSIVE, result


def test_the_first_one_needs_no_check_of_its_own() -> None:
    """It signs every other proof. A profile that declares one, or no client, misses nothing."""
    told = profile("http://127.0.0.1:1", oauth=OAuth("client", "https://client.example/back", algorithms=DECLARED))
    assert list(other_algorithms(told, EXCHANGE)) == ["PS256", "EdDSA", "ES256K"]
    assert not other_algorithms(profile("http://127.0.0.1:1"), EXCHANGE)
