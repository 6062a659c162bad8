"""Calls that prefer another language, and the one that is unusual in many ways at once."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from conformance.checks.check_additional_input import (
    parameters_of_other_interfaces_are_survived,
    the_headers_of_a_browser_prevent_no_success,
)
from conformance.checks.check_idempotency_records import a_repeat_in_another_language_is_no_new_call
from conformance.core.outcomes import Outcome
from conformance.profile.resources import OperationFacts
from tests.support.check_runs import CONTRACT, key_of
from tests.support.webhook_endpoints import CREATE, endpoint_facts

IDENTITY = CONTRACT.operations["getApiKeyIdentity"]


@pytest.mark.parametrize(
    ("language_counts", "outcome"), [(False, Outcome.PASSED), (True, Outcome.FAILED)], ids=["translated", "carried out"]
)
def test_a_replay_may_be_translated(judged: Any, answer: Any, language_counts: bool, outcome: Outcome) -> None:
    """An answer is in the language that the call prefers, a replay too; what it creates is created once."""
    numbers, known = itertools.count(1), dict[Any, int]()

    def script(arrived: Any) -> bytes:
        language = "".join(arrived.all("accept-language"))
        number = known.setdefault((key_of(arrived), language if language_counts else ""), next(numbers))
        return bytes(answer(200, {"data": {"id": f"we_{number}", "summary": "Créé" if language else "Created"}}))

    result, _ = judged(script, a_repeat_in_another_language_is_no_new_call, CREATE, **endpoint_facts())
    assert result.outcome is outcome, result


@pytest.mark.parametrize("refused", ["", "Prefer", "limit"])
@pytest.mark.parametrize(
    "check", [the_headers_of_a_browser_prevent_no_success, parameters_of_other_interfaces_are_survived]
)
def test_what_is_refused_together_is_sent_alone(judged: Any, answer: Any, check: Any, refused: str) -> None:
    """A refusal of a call that is unusual in many ways says nothing: each check asks about its own part of it."""

    def script(arrived: Any) -> bytes:
        is_refused = refused and (arrived.all(refused) or f"{refused}=" in arrived.target)
        return bytes(answer(400 if is_refused else 200, {"error": "no"} if is_refused else {"data": {}}))

    result, found = judged(script, check, IDENTITY, operations={IDENTITY.id: OperationFacts()})
    is_broken = refused == "Prefer" and check is the_headers_of_a_browser_prevent_no_success
    assert result.outcome is (Outcome.FAILED if is_broken else Outcome.PASSED), result
    unusual = [arrived for arrived in found.arrived if "?" in arrived.target or arrived.all("Prefer")]
    assert len(unusual) == (2 if refused else 1), [arrived.target for arrived in unusual]
