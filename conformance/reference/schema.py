"""A strict validator for the few JSON Schema keywords that the service's request schemas use.

Nothing is coerced: "1" is not an integer, 1.0 is one (JSON Schema 2020-12, 6.1.1), true is not a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

from conformance.reference.call import Call, JsonObject, JsonValue, Refusal

Schema = Mapping[str, Any]


def validate(_call: Call, schema: Schema, value: JsonValue) -> JsonObject:
    """The body itself where it is valid. Raises Refusal of kind `invalid`."""
    error = problem(schema, value)
    if error:
        raise Refusal("invalid", error)
    assert isinstance(value, dict)
    return value


def problem(schema: Schema, value: JsonValue, at: str = "body") -> str:
    """The first problem of a value, or the empty string. Names schema members only, never request data."""
    kind = schema.get("type")
    if kind and not _is(kind, value):
        return f"{at} must be of type {kind if isinstance(kind, str) else ' or '.join(kind)}."
    if "enum" in schema and value not in schema["enum"]:
        return f"{at} is not one of the allowed values."
    if isinstance(value, str):
        return _text(schema, value, at)
    if isinstance(value, dict):
        return _object(schema, value, at)
    if isinstance(value, list):
        return _array(schema, value, at)
    return _number(schema, value, at)


def _is(kind: str | Sequence[str], value: JsonValue) -> bool:
    if not isinstance(kind, str):
        return any(_is(name, value) for name in kind)
    if kind in ("integer", "number"):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and (kind == "number" or not isinstance(value, float) or value.is_integer())
    kinds: dict[str, type] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": NoneType}
    return isinstance(value, kinds[kind])


def _text(schema: Schema, value: str, at: str) -> str:
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 1 << 30):
        return f"{at} is too short or too long."
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return f"{at} does not have the required form."
    return ""


def _number(schema: Schema, value: JsonValue, at: str) -> str:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return ""
    return "" if schema.get("minimum", value) <= value <= schema.get("maximum", value) else f"{at} is out of range."


def _object(schema: Schema, value: JsonObject, at: str) -> str:
    properties = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        return f"{at}.{missing[0]} is required."
    if schema.get("additionalProperties") is False and value.keys() - properties.keys():
        return f"{at} has an unknown member."
    if len(value) < schema.get("minProperties", 0):
        return f"{at} has too few members."
    problems = (problem(part, value[name], f"{at}.{name}") for name, part in properties.items() if name in value)
    return next(filter(None, problems), "")


def _array(schema: Schema, value: list[JsonValue], at: str) -> str:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 1 << 30):
        return f"{at} has too few or too many items."
    return next(filter(None, (problem(schema.get("items", {}), item, f"{at}[]") for item in value)), "")
