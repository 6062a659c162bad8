"""The parts of a self-contained JSON Schema: validation, flattening, and lookup by JSON pointer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jsonschema_rs

from conformance.core import json_pointer as pointer

Schema = Mapping[str, Any]
_COUNTS = frozenset(
    ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains")
)
_DEFINITION_KEYS = ("components", "$defs", "definitions", "schemas")
_MAPS_OF_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_NO_SCHEMAS = ("const", "enum", "default", "example", "examples", "required")


class Root:
    """A whole schema, in which the `$ref`s of its parts are resolved.

    `effort`: the maximum number of parts that are tried, since a recursive schema is infinite.
    """

    def __init__(self, schema: Schema, max_parts: int = 500) -> None:
        self._remaining_parts = max_parts
        self._schema = schema if isinstance(schema, Mapping) else {}
        names = [name for name in self._schema if name != "$ref"] if "$ref" in self._schema else _DEFINITION_KEYS
        self._definitions = {name: self._schema[name] for name in names if name in self._schema}

    def try_part(self) -> bool:
        """Whether one more part may be tried."""
        self._remaining_parts -= 1
        return self._remaining_parts >= 0

    def validator(self, part: Schema | bool) -> jsonschema_rs.Draft202012Validator:
        """A validator that checks formats too."""
        return jsonschema_rs.Draft202012Validator({**self._definitions, "allOf": [part]}, validate_formats=True)

    def flatten(self, part: Schema | bool, depth: int = 0) -> dict[str, Any]:
        """The part with `$ref` and `allOf` merged into it as far as possible."""
        if not isinstance(part, Mapping) or depth > 20:
            return {}
        direct = {name: _count(name, value) for name, value in part.items() if name not in ("$ref", "allOf")}
        layers = [self.flatten(sub, depth + 1) for sub in part.get("allOf", ())]
        if isinstance(part.get("$ref"), str) and part["$ref"].startswith("#"):
            layers.append(self.flatten(self._resolve(part["$ref"]), depth + 1))
        merged: dict[str, Any] = {}
        for layer in (*layers, direct):
            merged = _merge(merged, layer)
        return merged

    def names_null(self, part: Schema, place: str) -> bool:
        """Whether a branch names null for that place of an instance, by `type` or `enum`."""
        branches = self.subschemas(part, pointer.tokens(place))
        return any("null" in _kinds(branch.get("type")) or None in branch.get("enum", ()) for branch in branches)

    def without_required(self, part: Schema | bool, path: list[str]) -> dict[str, Any]:
        """The flattened part in which neither the member at that path nor the objects around it are required.

        It counts as one of the object's members no more.
        """
        flat, (name, *rest) = self.flatten(part), path
        changed = {**flat, "required": [other for other in flat.get("required", ()) if other != name]}
        if not rest:
            changed |= {key: max(0, flat[key] - 1) for key in ("minProperties", "maxProperties") if key in flat}
        if rest and name in flat.get("properties", {}):
            changed["properties"] = {**flat["properties"], name: self.without_required(flat["properties"][name], rest)}
        branches = {
            key: [self.without_required(b, path) for b in flat[key]] for key in ("oneOf", "anyOf") if key in flat
        }
        return changed | branches

    def _resolve(self, ref: str) -> Any:
        return pointer.get(self._schema, ref[1:]) if pointer.has(self._schema, ref[1:]) else {}

    def enums(self, part: Schema, place: str) -> tuple[Any, ...]:
        """The values that an `enum` allows at that place of an instance, in all branches."""
        found: list[Any] = []
        for schema in self.subschemas(part, pointer.tokens(place)):
            found += schema.get("enum", ())
        return tuple(found)

    def subschemas(self, part: Schema | bool, path: list[str], depth: int = 0) -> Iterator[dict[str, Any]]:
        """The flattened schemas of that place of an instance: one for every branch that declares it."""
        flat = self.flatten(part)
        if not path:
            yield flat
        else:
            below = flat.get("properties", {}).get(path[0])
            items = flat.get("items") if below is None and path[0].isdigit() else below
            if items is not None:
                yield from self.subschemas(items, path[1:], depth)
        if depth < 8:
            for branch in (*flat.get("oneOf", ()), *flat.get("anyOf", ())):
                yield from self.subschemas(branch, path, depth + 1)


def _kinds(kind: Any) -> Any:
    return kind if isinstance(kind, list) else (kind,)


def _count(name: str, value: Any) -> Any:
    """A count may be written `2.0`."""
    return int(value) if name in _COUNTS and isinstance(value, float) and value.is_integer() else value


def _merge(base: dict[str, Any], override: dict[str, Any]) -> dict[str, Any]:
    merged = {**base, **override}
    if "properties" in base and "properties" in override:
        shared = base["properties"].keys() & override["properties"].keys()
        both = {name: {"allOf": [base["properties"][name], override["properties"][name]]} for name in shared}
        merged["properties"] = {**base["properties"], **override["properties"], **both}
    if "required" in base and "required" in override:
        merged["required"] = [*base["required"], *override["required"]]
    if "enum" in base and "enum" in override:
        merged["enum"] = [value for value in override["enum"] if value in base["enum"]]
    return merged


def with_subschemas(schema: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """A schema with its subschemas changed, and what is data in it unchanged."""
    changed = {}
    for name, item in schema.items():
        if name in _NO_SCHEMAS:
            changed[name] = item
        elif name in _MAPS_OF_SCHEMAS and isinstance(item, dict):
            changed[name] = {key: change(subschema) for key, subschema in item.items()}
        else:
            changed[name] = change(item)
    return changed
