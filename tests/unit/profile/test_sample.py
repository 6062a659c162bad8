"""Bodies out of schemas, and bodies that differ in one leaf."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.core import json_pointer as pointer
from conformance.profile.sample import alternatives, example

UUID = "6f1c1c5e-3c4b-4f0a-9d55-0a3e5b0c7a11"
ORDER = {
    "$ref": "#/components/schemas/Order",
    "components": {
        "schemas": {
            "Order": {
                "allOf": [{"$ref": "#/components/schemas/Base"}],
                "type": "object",
                "required": ["lines", "email"],
                "additionalProperties": True,
                "properties": {
                    "lines": {
                        "type": "array",
                        "minItems": 2,
                        "uniqueItems": True,
                        "items": {"type": "integer", "minimum": 4},
                    },
                    "email": {"type": "string", "format": "email"},
                    "note": {"type": "string"},
                },
            },
            "Base": {"required": ["id"], "properties": {"id": {"type": "string", "format": "uuid"}}},
            "Tree": {
                "type": "object",
                "required": ["child"],
                "properties": {"child": {"$ref": "#/components/schemas/Tree"}},
            },
            "Soft": {"type": "object", "properties": {"child": {"$ref": "#/components/schemas/Soft"}}},
        }
    },
}
SCHEMAS: list[Any] = [
    ORDER,
    {**ORDER, "$ref": "#/components/schemas/Soft"},
    {"const": {"a": 1}},
    {"enum": ["b", "a"]},
    {"type": "string", "default": "d"},
    {"type": "string", "examples": ["from examples"]},
    {"type": "string", "minLength": 20, "maxLength": 21},
    {"type": "string", "maxLength": 0},
    {"type": "string", "minLength": 3.0, "maxLength": 4.0},
    {"type": "array", "minItems": 2.0, "items": {"type": "object", "minProperties": 1.0}},
    {"type": "string", "pattern": "^[A-Z]{3}$"},
    {"type": "string", "pattern": r"^\d+$", "minLength": 9},
    *(
        {"type": "string", "format": name}
        for name in ("uuid", "uri", "email", "date-time", "date", "ipv4", "ipv6", "hostname")
    ),
    {"type": "integer", "exclusiveMinimum": 10, "multipleOf": 7},
    {"type": "integer", "maximum": -3},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": ["null", "boolean"]},
    {"anyOf": [{"type": "integer", "minimum": 5}, {"type": "null"}], "maximum": 4},
    {"oneOf": [{"required": ["a"], "properties": {"a": {"const": 1}}}, {"required": ["b"]}], "type": "object"},
    {"type": "object", "minProperties": 2, "properties": {"a": {"type": "integer"}}},
    {"type": "array", "prefixItems": [{"const": 1}, {"const": "x"}], "minItems": 2},
    {"required": ["a"], "properties": {"a": {"allOf": [{"minLength": 3}, {"maxLength": 4}], "type": "string"}}},
    {},
    True,
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_an_example_is_valid_and_always_the_same(schema: Any) -> None:
    """What comes out validates, formats included, and does not change from call to call."""
    body = example(schema)
    assert jsonschema_rs.Draft202012Validator(schema, validate_formats=True).is_valid(body)
    assert body == example(schema)
    assert body is not None or schema == {"anyOf": [{"type": "integer", "minimum": 5}, {"type": "null"}], "maximum": 4}


def test_an_example_is_small() -> None:
    """Optional members stay out."""
    body = example(ORDER)
    assert body is not None
    assert set(body) == {"id", "lines", "email"}


@pytest.mark.parametrize(
    "schema",
    [
        {**ORDER, "$ref": "#/components/schemas/Tree"},
        {
            "$ref": "#/$defs/A",
            "$defs": {
                "A": {"required": ["a"], "properties": {"a": {"anyOf": [{"$ref": "#/$defs/A"}] * 9}}, "type": "object"}
            },
        },
        {"type": "string", "pattern": "^zq{7}$"},
        {"not": {}},
        False,
    ],
    ids=["endless", "bushy", "pattern", "nothing", "false"],
)
def test_where_no_example_is_found_there_is_none(schema: Any) -> None:
    """An unsatisfiable or too odd schema gives None, in bounded time, and never a wrong body."""
    assert example(schema) is None


LEAVES = st.booleans() | st.integers(-100, 100) | st.floats(-9, 9) | st.text(max_size=6) | st.sampled_from(
    ["https://example.com/a?b=c", "a@example.com", UUID, "2030-01-31", "2030-12-31T10:00:00Z", "9999-12-31", "{x}"]
)  # fmt: skip
BODIES = st.recursive(
    LEAVES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
    max_leaves=8,
)


@given(BODIES)
def test_an_alternative_differs_in_its_leaf_alone(body: Any) -> None:
    """Of every leaf there is an alternative; it has another value of the same type there, and the rest is equal."""
    found = alternatives(body)
    assert set(found) == {at for at, _ in pointer.leaves(body)}
    for at, others in found.items():
        for other in others:
            assert pointer.get(other, at) != pointer.get(body, at)
            assert type(pointer.get(other, at)) is type(pointer.get(body, at))
            assert pointer.replace(other, at, pointer.get(body, at)) == body


@pytest.mark.parametrize(
    ("leaf", "other"),
    [
        (1, 2), (1.5, 1.6), (True, False), ("abc", "abcx"), ("", "x"),
        ("https://example.com/a/?q=1", "https://example.com/a/other?q=1"), ("https://example.com", "https://example.com/other"),
        ("a@example.com", "a.other@example.com"), (UUID, UUID[:-1] + "0"),
        ("2030-01-31", "2030-02-01"), ("2030-12-31T10:00:00Z", "2031-01-01T10:00:00Z"),
    ],
)  # fmt: skip
def test_the_first_alternative_keeps_the_form(leaf: Any, other: Any) -> None:
    """A URL stays a URL, an address an address, a date a date."""
    assert alternatives({"a": [leaf]})["/a/0"][0] == {"a": [other]}


def test_with_a_schema_every_alternative_is_valid() -> None:
    """Other members of an enum come first, and a leaf that has no valid alternative is left out."""
    schema = {
        "type": "object",
        "properties": {
            "grant": {"const": "code"},
            "event": {"enum": ["a", "b", "c"]},
            "size": {"type": "integer", "maximum": 5},
            "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
            "none": {"type": "null"},
            "list": {"items": {"anyOf": [{"enum": ["x", "y"]}, {"type": "integer"}]}},
        },
    }
    body = {"grant": "code", "event": "b", "size": 5, "code": "USZ", "none": None, "list": ["x"]}
    found = alternatives(body, schema)
    assert set(found) == {"/event", "/size", "/code", "/list/0"}
    assert [other["event"] for other in found["/event"]] == ["a", "c"]
    assert [other["size"] for other in found["/size"]] == [4]
    assert [other["code"] for other in found["/code"]] == ["USA"]
    assert [other["list"] for other in found["/list/0"]] == [["y"]]


def test_null_leaves_are_skipped() -> None:
    assert alternatives({"a": None, "b": {}}) == {}
