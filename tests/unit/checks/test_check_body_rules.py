"""What a profile states of unknown members and of depth: members of answers are unknown in bodies, brackets in a text
nest nothing (BODY-9)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conformance.checks.check_body_rules import (
    a_body_ends_at_the_stated_depth,
    an_unknown_member_is_treated_as_stated,
)
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Bodies
from conformance.profile.model import Schemas
from conformance.profile.resources import Fixture
from tests.support.check_runs import CONTRACT, profile

CHECKOUT = CONTRACT.operations["checkoutPublicCart"]
SCHEMA = {"type": "object", "properties": {"reason": {"type": "string"}, "state": {"type": "string"}}}
OWN = {"id": "c1", "state": "done", "totals": {"sum": 100, "currency": "USD"}, "lines": [1, 2], "paid": True}
TAKES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "nothing": lambda _: {},
    "a member of its schema": lambda body: {"state": body.get("state", "done")},
    "the totals": lambda body: {"totals": {**OWN["totals"], "sum": body.get("totals", {}).get("sum", 100)}},
    "the id": lambda body: {"id": body.get("id", "c1")},
}


def run(judged: Any, script: Any, law: Any, **bodies: Any) -> Any:
    operations = profile("http://127.0.0.1:1").operations
    facts = replace(operations["quotePublicCart"], body={"reason": "late"})
    return judged(
        script,
        law,
        CHECKOUT,
        schemas=Schemas({CHECKOUT.request_schema: SCHEMA}),
        operations={CHECKOUT.id: facts},
        fixtures={"cart": {"open": Fixture("cart", "open", values=({"id": "c1"},), reusable=True)}},
        bodies=Bodies(**bodies),
    )


@pytest.mark.parametrize("takes", TAKES)
def test_a_member_of_the_answer_is_not_taken_from_the_client(judged: Any, answer: Any, takes: str) -> None:
    """One that the schema of the body names is the client's to choose, and is not sent as an unknown one."""

    def script(arrived: Any) -> bytes:
        return bytes(answer(200, {"data": {**OWN, **TAKES[takes](json.loads(arrived.body))}}))

    result, target = run(judged, script, an_unknown_member_is_treated_as_stated, unknown_members="ignored")
    is_wrong = takes in ("the totals", "the id")
    assert result.outcome is (Outcome.FAILED if is_wrong else Outcome.PASSED), result
    assert any("totals" in request.json and "state" not in request.json for request in target.arrived)


def _depth(value: Any) -> int:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if items is None else 1 + max(map(_depth, items), default=0)


COUNTS: dict[str, Callable[[bytes], int]] = {
    "what is nested": lambda body: _depth(json.loads(body)),
    "brackets": lambda body: body.count(b"[") + body.count(b"{"),
    "half of it": lambda body: 2 * _depth(json.loads(body)),
}


@pytest.mark.parametrize("counts", COUNTS)
def test_brackets_in_a_text_are_no_depth(judged: Any, answer: Any, counts: str) -> None:
    def script(arrived: Any) -> bytes:
        is_deep = COUNTS[counts](arrived.body) > 6
        return bytes(answer(400, {"error": "deep"}) if is_deep else answer(200, {"data": {}}))

    result, _ = run(judged, script, a_body_ends_at_the_stated_depth, unknown_members="ignored", max_depth=6)
    assert result.outcome is (Outcome.PASSED if counts == "what is nested" else Outcome.FAILED), result
    assert ("brackets in a text" in result.message) == (counts == "brackets")


def test_a_schema_that_closes_its_bodies_decides_no_depth(
    judged: Any, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profile states that unknown members are ignored, and the schema refuses them: both cannot be right."""
    monkeypatch.setitem(SCHEMA, "additionalProperties", False)

    def script(arrived: Any) -> bytes:
        is_known = set(json.loads(arrived.body)) <= {"reason", "state"}
        return bytes(answer(200, {"data": {}}) if is_known else answer(400, {"error": "unknown"}))

    result, _ = run(judged, script, a_body_ends_at_the_stated_depth, unknown_members="ignored", max_depth=6)
    assert result.outcome is Outcome.INCONCLUSIVE, result
    assert "refuses members" in result.message
