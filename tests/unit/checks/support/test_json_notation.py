"""Other notations of a JSON value are JSON, and the same value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from conformance.checks.check_json_notation import json_is_read_in_each_notation
from conformance.checks.support.json_notation import with_escapes, with_escapes_and_white_space, with_white_space
from conformance.checks.support.strategies import json_values
from conformance.core.outcomes import Outcome
from conformance.profile.resources import Fixture
from tests.support.check_runs import CONTRACT, profile

QUOTE = CONTRACT.operations["quotePublicCart"]


@given(json_values())
def test_the_value_stays_the_same(value: Any) -> None:
    for content in (with_escapes(value), with_white_space(value), with_escapes_and_white_space(value)):
        assert json.loads(content) == value


def test_each_character_is_escaped_and_white_space_is_around_the_text() -> None:
    assert with_escapes({"a": "\U0001f642"}) == rb'{"\u0061":"\ud83d\ude42"}'
    text = with_white_space({"a": 1})
    assert text.strip() not in (text.lstrip(), text.rstrip())
    assert with_escapes_and_white_space({"a": [1, "b"]}).split() == [rb"{", rb'"\u0061":', b"[", b"1,", rb'"\u0062"]}']


ENDLESS = {"cart": {"open": Fixture("cart", "open", values=({"id": "c1"},), reusable=True)}}
REFUSED: dict[str, Callable[[bytes], bool]] = {
    "nothing": lambda _: False,
    "white space": lambda body: body[:1].isspace(),
    "escaped names": lambda body: re.search(rb'\{\s*"\\u', body) is not None,
}


@pytest.mark.parametrize("refused", ["nothing", "white space", "escaped names"])
@pytest.mark.parametrize("notation", [with_escapes, with_white_space, with_escapes_and_white_space])
def test_a_notation_that_is_refused_is_found(judged: Any, answer: Any, refused: str, notation: Any) -> None:
    def script(arrived: Any) -> bytes:
        is_refused = REFUSED[refused](arrived.body)
        return bytes(answer(400, {"error": "no"}) if is_refused else answer(200, {"data": {}}))

    async def law(case: Any) -> None:
        await json_is_read_in_each_notation(case, notation)

    result, _ = judged(script, law, QUOTE, fixtures=ENDLESS)
    other = {"white space": with_escapes, "escaped names": with_white_space}
    is_found = refused in other and notation is not other[refused]
    assert result.outcome is (Outcome.FAILED if is_found else Outcome.PASSED), result


def test_a_small_largest_body_is_no_refusal_of_escapes(judged: Any, answer: Any) -> None:
    """Escapes make a body six times as long: the largest one need not be stated."""

    def script(arrived: Any) -> bytes:
        return bytes(answer(400, {"error": "no"}) if len(arrived.body) > 60 else answer(200, {"data": {}}))

    async def law(case: Any) -> None:
        await json_is_read_in_each_notation(case, with_escapes)

    facts = replace(profile("http://127.0.0.1:1").operations[QUOTE.id], body={"reason": "late by a day or two"})
    result, target = judged(script, law, QUOTE, fixtures=ENDLESS, operations={QUOTE.id: facts})
    assert result.outcome is Outcome.PASSED, result
    assert any(len(request.body) > 60 for request in target.arrived)
