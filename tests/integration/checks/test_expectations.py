"""Gateways that do not know `Expect`: a request that is not answered is not a violation, and is sent once (STA-1)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_additional_input import an_expectation_to_continue_is_survived as law
from conformance.core.outcomes import Outcome
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import OperationFacts
from tests.support.check_runs import CONTRACT

CREATE = CONTRACT.operations["createInstallationWebhook"]
EXPECTED = {200: Outcome.PASSED, 400: Outcome.PASSED, 0: Outcome.INAPPLICABLE}


@pytest.mark.parametrize("status", list(EXPECTED))
def test_only_an_answer_counts(judged: Any, answer: Any, status: int) -> None:
    """A proxy that drops the connection says nothing of the service. Statuses are judged by the invariants."""
    sent = []

    def script(arrived: Any) -> bytes:
        if not arrived.all("expect"):
            return bytes(answer(200, {"data": {"id": "w1"}}))
        sent.append(1)
        return bytes(answer(status, {"data": {"id": "w1"}} if status == 200 else {"error": "no"})) if status else b""

    writer = Credential("full", SecretSource(env="X"), frozenset({"webhooks:write"}))
    facts = {
        "credentials": {"full": writer},
        "operations": {CREATE.id: OperationFacts(body={"url": "https://a.example"})},
    }
    result, _ = judged(script, law, CREATE, **facts)
    assert result.outcome is EXPECTED[status], result
    assert len(sent) == 1
