"""Integers of more than 53 bits under one key, where the schema promises them."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_idempotency_payloads import _exact_integers, an_integer_beyond_53_bits_is_another_payload
from conformance.core.outcomes import Outcome
from conformance.profile.model import Schemas
from conformance.profile.resources import OperationFacts
from tests.support.check_runs import CONTRACT, key_of, profile

QUOTE = CONTRACT.operations["quotePublicCart"]
WIDE = {"type": "integer", "format": "int64"}


def _facts(**part: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"ref": {"type": "integer", **part}}}
    return {
        "operations": {QUOTE.id: OperationFacts(body={"ref": 5}, path={"cartId": "{cart.id}"})},
        "schemas": Schemas({QUOTE.request_schema: schema}),
    }


@pytest.mark.parametrize(
    ("part", "cases"),
    [({}, {}), ({"maximum": 2**53}, {}), (WIDE, {"ref": "/ref"}), ({"maximum": 2**63 - 1}, {"ref": "/ref"})],
    ids=["no bound", "53 bits", "a format", "a bound"],
)
def test_the_schema_must_promise_them(part: Any, cases: Any) -> None:
    assert _exact_integers(profile("http://t", **_facts(**part)), QUOTE) == cases


@pytest.mark.parametrize(("number", "outcome"), [(int, Outcome.PASSED), (float, Outcome.FAILED)])
def test_a_double_does_not_tell_them_apart(judged: Any, answer: Any, number: Any, outcome: Outcome) -> None:
    records: dict[str, Any] = {}

    def script(arrived: Any) -> bytes:
        if records.setdefault(key_of(arrived), number(arrived.json["ref"])) != number(arrived.json["ref"]):
            return bytes(answer(409, {"error": "no"}))
        return bytes(answer(200, {"data": {}}))

    def check(case: Any) -> Any:
        return an_integer_beyond_53_bits_is_another_payload(case, "/ref")

    result, _ = judged(script, check, QUOTE, **_facts(**WIDE))
    assert result.outcome is outcome, result
