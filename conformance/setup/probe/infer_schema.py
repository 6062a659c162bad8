"""JSON Schemas inferred from answers, loose enough that no conforming service can fail them.

genson merges the samples. Constraints that a few samples cannot prove are removed: required members, non-null types,
integers, closed objects, and everything below the members of `data` or of its items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from genson import SchemaBuilder

JsonValue = Any
Schema = dict[str, Any]
_SCHEMA_DEPTH: Final = {"object": 3, "array": 4}
"""Levels of a schema: the body, `data`, items of a list, and members. Deeper values may come from the client."""
_MAX_NESTING: Final = 60
_MAX_MEMBERS: Final = 200


def response_schema(bodies: Iterable[JsonValue], data: Literal["object", "array"]) -> Schema:
    """The schema of bodies `{data: object}` or `{data: array, meta?: object}` (interface, Resources).

    Only the envelope is required, as in the interface.
    """
    usable = [body for body in bodies if isinstance(body, dict) and _is_shallow(body)]
    schema = _loosen(_merged_schema(usable), _SCHEMA_DEPTH[data])
    properties = schema.get("properties", {})
    data_schema = properties.get("data", {})
    constraints = {keyword: part for keyword, part in data_schema.items() if keyword in ("properties", "items")}
    if data == "object":
        constraints.pop("items", None)
    else:
        constraints.pop("properties", None)
    return {"type": "object", "required": ["data"], "properties": {**properties, "data": {"type": data, **constraints}}}


def error_schema(bodies: Iterable[JsonValue]) -> Schema:
    """The schema of PublicErrorResponse: an object with at least one member."""
    usable = [body for body in bodies if isinstance(body, dict) and _is_shallow(body)]
    schema = _loosen(_merged_schema(usable), _SCHEMA_DEPTH["object"])
    return {"type": "object", "minProperties": 1, "properties": schema.get("properties", {})}


def envelope(data: Literal["object", "array"]) -> Schema:
    """The schema of the envelope alone, as the interface defines it."""
    return {"type": "object", "required": ["data"], "properties": {"data": {"type": data}}}


def _merged_schema(values: Iterable[JsonValue]) -> Schema:
    builder = SchemaBuilder(schema_uri=None)
    for value in values:
        builder.add_object(value)
    schema: Schema = builder.to_schema()
    return schema


def _loosen(schema: Mapping[str, Any], depth: int) -> Schema:
    """The observed types and null; members and items down to `depth`."""
    if depth == 0:
        return {}
    if "anyOf" in schema:
        branches = [_loosen(branch, depth) for branch in schema["anyOf"]]
        return {"anyOf": branches} if all(branches) else {}
    loose: Schema = {}
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        kinds = {"number" if kind == "integer" else str(kind) for kind in types}
        if kinds == {"null"}:
            return {}  # only null so far: the type is unknown
        loose["type"] = sorted(kinds | {"null"})
    properties = schema.get("properties", {})
    if 0 < len(properties) <= _MAX_MEMBERS and depth > 1:
        loose["properties"] = {str(name): _loosen(subschema, depth - 1) for name, subschema in properties.items()}
    if isinstance(schema.get("items"), Mapping) and depth > 1:
        loose["items"] = _loosen(schema["items"], depth - 1)
    return loose


def _is_shallow(value: JsonValue) -> bool:
    """Whether a value is nested at most `_MAX_NESTING` levels deep. Deeper values are ignored: genson is recursive."""
    parts = [value]
    for _ in range(_MAX_NESTING):
        parts = [item for part in parts if isinstance(part, (dict, list)) for item in _children(part)]
        if not parts:
            return True
    return False


def _children(part: JsonValue) -> Iterable[JsonValue]:
    return part.values() if isinstance(part, dict) else part
