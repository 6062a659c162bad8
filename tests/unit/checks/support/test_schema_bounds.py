"""Bounds of a schema: which values lie just beyond them, and that a bound that is off by one is found each time."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.checks.check_generated import nothing_beyond_a_bound_is_accepted
from conformance.checks.support.schema_bounds import least_values, longest_texts, values_beyond_bounds
from conformance.core import json_pointer as pointer
from conformance.core.outcomes import Outcome
from conformance.profile.model import Schemas
from tests.support.check_runs import CONTRACT, profile

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["reason"],
    "properties": {
        "reason": {"type": "string", "minLength": 2, "maxLength": 30},
        "count": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10},
        "tags": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"$ref": "#/$defs/tag"}},
        "kind": {"enum": ["small", "large"]},
        "huge": {"type": "string", "maxLength": 5_000_000},
        "free": {"type": "string"},
    },
    "$defs": {"tag": {"type": "string", "minLength": 1, "maxLength": 5}},
}
BODY = {"reason": "late", "count": 3, "tags": ["a", "b"], "kind": "small", "huge": "x", "free": "y"}


def found(body: Any, schema: Any = SCHEMA, keep: tuple[str, ...] = (), values: tuple[Any, ...] = ()) -> set[str]:
    return {f"{one.where} {one.bound}" for one in values_beyond_bounds(body, schema, keep, values)}


def test_each_bound_is_passed_once() -> None:
    """Also behind a reference, and of an array's items at the first; a bound that is too far away is left alone."""
    assert found(BODY) == {
        "/reason minLength", "/reason maxLength", "/count minimum", "/count exclusiveMaximum", "/count type",
        "/count type-boolean", "/kind enum", "/kind enum-case", "/tags minItems", "/tags maxItems",
        "/tags/0 minLength", "/tags/0 maxLength", "/tags/2 type", "/reason minLength, which counts characters,",
    }  # fmt: skip


def test_what_looks_almost_right_is_asked() -> None:
    """A fraction for an integer, a text that misses its pattern or format, a member where none may follow."""
    schema = {
        "additionalProperties": False,
        "properties": {
            "code": {"type": "string", "pattern": "^[a-z]{2}$"},
            "id": {"type": "string", "format": "uuid"},
            "link": {"type": "string", "format": "uri"},
            "count": {"type": "integer"},
            "any": {"type": "number"},
        },
    }
    body = {"code": "ab", "id": "6f1c1c5e-3c4b-4f0a-9d55-0a3e5b0c7a11", "link": "https://a", "count": 3, "any": 1}
    numbers = {"/count type", "/count type-boolean", "/any type-boolean"}
    assert found(body, schema) == {
        " additionalProperties", "/code pattern", "/code pattern-end", "/code pattern-start", "/id format", *numbers,
    }  # fmt: skip
    strict = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    assert not any(strict.is_valid(one.body) for one in values_beyond_bounds(body, schema, (), ()))


def test_a_pattern_holds_from_the_start_of_the_text() -> None:
    """Not from that of a line, nor anywhere; a pattern that says nothing of the start is left alone."""

    def start(pattern: str, value: str) -> list[str]:
        schema = {"properties": {"code": {"pattern": pattern}}}
        found = values_beyond_bounds({"code": value}, schema, (), ())
        return [one.body["code"] for one in found if one.bound == "pattern-start"]

    assert start("^https?://[^/]", "https://a.example") == ["!\nhttps://a.example"]
    assert start("^[^a]*b$", "cb") == []
    assert start("^.?.?b$", "b") == ["!\nb"]
    assert start("^(.|\\n)c$", "bc") == ["!\nbc"]
    assert start("https?://", "https://a.example") == start("[a-z]{2}$", "ab") == []


@pytest.mark.parametrize("closed", [{}, {"additionalProperties": False}], ids=["open", "closed"])
@pytest.mark.parametrize(("required", "expected"), [([], [{}]), (["url"], [])])
def test_a_body_of_too_few_members_is_sent(
    closed: dict[str, Any], required: list[str], expected: list[dict[str, Any]]
) -> None:
    """Also where the schema takes no further member; not where a required member would be missing as well."""
    schema = {"minProperties": 1, "required": required, "properties": {"url": {}}, **closed}
    few = [one.body for one in values_beyond_bounds({"url": "x"}, schema, (), ()) if one.bound == "minProperties"]
    assert few == expected


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("^https://", "https://a.example/b", ["http://a.example/b"]),
        ("^https?://", "https://a.example/b", []),
        ("^http", "https://a.example/b", []),
        ("^ht[^x]*$", "http://a.example/b", []),
    ],
)
def test_a_pattern_that_wants_https_is_sent_http(pattern: str, value: str, expected: list[str]) -> None:
    schema = {"properties": {"url": {"pattern": pattern}}}
    found = values_beyond_bounds({"url": value}, schema, (), ())
    assert [one.body["url"] for one in found if one.bound == "pattern-scheme"] == expected


@pytest.mark.parametrize(
    ("values", "value", "has_other_case"),
    [
        (["authorization_code"], "authorization_code", True),
        (["small", "large"], "small", True),
        (["in-stock", "sold-out"], "in-stock", True),
        (["small", "SMALL"], "small", False),
        (["Open", "open", "OPEN", "closed"], "closed", False),
        (["en", "pt-BR", "zh_Hant_TW"], "pt-BR", False),
        (["EUR", "USD"], "EUR", False),
        (["DE", "other"], "DE", True),
        (["1", "2"], "1", False),
        (["stra\xdfe"], "stra\xdfe", False),
        ([None, "later"], "later", True),
    ],
)
def test_a_value_in_another_case_is_none_of_the_enum(values: list[Any], value: str, *, has_other_case: bool) -> None:
    """Unless the enum has it in two cases, or has codes and tags, which are often normalised first."""
    found = values_beyond_bounds({"kind": value}, {"properties": {"kind": {"enum": values}}}, (), ())
    others = [one.body["kind"] for one in found if one.bound == "enum-case"]
    assert others == ([value.swapcase()] if has_other_case else [])


def test_what_some_readers_cannot_tell_is_not_asked() -> None:
    """Numbers that a double does not hold."""
    far = {"properties": {"count": {"maximum": 2**63 - 1, "minimum": 1 - 2**53}}}
    assert not found({"count": 3}, far)


def test_one_text_is_too_short_in_characters_alone() -> None:
    """The others are so in bytes too, also where the good text is not ASCII. One character has no room for it."""
    long, short = {"minLength": 4}, {"minLength": 1}
    emoji = {"properties": {"reason": long, "note": long, "code": {**long, "pattern": "."}, "tag": short}}
    body = {"code": "abcd", "tag": "a", "reason": "\U0001f6d2" * 4, "note": "abcd"}
    texts = [(one.where, pointer.get(one.body, one.where)) for one in values_beyond_bounds(body, emoji, (), ())]
    wide = [(where, text) for where, text in texts if not text.isascii()]
    assert wide == [("/reason", "\U00020bb7" * 3)]
    assert {("/reason", "xxx"), ("/note", "abc"), ("/code", "abc"), ("/tag", "")} == set(texts) - set(wide)


def test_what_stands_for_something_else_is_left_alone() -> None:
    """A key, a verifier, what a placeholder brought: another value there is another defect."""
    assert not {one for one in found(BODY, keep=("/reason",)) if one.startswith("/reason")}
    assert not {one for one in found(BODY, values=("late",)) if one.startswith("/reason")}


@given(st.fixed_dictionaries({}, optional={name: st.just(value) for name, value in BODY.items()}))
def test_one_value_is_out_of_its_bound_and_nothing_else(body: dict[str, Any]) -> None:
    """Every body differs from the good one in one place, and the schema complains of that one alone."""
    whole = {"reason": "late", **body}
    validator = jsonschema_rs.validator_for(SCHEMA)
    for one in values_beyond_bounds(whole, SCHEMA, (), ()):
        assert {pointer.join(*map(str, e.instance_path)) for e in validator.iter_errors(one.body)} == {one.where}


@pytest.mark.parametrize(
    ("where", "bound", "off"),
    [
        ("reason", "maxLength", 31),
        ("reason", "minLength", 1),
        ("count", "exclusiveMaximum", 11),
        ("count", "minimum", -1),
        ("tags", "maxItems", 4),
        ("tags", "minItems", 0),
    ],
)
@pytest.mark.parametrize("wrong", [True, False], ids=["off by one", "right"])
def test_a_bound_that_is_off_by_one_is_found(
    judged: Any, answer: Any, where: str, bound: str, off: int, *, wrong: bool
) -> None:
    own = json.loads(json.dumps(SCHEMA))
    own["properties"][where][bound] = off if wrong else own["properties"][where][bound]
    validator = jsonschema_rs.validator_for(own)

    def script(arrived: Any) -> bytes:
        good = validator.is_valid(arrived.json)
        return bytes(answer(200 if good else 400, {"data": {}} if good else {"error": "no"}))

    on = CONTRACT.operations["quotePublicCart"]
    facts = replace(profile("http://127.0.0.1:1").operations[on.id], body={**BODY, "free": "{unique}"})
    schemas = Schemas({on.request_schema: SCHEMA})
    result, _ = judged(script, nothing_beyond_a_bound_is_accepted, on, schemas=schemas, operations={on.id: facts})
    assert result.outcome is (Outcome.FAILED if wrong else Outcome.PASSED), result
    assert not wrong or f"{bound} of {on.request_schema} at /{where}" in result.message


def test_an_item_behind_valid_ones_is_of_another_type() -> None:
    """For objects a member of it; in a full list it takes the place of the last one; none where no type is stated."""
    schema = {
        "properties": {
            "lines": {"maxItems": 2, "items": {"properties": {"any": {}, "id": {"type": "string"}}}},
            "marks": {"items": {"type": ["string", "null"]}},
        }
    }
    body = {"lines": [{"any": 1, "id": "a"}, {"id": "b"}], "marks": ["c"], "none": []}
    (one,) = (one for one in values_beyond_bounds(body, schema, (), ()) if one.where == "/lines/1")
    assert (one.bound, one.body) == ("type", {**body, "lines": [{"any": 1, "id": "a"}, {"any": 1, "id": 12345}]})
    assert found(body, schema) == {"/lines maxItems", "/lines/1 type"}


def test_the_least_values_fit_their_schema() -> None:
    """The required members alone, each list, all texts, all numbers: as little as the schema allows, and no less."""
    valid = jsonschema_rs.Draft202012Validator(SCHEMA)
    found = dict(least_values(BODY, SCHEMA, (), ()))
    assert found == {
        "the required members alone": {"reason": "late"},
        "the shortest list at /tags": {**BODY, "tags": ["a"]},
        "the shortest texts": {**BODY, "reason": "la", "tags": ["0", "b"], "huge": "", "free": ""},
        "the smallest numbers": {**BODY, "count": 0, "huge": "0", "free": "0"},
    }
    assert all(valid.is_valid(body) for body in found.values())


def test_of_the_least_values_fixtures_and_fixed_places_stay() -> None:
    found = dict(least_values(BODY, SCHEMA, ("/free",), ("late", "x")))
    assert found["the required members alone"] == {"reason": "late", "huge": "x", "free": "y"}
    assert found["the shortest texts"] == {**BODY, "tags": ["0", "b"]}


def test_objects_have_what_they_require_alone() -> None:
    """Each object within the body, and not the body itself; fixed places and fixture values stay."""
    inner = {"required": ["city"], "properties": {"lines": {"items": {"required": ["id"]}}}}
    schema = {"properties": {"to": inner, "by": {}}}
    body = {"to": {"city": "a", "zip": "b", "country": "c"}, "by": {"name": "d"}, "lines": [{"id": 1}]}
    found = dict(least_values(body, schema, (), ()))
    assert found["objects with what they require alone"] == {"to": {"city": "a"}, "by": {}, "lines": [{}]}
    found = dict(least_values(body, schema, ("/to/zip",), ("d", 1)))
    assert found["objects with what they require alone"] == {**body, "to": {"city": "a", "zip": "b"}}
    assert "objects with what they require alone" not in dict(least_values({"by": {}}, schema, (), ()))


def test_a_text_of_one_character_is_least_as_0() -> None:
    """What PHP takes for no text; and next to the smallest numbers, where a text may be empty."""
    schema = {"properties": {"one": {"minLength": 1}, "none": {"minLength": 0}, "code": {"pattern": "^[a-z]$"}}}
    found = dict(least_values({"one": "ab", "none": "cd", "code": "x"}, schema, (), ()))
    assert found["the shortest texts"] == {"one": "0", "none": "", "code": "x"}
    assert found["the smallest numbers"] == {"one": "ab", "none": "0", "code": "x"}


def test_null_is_where_the_schema_names_it() -> None:
    """In members that the body has and in others, if the whole fits; not where a value is fixed or from a fixture."""
    nullable = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    schema = {
        "properties": {
            "note": nullable,
            "code": {"type": ["string", "null"]},
            "size": {"enum": ["s", None]},
            "free": {},
            "strict": {"type": "string"},
            "whole": {"type": ["object", "null"], "properties": {"id": nullable}},
            "absent": nullable,
        }
    }
    body = {"note": "a", "code": "b", "size": "s", "free": "c", "strict": "d", "whole": {"id": "e"}}
    found = dict(least_values(body, schema, (), ()))
    nulls = {**body, "note": None, "code": None, "size": None, "whole": None, "absent": None}
    assert found["null wherever the schema names it"] == nulls
    found = dict(least_values(body, schema, ("/code", "/whole/id"), ("a",)))
    assert found["null wherever the schema names it"] == {**body, "size": None, "absent": None}
    assert "null wherever the schema names it" not in dict(least_values({"a": 1}, {"properties": {"a": {}}}, (), ()))


def test_the_longest_texts_are_the_free_ones() -> None:
    """With their length; not those of an enum, and not those that must not change."""
    assert list(longest_texts(BODY, SCHEMA, (), ())) == [("/reason", 30), ("/tags/0", 5), ("/huge", 5_000_000)]
    assert list(longest_texts(BODY, SCHEMA, ("/reason",), ("a",))) == [("/huge", 5_000_000)]


def test_true_is_no_number() -> None:
    assert "/count type-boolean" in found(BODY)


@pytest.mark.parametrize(("kind", "step", "other"), [("number", 0.5, 1.75), ("number", 1, 2.0), ("integer", 3, 4)])
def test_a_number_is_between_two_multiples(kind: str, step: float, other: float) -> None:
    """An integer stays one."""
    schema = {"properties": {"count": {"type": kind, "multipleOf": step}}}
    body = {"count": 3 if kind == "integer" else 1.5}
    violations = values_beyond_bounds(body, schema, (), ())
    assert [one.body for one in violations if one.bound == "multipleOf"] == [{"count": other}]


def test_a_format_of_one_branch_is_no_bound_where_another_takes_the_text(judged: Any, answer: Any) -> None:
    """A service that takes a UUID or any short text."""
    either = {"anyOf": [{"type": "string", "format": "uuid"}, {"type": "string", "maxLength": 60}]}
    schema = {"type": "object", "properties": {"reason": either, "count": {"type": "integer", "maximum": 5}}}
    valid = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)

    def script(arrived: Any) -> bytes:
        fits = valid.is_valid(json.loads(arrived.body))
        return bytes(answer(200, {"data": {}}) if fits else answer(400, {"error": "no"}))

    quote = CONTRACT.operations["quotePublicCart"]
    body = {"reason": "6f1c1c5e-3c4b-4f0a-9d55-0a3e5b0c7a11", "count": 3}
    facts = replace(profile("http://127.0.0.1:1").operations[quote.id], body=body)
    schemas, operations = Schemas({quote.request_schema: schema}), {quote.id: facts}
    result, _ = judged(script, nothing_beyond_a_bound_is_accepted, quote, schemas=schemas, operations=operations)
    assert result.outcome is Outcome.PASSED, result
