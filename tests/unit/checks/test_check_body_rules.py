"""What a profile states of unknown members and of depth: members of answers are unknown in bodies, brackets in a text
nest nothing (BODY-9)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest

from conformance.checks.check_body_rules import (
    a_body_ends_at_the_stated_depth,
    a_body_ends_at_the_stated_size,
    an_unknown_member_is_treated_as_stated,
    the_size_of_a_body_is_counted_in_bytes,
)
from conformance.checks.support.sized_bodies import depth_of
from conformance.core.outcomes import Outcome
from conformance.judge.invariants import ERROR_SCHEMA
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


def run(judged: Any, script: Any, law: Any, *, schema: Any = SCHEMA, error: Any = None, **bodies: Any) -> Any:
    operations = profile("http://127.0.0.1:1").operations
    facts = replace(operations["quotePublicCart"], body={"reason": "late"})
    return judged(
        script,
        law,
        CHECKOUT,
        schemas=Schemas({CHECKOUT.request_schema: schema} | ({ERROR_SCHEMA: error} if error else {})),
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


@pytest.mark.parametrize(("refused", "outcome"), [("id", Outcome.PASSED), ("", Outcome.FAILED)])
def test_a_service_may_know_a_member_of_its_answers(judged: Any, answer: Any, refused: str, outcome: Outcome) -> None:
    """As an id, which must be that of the path."""

    def script(arrived: Any) -> bytes:
        names = json.loads(arrived.body).keys() - {"reason"}
        is_refused = refused in names if refused else bool(names)
        return bytes(answer(400, {"error": "no"}) if is_refused else answer(200, {"data": OWN}))

    result, _ = run(judged, script, an_unknown_member_is_treated_as_stated, unknown_members="ignored")
    assert result.outcome is outcome, result


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


def _service(answer: Any, schema: Any, *, max_bytes: int = 10**6, max_depth: int = 100) -> Callable[[Any], bytes]:
    """One that keeps its schema and its limits, and no other rule."""
    valid = jsonschema_rs.Draft202012Validator(schema)

    def script(arrived: Any) -> bytes:
        body = json.loads(arrived.body)
        is_good = valid.is_valid(body) and len(arrived.body) <= max_bytes and depth_of(body) <= max_depth
        return bytes(answer(200, {"data": OWN}) if is_good else answer(400, {"error": "no"}))

    return script


TEXTS_ONLY = {**SCHEMA, "additionalProperties": {"type": "string", "maxLength": 50}}
SMALL_NAMES = {**SCHEMA, "propertyNames": {"maxLength": 6}}
LAWS = {
    "deep": (a_body_ends_at_the_stated_depth, {"unknown_members": "kept", "max_depth": 6}),
    "in bytes": (the_size_of_a_body_is_counted_in_bytes, {"unknown_members": "kept", "max_bytes": 300}),
    "too deep for its size": (
        a_body_ends_at_the_stated_depth,
        {"unknown_members": "kept", "max_depth": 90, "max_bytes": 200},
    ),
    "deeper than the answer": (an_unknown_member_is_treated_as_stated, {"unknown_members": "ignored", "max_depth": 1}),
    "shorter than the answer": (
        an_unknown_member_is_treated_as_stated,
        {"unknown_members": "ignored", "max_bytes": 170},
    ),
    "members of any name": (an_unknown_member_is_treated_as_stated, {"unknown_members": "refused"}),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("schema", [SCHEMA, TEXTS_ONLY, SMALL_NAMES], ids=["any", "texts only", "small names"])
def test_what_the_schema_or_another_limit_refuses_is_not_held_against_a_service(
    judged: Any, answer: Any, name: str, schema: Any
) -> None:
    law, facts = LAWS[name]
    if name == "members of any name" and schema is not TEXTS_ONLY:
        schema = {**schema, "additionalProperties": True}
    limits = {limit: facts[limit] for limit in ("max_bytes", "max_depth") if limit in facts}
    result, _ = run(judged, _service(answer, schema, **limits), law, schema=schema, **facts)
    assert result.outcome in (Outcome.PASSED, Outcome.INAPPLICABLE, Outcome.INCONCLUSIVE), result


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


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(400, Outcome.PASSED), (422, Outcome.PASSED), (413, Outcome.FAILED), (404, Outcome.FAILED), (200, Outcome.FAILED)],
)
def test_an_undeclared_status_of_a_deep_body_is_another_question(
    judged: Any, answer: Any, status: int, outcome: Outcome
) -> None:
    """In the shape of the target's own errors too, unless it is one that a gateway may answer to what is too large."""

    def script(arrived: Any) -> bytes:
        is_deep = _depth(json.loads(arrived.body)) > 6
        return bytes(answer(status if is_deep else 200, {"error": "deep", "data": {}}))

    error = {"type": "object", "required": ["error"]}
    names = {"unknown_members": "ignored", "max_depth": 6}
    result, _ = run(judged, script, a_body_ends_at_the_stated_depth, error=error, **names)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(
    ("status", "outcome"), [(400, Outcome.PASSED), (422, Outcome.PASSED), (409, Outcome.FAILED), (200, Outcome.FAILED)]
)
def test_an_undeclared_status_of_an_unknown_member_is_another_question(
    judged: Any, answer: Any, status: int, outcome: Outcome
) -> None:
    def script(arrived: Any) -> bytes:
        is_known = json.loads(arrived.body).keys() <= {"reason", "state"}
        return bytes(answer(200 if is_known else status, {"error": "unknown", "data": {}}))

    result, _ = run(judged, script, an_unknown_member_is_treated_as_stated, unknown_members="refused")
    assert result.outcome is outcome, result


MEASURES: dict[str, Callable[[Any], bool]] = {
    "bytes": lambda arrived: len(arrived.body) > LARGEST,
    "letters": lambda arrived: len(arrived.body.decode()) > LARGEST,
}
LARGEST = 1000


@pytest.mark.parametrize("measure", MEASURES)
def test_a_body_is_measured_in_bytes(judged: Any, answer: Any, measure: str) -> None:
    """One that is too long in bytes is not so in letters."""

    def script(arrived: Any) -> bytes:
        return bytes(answer(*((400, {"code": "c"}) if MEASURES[measure](arrived) else (200, {"data": OWN}))))

    schema = {"type": "object", "properties": {"reason": {"type": "string", "maxLength": 30}}}
    result, _ = run(judged, script, a_body_ends_at_the_stated_size, schema=schema, max_bytes=LARGEST)
    assert result.outcome is (Outcome.PASSED if measure == "bytes" else Outcome.FAILED), result
