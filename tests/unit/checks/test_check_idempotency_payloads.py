"""Payloads that are almost equal (IDEM-4): what the target has read of each is seen, or stated."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_idempotency_payloads import (
    _exact_integers,
    the_integer_after_an_exact_one_is_another_payload,
)
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Idempotency
from conformance.profile.model import Schemas
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

CANCEL = CONTRACT.operations["cancelHostedCheckoutBrowser"]


@pytest.mark.parametrize(
    ("bounds", "is_shown", "outcome"),
    [
        ({}, False, Outcome.WARNED),
        ({}, True, Outcome.FAILED),
        ({"maximum": 10**8}, False, Outcome.FAILED),
    ],
    ids=["neither", "shown", "stated"],
)
def test_a_number_without_a_stated_bound_may_count_as_the_largest(
    judged: Any, answer: Any, bounds: dict[str, int], is_shown: bool, outcome: Outcome
) -> None:
    """A target that takes any number above 100 for 100 compares what it has read."""
    known: dict[str, Any] = {}

    def script(arrived: Any) -> bytes:
        rank = arrived.json["rank"]
        is_equal = known.setdefault(*arrived.all("idempotency-key"), min(rank, 100)) == min(rank, 100)
        shown = {"data": {"rank": rank} if is_shown else {}}
        return bytes(answer(200, shown) if is_equal else answer(409, {"code": "another payload"}))

    async def law(case: Case) -> None:
        (place,) = _exact_integers(case.profile, CANCEL).values()
        await the_integer_after_an_exact_one_is_another_payload(case, place)

    schema = {"type": "object", "properties": {"rank": {"type": "integer", "minimum": 0, **bounds}}}
    result, _ = judged(
        script,
        law,
        CANCEL,
        idempotency=Idempotency("header", name="Idempotency-Key", format="any"),
        schemas=Schemas({CANCEL.request_schema: schema}),
        fixtures={"session": {"open": Fixture("session", "open", values=({"id": "s1"},), reusable=True)}},
        operations={CANCEL.id: OperationFacts(path={"sessionId": "{session.id}"}, body={"rank": 3})},
    )
    assert result.outcome is outcome, result
