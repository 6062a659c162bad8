"""The parts of a self-contained JSON Schema: validation, flattening, and lookup by JSON pointer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs

from conformance.core import json_pointer as pointer

Schema = Mapping[str, Any]
_CARRIERS = ("components", "$defs", "definitions", "schemas")


class Root:
    """A whole schema, in which the `$ref`s of its parts are resolved.

    `effort`: the maximum number of parts that are tried, since a recursive schema is infinite.
    """

    def __init__(self, schema: Schema, effort: int = 500) -> None:
        self._effort = effort
        self._schema = schema if isinstance(schema, Mapping) else {}
        names = [name for name in self._schema if name != "$ref"] if "$ref" in self._schema else _CARRIERS
        self._carried = {name: self._schema[name] for name in names if name in self._schema}

    def spend(self) -> bool:
        """Whether one more part may be tried."""
        self._effort -= 1
        return self._effort >= 0

    def validator(self, part: Schema | bool) -> jsonschema_rs.Draft202012Validator:
        """A validator that checks formats too."""
        return jsonschema_rs.Draft202012Validator({**self._carried, "allOf": [part]}, validate_formats=True)

    def flat(self, part: Schema | bool, depth: int = 0) -> dict[str, Any]:
        """The part with `$ref` and `allOf` merged into it as far as possible."""
        if not isinstance(part, Mapping) or depth > 20:
            return {}
        own = {name: value for name, value in part.items() if name not in ("$ref", "allOf")}
        layers = [self.flat(sub, depth + 1) for sub in part.get("allOf", ())]
        if isinstance(part.get("$ref"), str) and part["$ref"].startswith("#"):
            layers.append(self.flat(self._resolved(part["$ref"]), depth + 1))
        merged: dict[str, Any] = {}
        for layer in (*layers, own):
            merged = _merge(merged, layer)
        return merged

    def _resolved(self, ref: str) -> Any:
        return pointer.get(self._schema, ref[1:]) if pointer.has(self._schema, ref[1:]) else {}

    def enums(self, part: Schema, at: str) -> tuple[Any, ...]:
        """The values that an `enum` allows at that place of an instance, in all branches."""
        found: list[Any] = []
        for below in self.at(part, pointer.tokens(at)):
            found += below.get("enum", ())
        return tuple(found)

    def at(self, part: Schema | bool, path: list[str], depth: int = 0) -> Iterator[dict[str, Any]]:
        """The flattened schemas of that place of an instance: one for every branch that declares it."""
        flat = self.flat(part)
        if not path:
            yield flat
        else:
            below = flat.get("properties", {}).get(path[0])
            items = flat.get("items") if below is None and path[0].isdigit() else below
            if items is not None:
                yield from self.at(items, path[1:], depth)
        if depth < 8:
            for branch in (*flat.get("oneOf", ()), *flat.get("anyOf", ())):
                yield from self.at(branch, path, depth + 1)


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = {**below, **above}
    if "properties" in below and "properties" in above:
        shared = below["properties"].keys() & above["properties"].keys()
        both = {name: {"allOf": [below["properties"][name], above["properties"][name]]} for name in shared}
        merged["properties"] = {**below["properties"], **above["properties"], **both}
    if "required" in below and "required" in above:
        merged["required"] = [*below["required"], *above["required"]]
    if "enum" in below and "enum" in above:
        merged["enum"] = [value for value in above["enum"] if value in below["enum"]]
    return merged
