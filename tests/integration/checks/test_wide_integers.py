"""Integers under one key that floating-point numbers do not tell apart: of 32 bits, or of 64 if that is promised."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from conformance.checks.check_idempotency_payloads import (
    _exact_integers,
    the_integer_after_an_exact_one_is_another_payload,
)
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
    [
        ({}, {"ref": ("/ref", 2**24, False)}),
        ({"maximum": 2**53}, {"ref": ("/ref", 2**24, True)}),
        ({"maximum": 2**24}, {}),
        ({"type": "number"}, {"ref": ("/ref", 2**24, False)}),
        ({"type": "number", "multipleOf": 0.01}, {"ref": ("/ref", 2**24, False)}),
        (WIDE, {"ref-wide": ("/ref", 2**53, True)}),
        ({"maximum": 2**63 - 1}, {"ref-wide": ("/ref", 2**53, True)}),
    ],
    ids=["no bound", "53 bits", "24 bits", "a number", "an amount", "a format", "a bound"],
)
def test_the_schema_must_promise_more_than_53_bits(part: Any, cases: Any) -> None:
    """The place, the first number, and whether the schema states how large it may be."""
    assert _exact_integers(profile("http://t", **_facts(**part)), QUOTE) == cases


def _single(number: int) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])


@pytest.mark.parametrize(
    ("exact", "number", "outcome"),
    [
        (2**53, int, Outcome.PASSED),
        (2**53, float, Outcome.FAILED),
        (2**24, float, Outcome.PASSED),
        (2**24, _single, Outcome.FAILED),
    ],
)
def test_a_float_does_not_tell_them_apart(judged: Any, answer: Any, exact: int, number: Any, outcome: Outcome) -> None:
    records: dict[str, Any] = {}

    def script(arrived: Any) -> bytes:
        if records.setdefault(key_of(arrived), number(arrived.json["ref"])) != number(arrived.json["ref"]):
            return bytes(answer(409, {"error": "no"}))
        return bytes(answer(200, {"data": {}}))

    def check(case: Any) -> Any:
        return the_integer_after_an_exact_one_is_another_payload(case, ("/ref", exact, True))

    result, _ = judged(script, check, QUOTE, **_facts(**WIDE))
    assert result.outcome is outcome, result
