"""A schema whose values would take time or memory without bound is an error of the profile, with pointer and limit."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from conformance.core.errors import ProfileError
from conformance.profile.sample import example
from conformance.profile.schema_limits import MAX_LEAST, MAX_LEVELS, MAX_NAME, check_limits
from conformance.profile.schemas import load_schemas

Schema = dict[str, Any]


def document(schema: Schema) -> Schema:
    return {"components": {"schemas": {"PublicCart": schema}}}


def member(schema: Schema, name: str = "a") -> Schema:
    return {"type": "object", "required": [name], "properties": {name: schema}}


def nested(levels: int) -> Schema:
    schema: Schema = {"type": "string"}
    for _ in range(levels):
        schema = member(schema)
    return schema


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (member({"minItems": 300_000_000}), "/properties/a/minItems is 300,000,000, and at most 1,000 is supported"),
        (member({"minLength": 3e8}), "/properties/a/minLength is 300,000,000.0, and at most 100,000 is supported"),
        ({"allOf": [{"minProperties": 1001}]}, "/allOf/0/minProperties is 1,001, and at most 1,000 is supported"),
        (nested(300), "is nested deeper than 256 levels"),
        (member({}, "x" * 5_000), "/properties has a member whose name is longer than 1,000 characters"),
        (member({"pattern": "^a{300000000}$"}), 'not a "regex" at /components/schemas/PublicCart/properties/a/pattern'),
        (member({"pattern": "^((a{999}){999}){999}$"}), "/properties/a/pattern"),
    ],
    ids=["items", "length", "properties", "levels", "name", "pattern", "nested pattern"],
)
def test_what_exceeds_a_limit_is_an_error_of_the_profile(tmp_path: Path, schema: Schema, problem: str) -> None:
    """The message names the file, the place and the limit in a few words, and comes at once."""
    path = tmp_path / "schemas.json"
    path.write_text(json.dumps(document(schema)))
    began = time.monotonic()
    with pytest.raises(ProfileError, match=re.escape(problem)) as raised:
        load_schemas(path, {}, ["PublicCart"])
    assert raised.value.where == str(path)
    assert len(str(raised.value)) < 500
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "schema",
    [
        *({keyword: limit} for keyword, limit in MAX_LEAST.items()),
        {"maxItems": 10**9, "maxLength": 10**9, "maxProperties": 10**9},
        nested(MAX_LEVELS // 2 - 3),
        member({}, "x" * MAX_NAME),
        {"properties": {"minItems": {"const": 10**9}, "example": {"type": "integer"}}},
        {"const": {"minItems": 10**9}, "examples": [{"minLength": 10**9}]},
    ],
    ids=[*MAX_LEAST, "upper bounds", "levels", "name", "a member of that name", "values"],
)
def test_what_is_within_the_limits_is_accepted(schema: Schema) -> None:
    """So is what only looks like a keyword: the name of a member, or a value that a schema states."""
    check_limits(document(schema), "schemas.json")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}, "minItems": 1_000, "uniqueItems": True},
        {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1_000},
        {"type": "string", "minLength": 100_000},
    ],
    ids=["unique items", "equal items", "text"],
)
def test_the_largest_values_are_made_in_little_time(schema: Schema) -> None:
    began = time.process_time()  # of the processor: the machine may be busy
    assert len(example(schema)) >= 1_000
    assert time.process_time() - began < 2
