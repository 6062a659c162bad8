"""Payloads that differ in one leaf (IDEM-4), where the key is a member of the body that the schema requires."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from conformance.checks.check_idempotency_conflicts import a_changed_leaf_under_the_same_key_is_answered_409
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Idempotency
from conformance.profile.model import Schemas
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

CANCEL = CONTRACT.operations["cancelHostedCheckoutBrowser"]
KEYED = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
SCHEMA = {
    "type": "object",
    "properties": {"call": {"$ref": "#/$defs/Call"}, "why": {"enum": ["buyer", "timeout"]}},
    "required": ["call"],
    "additionalProperties": False,
    "$defs": {"Call": KEYED},
}


@pytest.mark.parametrize(("reads", "outcome"), [(("why",), Outcome.PASSED), ((), Outcome.FAILED)])
def test_another_value_of_an_enumeration_is_sent_beside_the_key(
    judged: Any, answer: Any, reads: tuple[str, ...], outcome: Outcome
) -> None:
    """The body of the profile lacks the key, which the suite adds: it fits the schema all the same."""
    known: dict[str, list[Any]] = {}

    def script(arrived: Any) -> bytes:
        body = arrived.json
        if body["why"] not in ("buyer", "timeout"):
            return bytes(answer(400, {"code": "no such reason"}))
        payload = [body[name] for name in reads]
        is_equal = known.setdefault(body["call"]["key"], payload) == payload
        return bytes(answer(200, {"data": {}}) if is_equal else answer(409, {"code": "another payload"}))

    result, _ = judged(
        script,
        partial(a_changed_leaf_under_the_same_key_is_answered_409, where="/why"),
        CANCEL,
        idempotency=Idempotency("body", pointer="/call/key", format="any"),
        schemas=Schemas({CANCEL.request_schema: SCHEMA}),
        fixtures={"session": {"open": Fixture("session", "open", values=({"id": "s1"},), reusable=True)}},
        operations={CANCEL.id: OperationFacts(path={"sessionId": "{session.id}"}, body={"why": "buyer"})},
    )
    assert result.outcome is outcome, result
