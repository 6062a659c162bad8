"""The shape of a profile: its keys and types, as `facts.schema.json` states them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import jsonschema_rs

from conformance.profile.source import Key, Problem, nearest

_UNKNOWN = "unknown key"
_LACKS = "lacks the key "
_QUOTED_AT_MOST = 24
_ARTICLES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "a table",
    "array": "an array",
    "null": "nothing",
}


@cache
def profile_schema() -> dict[str, Any]:
    """The JSON Schema of a profile's facts, out of which the exclusions were taken (`published` has both)."""
    loaded: dict[str, Any] = json.loads((resources.files(__package__) / "facts.schema.json").read_bytes())
    return loaded


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(profile_schema())


@cache
def policy_schema() -> dict[str, Any]:
    """The JSON Schema of a gate's policy: what a profile says of waivers, and what a release is held to."""
    listed = {"type": "array", "items": {"$ref": "#/$defs/text"}}
    own = {
        "tier": {"description": "stable, candidate or all.", "enum": ["stable", "candidate", "all"]},
        "allow_incomplete": {"description": "Requirements that need not reach a verdict.", **listed},
        "strict_waivers": {"description": "Whether a waiver that excuses nothing fails.", "type": "boolean"},
        "waivers": profile_schema()["properties"]["waivers"],
    }
    shape = {"type": "object", "additionalProperties": False, "properties": own}
    return {"$schema": profile_schema()["$schema"], **shape, "$defs": profile_schema()["$defs"]}


def structure_problems(document: Mapping[str, Any], schema: dict[str, Any] | None = None) -> list[Problem]:
    """What is wrong with a document's keys and types, in no particular order; of a profile, without a `schema`."""
    if problems := list(_not_finite(document)):
        return problems
    validator = jsonschema_rs.Draft202012Validator(schema) if schema else _validator()
    for error in validator.iter_errors(document):
        key = _key_of(document, error.instance_path)
        problems += _problems(key, error, _subschema(schema or profile_schema(), key))
    misspelt = {(p.key[:-1], p.hint) for p in problems if p.what == _UNKNOWN}
    return [p for p in problems if (p.key, f"did you mean {p.what.removeprefix(_LACKS)}?") not in misspelt]


def _not_finite(value: Any, key: Key = ()) -> Iterator[Problem]:
    if isinstance(value, float) and not math.isfinite(value):
        yield Problem(key, f"{value} is no JSON number")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _not_finite(item, (*key, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_finite(item, (*key, index))


def _problems(key: Key, error: jsonschema_rs.ValidationError, subschema: Mapping[str, Any]) -> Iterator[Problem]:
    kind: Any = error.kind
    expected = subschema.get("x-expected", "")
    match kind.name:
        case "additionalProperties":
            names = list(subschema.get("properties", ()))
            for unknown in kind.unexpected:
                yield Problem((*key, unknown), _UNKNOWN, nearest(unknown, names))
        case "required":
            yield Problem(key, f"{_LACKS}{kind.property}", _about(subschema, kind.property))
        case "type":
            yield Problem(key, f"must be {_types(subschema)}, not {_type_of(error.instance)}", expected)
        case "enum":
            options = [str(option) for option in subschema["enum"]]
            yield Problem(key, f"{_quoted(error.instance)} is not allowed", nearest(str(error.instance), options))
        case "pattern" | "minimum" | "exclusiveMinimum":
            yield Problem(key, f"must be {expected}, not {_quoted(error.instance)}")
        case "minLength" | "minItems" | "minProperties" | "maxProperties":
            yield Problem(key, "must not be empty" if expected == "not empty" else f"needs {expected}")
        case _:
            yield Problem(key, f"does not fit the schema ({kind.name})")


def _quoted(value: Any) -> str:
    """What was written, unless it is long enough to be a key that was put in the wrong place."""
    text = repr(value)
    return text if len(text) <= _QUOTED_AT_MOST else f"{text[:4]}…{text[-1]}"


def _about(subschema: Mapping[str, Any], name: str) -> str:
    about = str(_resolved(subschema["properties"][name]).get("description", ""))
    return (about if about[1:2].isupper() else about[:1].lower() + about[1:]).rstrip(".")


def _types(subschema: Mapping[str, Any]) -> str:
    types = subschema["type"]
    return " or ".join(_ARTICLES[t] for t in ([types] if isinstance(types, str) else types))


def _key_of(document: Any, path: Iterable[str | int]) -> Key:
    """An instance path as a key. The library gives a member whose name is a number, such as `00`, as that number."""
    key: list[str | int] = []
    for part in path:
        if isinstance(document, Mapping) and isinstance(part, int):
            key.append(next(name for name in document if name.lstrip("+").isdigit() and int(name) == part))
        else:
            key.append(part)
        document = document[key[-1]]
    return tuple(key)


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    kinds = ((str, "a string"), (int, "an integer"), (float, "a float"), (dict, "a table"), (list, "an array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), type(value).__name__)


def _subschema(schema: Mapping[str, Any], key: Key) -> Mapping[str, Any]:
    schema = _resolved(schema)
    for part in key:
        below = schema["items"] if isinstance(part, int) else schema.get("properties", {}).get(part)
        schema = _resolved(schema["additionalProperties"] if below is None else below)
    return schema


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    target = _resolved(profile_schema()["$defs"][schema["$ref"].rpartition("/")[2]])
    return {**target, **{name: item for name, item in schema.items() if name != "$ref"}}
