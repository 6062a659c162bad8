"""Edges of a schema are valid, and a refusal of one is found where the value next to it is accepted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest

from conformance.checks.check_valid_bodies import (
    a_text_is_measured_in_characters,
    the_least_body_is_survived,
    the_least_that_a_schema_allows_is_accepted,
    the_most_that_a_schema_allows_is_accepted,
)
from conformance.checks.support.case import Case
from conformance.checks.support.edge_answers import WIDE, wide_text
from conformance.checks.support.schema_bounds import least_values, longest_texts, values_beyond_bounds
from conformance.checks.support.schema_edges import at_all, edges
from conformance.core import json_pointer as pointer
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Bodies
from conformance.profile.model import Schemas
from conformance.profile.resources import Fixture
from tests.support.check_runs import CONTRACT, profile

QUOTE = CONTRACT.operations["quotePublicCart"]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "minLength": 0, "maxLength": 30},
        "kind": {"enum": ["small", "large"], "minLength": 0},
        "count": {"type": "integer", "minimum": 0, "maximum": 10**12},
        "tags": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "minLength": 1}},
        "free": {"type": "array", "items": {"type": "string"}},
    },
}
BODY = {"reason": "late", "kind": "small", "count": 3, "tags": ["a", "b"], "free": ["c"]}
AS_ZERO = 'minLength (as "0")'
BOUNDS = {
    ("/reason", "minLength"): ("", "l"),
    ("/reason", AS_ZERO): ("0", "00"),
    ("/tags/0", AS_ZERO): ("0", "00"),
    ("/free/0", AS_ZERO): ("0", "00"),
    ("/count", "minimum"): (0, 1),
    ("/tags", "minItems"): (["a"], ["a", "b"]),
    ("/tags", "maxItems"): (["a", "b", "a"], ["a", "a"]),
}


def test_the_edges_are_those_that_are_stated() -> None:
    """Of an absent bound nothing is known, of an enum no text is free; and all of them fit, with their neighbours."""
    found = list(edges(BODY, SCHEMA, (), ()))
    values = {
        (edge.where, edge.bound): (
            pointer.get(edge.put(BODY), edge.where),
            pointer.get(edge.put(BODY, edge.neighbour), edge.where),
        )
        for edge in found
        if edge.bound != "maximum"
    }
    assert values == BOUNDS
    assert [edge.put(BODY)["count"] for edge in found if edge.bound == "maximum"] == [10**12, 2**31]
    assert [edge.put(BODY, edge.neighbour)["count"] for edge in found if edge.bound == "maximum"] == [
        10**12 - 1,
        2**31 - 1,
    ]
    valid = jsonschema_rs.Draft202012Validator(SCHEMA)
    assert all(valid.is_valid(edge.put(BODY, change)) for edge in found for change in (None, *edge.neighbours))
    assert valid.is_valid(at_all(found, BODY))


def test_a_shortest_length_that_is_not_stated_has_another_neighbour() -> None:
    """A service may know of one: then another text of one character is refused as well."""
    found = {edge.where: edge for edge in edges(BODY, SCHEMA, (), ()) if edge.bound == AS_ZERO}
    values = {
        where: [pointer.get(edge.put(BODY, change), where) for change in edge.neighbours]
        for where, edge in found.items()
    }
    assert values == {"/reason": ["00"], "/tags/0": ["00"], "/free/0": ["00", "7"]}


def test_of_all_edges_each_place_has_its_first() -> None:
    most = [edge for edge in edges(BODY, SCHEMA, (), ()) if not edge.is_least]
    assert at_all(most, BODY) == {**BODY, "count": 10**12, "tags": ["a", "b", "a"]}


def test_what_must_not_change_has_no_edges() -> None:
    places = {edge.where for edge in edges(BODY, SCHEMA, ("/count",), ("late",))}
    assert places == {"/tags", "/tags/0", "/free/0"}
    unique = {"properties": {"tags": {"maxItems": 3, "uniqueItems": True}}}
    assert not list(edges(BODY, unique, (), ()))


@pytest.mark.parametrize("form", WIDE)
def test_a_wide_text_has_the_length_in_characters(form: tuple[str, str]) -> None:
    assert [len(wide_text(length, form)) for length in (0, 1, 7, 500)] == [0, 1, 7, 500]
    assert len(wide_text(100, form).encode()) > 200


def _utf_16_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


REFUSES: dict[str, tuple[Callable[[Any], bool], str, Outcome]] = {
    "an empty text": (lambda body: body.get("reason") == "", "least", Outcome.WARNED),
    "a count of zero": (lambda body: body.get("count") == 0, "least", Outcome.WARNED),
    "a list of one": (lambda body: len(body.get("tags", "ab")) < 2, "least", Outcome.FAILED),
    "the empty object": (lambda body: body == {}, "least", Outcome.FAILED),
    "a body that says nothing": (lambda body: not body.keys() & BODY.keys(), "least", Outcome.PASSED),
    "a list of three": (lambda body: len(body.get("tags", "")) > 2, "most", Outcome.FAILED),
    "a tag that comes twice": (
        lambda body: len({*body.get("tags", "")}) < len(body.get("tags", "")),
        "most",
        Outcome.PASSED,
    ),
    "more than 31 bits": (lambda body: body.get("count", 0) > 2**31 - 1, "most", Outcome.FAILED),
    "a sum that nobody paid": (lambda body: body.get("count", 0) > 1250, "most", Outcome.PASSED),
    "30 units of UTF-16": (lambda body: _utf_16_length(body.get("reason", "")) > 30, "text", Outcome.FAILED),
    "30 bytes": (lambda body: len(body.get("reason", "").encode()) > 30, "text", Outcome.FAILED),
    "letters beyond 16 bits": (lambda body: "\U0001f642" in body.get("reason", ""), "text", Outcome.PASSED),
    "nothing": (lambda body: False, "all", Outcome.PASSED),
}
CHECKS = {
    "survival": the_least_body_is_survived,
    "least": the_least_that_a_schema_allows_is_accepted,
    "most": the_most_that_a_schema_allows_is_accepted,
    "text": a_text_is_measured_in_characters,
}


@pytest.mark.parametrize("refused", REFUSES)
@pytest.mark.parametrize("name", CHECKS)
def test_a_refusal_at_an_edge_is_found_by_the_check_of_it(judged: Any, answer: Any, refused: str, name: str) -> None:
    """And by no other one. What the neighbour shows to be another rule is nobody's violation."""
    is_refused, subject, outcome = REFUSES[refused]

    def script(arrived: Any) -> bytes:
        refuses = is_refused(json.loads(arrived.body))
        return bytes(answer(400, {"error": "no"}) if refuses else answer(200, {"data": {}}))

    async def law(case: Case) -> None:
        await CHECKS[name](case)

    facts = replace(profile("http://127.0.0.1:1").operations[QUOTE.id], body=BODY)
    result, _ = judged(
        script,
        law,
        QUOTE,
        schemas=Schemas({QUOTE.request_schema: SCHEMA}),
        operations={QUOTE.id: facts},
        fixtures={"cart": {"open": Fixture("cart", "open", values=({"id": "c1"},), reusable=True)}},
        bodies=Bodies(unknown_members="ignored"),
    )
    assert result.outcome is (outcome if name == subject else Outcome.PASSED), result


_DATE = {
    "month": {"type": "integer", "minimum": 1, "maximum": 12},
    "day": {"type": "integer", "minimum": 1, "maximum": 31},
}
_RELATED = {
    "properties": {
        "date": {"type": "object", "properties": _DATE},
        "full": {"type": "object", "properties": _DATE, "required": ["month", "day"]},
        "main": {"type": "string"},
        "tags": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    }
}
_RELATED_BODY = {
    "date": {"month": 4, "day": 15},
    "full": {"month": 4, "day": 15},
    "main": "c",
    "tags": ["a", "b", "c"],
}


def _is_no_day(body: dict[str, dict[str, int]], name: str) -> bool:
    """Or both dates are the same one, of which the body with all greatest numbers is refused."""
    date = body.get(name, {})
    return (date.get("month"), date.get("day")) == (4, 31) or {"month": 12, "day": 31} == date == body.get("full")


RELATIONS: dict[str, tuple[Callable[[Any], bool], str, Outcome]] = {
    "a main tag that is none of the tags": (
        lambda body: body.get("main", "c") not in body.get("tags", "c"),
        "least",
        Outcome.PASSED,
    ),
    "a list of one": (lambda body: len(body.get("tags", "abc")) < 2, "least", Outcome.FAILED),
    "a day that its month lacks": (lambda body: _is_no_day(body, "date"), "most", Outcome.PASSED),
    "a day that its required month lacks": (
        lambda body: _is_no_day(body, "full") or _is_no_day(body, "date"),
        "most",
        Outcome.WARNED,
    ),
    "the last day": (lambda body: body.get("date", {}).get("day") == 31, "most", Outcome.FAILED),
    "a last day beside nothing": (
        lambda body: body.get("date", {}).get("day") == 31 or body.get("date", {}).keys() == {"day"},
        "most",
        Outcome.WARNED,
    ),
}


@pytest.mark.parametrize("refused", RELATIONS)
def test_what_a_relation_between_members_explains_is_no_violation(judged: Any, answer: Any, refused: str) -> None:
    """The neighbour of a value that another member forbids is accepted as well."""
    is_refused, subject, outcome = RELATIONS[refused]

    def script(arrived: Any) -> bytes:
        refuses = is_refused(json.loads(arrived.body))
        return bytes(answer(400, {"error": "no"}) if refuses else answer(200, {"data": {}}))

    async def law(case: Case) -> None:
        await CHECKS[subject](case)

    facts = replace(profile("http://127.0.0.1:1").operations[QUOTE.id], body=_RELATED_BODY)
    result, _ = judged(
        script,
        law,
        QUOTE,
        schemas=Schemas({QUOTE.request_schema: _RELATED}),
        operations={QUOTE.id: facts},
        fixtures={"cart": {"open": Fixture("cart", "open", values=({"id": "c1"},), reusable=True)}},
    )
    assert result.outcome is outcome, result


def test_the_same_bodies_are_sent_once(judged: Any, answer: Any) -> None:
    """By all checks of an operation, and each has the exchanges as its evidence."""

    async def law(case: Case) -> None:
        for check in CHECKS.values():
            other = Case(case.runtime, case.operation)
            await check(other)
            assert other.answers
            case.answers += other.answers

    facts = replace(profile("http://127.0.0.1:1").operations[QUOTE.id], body=BODY)
    result, target = judged(
        lambda _: answer(200, {"data": {}}),
        law,
        QUOTE,
        schemas=Schemas({QUOTE.request_schema: SCHEMA}),
        operations={QUOTE.id: facts},
        fixtures={"cart": {"open": Fixture("cart", "open", values=({"id": "c1"},), reusable=True)}},
    )
    assert result.outcome is Outcome.PASSED, result
    bodies = [request.body for request in target.arrived]
    assert len(bodies) == len(set(bodies)), bodies


def test_a_body_that_no_edge_fits_ends_no_check(judged: Any, answer: Any) -> None:
    """A keyword beside the bounds refuses all edges together: each text is asked by itself."""
    schema = {**SCHEMA, "not": {"properties": {"count": {"minimum": 100}}}}

    def script(arrived: Any) -> bytes:
        refuses = len(json.loads(arrived.body).get("reason", "").encode()) > 30
        return bytes(answer(400, {"error": "no"}) if refuses else answer(200, {"data": {}}))

    facts = replace(profile("http://127.0.0.1:1").operations[QUOTE.id], body=BODY)
    result, _ = judged(
        script,
        a_text_is_measured_in_characters,
        QUOTE,
        schemas=Schemas({QUOTE.request_schema: schema}),
        operations={QUOTE.id: facts},
        fixtures={"cart": {"open": Fixture("cart", "open", values=({"id": "c1"},), reusable=True)}},
    )
    assert result.outcome is Outcome.FAILED, result


def test_a_small_largest_body_is_no_length_in_bytes(judged: Any, answer: Any) -> None:
    def script(arrived: Any) -> bytes:
        return bytes(answer(400, {"error": "no"}) if len(arrived.body) > 160 else answer(200, {"data": {}}))

    facts = replace(profile("http://127.0.0.1:1").operations[QUOTE.id], body=BODY)
    schema = {"properties": {"reason": {"type": "string", "maxLength": 60}}}
    result, target = judged(
        script,
        a_text_is_measured_in_characters,
        QUOTE,
        schemas=Schemas({QUOTE.request_schema: schema}),
        operations={QUOTE.id: facts},
        fixtures={"cart": {"open": Fixture("cart", "open", values=({"id": "c1"},), reusable=True)}},
    )
    assert result.outcome is Outcome.PASSED, result
    assert any(len(request.body) > 160 for request in target.arrived)


@pytest.mark.parametrize("number", [2, 2.0])
def test_a_count_may_be_written_with_decimals(number: float) -> None:
    """`minItems: 2.0` is 2 (JSON Schema 2020-12, validation section 6.1)."""
    schema = {
        "properties": {
            "items": {"type": "array", "minItems": number, "maxItems": number * 3},
            "text": {"type": "string", "minLength": number, "maxLength": number * 4},
        }
    }
    body = {"items": ["a", "b", "c"], "text": "abcd"}
    assert [len(edge.put(body)["items"]) for edge in edges(body, schema, (), ())] == [2, 6]
    beyond = {one.bound: one.body for one in values_beyond_bounds(body, schema, (), ())}
    assert [len(beyond[bound]["items"]) for bound in ("minItems", "maxItems")] == [1, 7]
    assert [len(beyond[bound]["text"]) for bound in ("minLength", "maxLength")] == [1, 9]
    assert dict(longest_texts(body, schema, (), ())) == {"/text": 8}
    assert dict(least_values(body, schema, (), ()))["the shortest texts"]["text"] == "ab"
