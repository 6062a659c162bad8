"""The names of a schema: whatever a branch names is named, and a map takes any name."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judge.member_names import MemberNames

NAMED = {"type": "object", "properties": {"a": {"type": "integer"}}}
OTHER = {"type": "object", "properties": {"b": {"items": NAMED}}}

CASES: list[tuple[Any, Any, str]] = [
    (NAMED, {"a": 1}, ""),
    (NAMED, {"a": 1, "c~/": 2}, "/c~0~1"),
    (NAMED, 7, ""),
    ({"properties": {"b": {"items": NAMED}}}, {"b": [{"a": 1}, {"c": 1}]}, "/b/1/c"),
    ({**NAMED, "required": ["c"]}, {"c": {"d": 1}}, ""),
    # a map: no names at all, or a schema of the other members
    ({"type": "object"}, {"c": 1}, ""),
    ({"type": "object", "required": ["a"]}, {"c": 1}, ""),
    ({**NAMED, "additionalProperties": {"type": "string"}}, {"c": "1"}, ""),
    ({**NAMED, "unevaluatedProperties": True}, {"c": 1}, ""),
    ({**NAMED, "additionalProperties": False}, {"c": 1}, "/c"),
    # branches: a name of any of them is named
    *(({word: [NAMED, OTHER]}, {"a": 1, "b": [{"a": 1}]}, "") for word in ("allOf", "anyOf", "oneOf")),
    *(({word: [NAMED, OTHER]}, {"b": [{"c": 1}]}, "/b/0/c") for word in ("allOf", "anyOf", "oneOf")),
    ({**NAMED, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"c": 1}, "/c"),
    ({"anyOf": [NAMED, {"type": "object"}]}, {"c": 1}, ""),
    ({"anyOf": [NAMED, {"type": "null"}]}, {"c": 1}, "/c"),
    ({**NAMED, "if": {"properties": {"a": {"const": 1}}}, "then": OTHER}, {"a": 1, "b": []}, ""),
    ({**NAMED, "dependentSchemas": {"a": OTHER}}, {"a": 1, "b": []}, ""),
    ({**NAMED, "patternProperties": {"^x-": True}}, {"x-1": {"c": 1}}, ""),
    ({**NAMED, "patternProperties": {"^x-": True}}, {"y": 1}, "/y"),
    ({"prefixItems": [NAMED]}, [{"c": 1}], "/0/c"),
    ({"prefixItems": [NAMED]}, [{"a": 1}, {"c": 1}], ""),
    ({"prefixItems": [NAMED], "unevaluatedItems": OTHER}, [{"a": 1}, {"b": []}], ""),
    ({"prefixItems": [NAMED], "items": OTHER}, [{"a": 1}, {"c": 1}], "/1/c"),
    # references, also recursive and unknown ones
    ({"$ref": "#/$defs/n", "$defs": {"n": NAMED}}, {"c": 1}, "/c"),
    (
        {"$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"},
        {"n": {"n": {"c": 1}}},
        "/n/n/c",
    ),
    ({"allOf": [{"$ref": "#"}], "properties": {"a": {}}}, {"c": 1}, ""),
    ({**NAMED, "$ref": "https://elsewhere.example/schema"}, {"c": 1}, ""),
    (True, {"c": 1}, ""),
]


@pytest.mark.parametrize(("schema", "value", "place"), CASES)
def test_the_first_member_that_no_branch_names(schema: Any, value: Any, place: str) -> None:
    names = MemberNames(schema)
    assert names.first_unnamed(value) == place
    assert names.first_unnamed(value) == place  # from what it remembers of the schema
