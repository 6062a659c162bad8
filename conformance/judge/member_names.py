"""The members that a JSON Schema names at each place of a value, in whatever branch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from conformance.core import json_pointer as pointer

_MAX_DEPTH: Final = 64
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONS: Final = ("if", "then", "else")
_MAPS: Final = ("additionalProperties", "unevaluatedProperties")
_ITEMS: Final = ("items", "contains", "unevaluatedItems")
_NAMING: Final = ("$ref", "$dynamicRef", "properties", "patternProperties", *_MAPS, *_BRANCHES, *_CONDITIONS)


@dataclass(frozen=True, slots=True)
class _Place:
    """What the schemas of one place name. `free`: members of any name, as in a map."""

    free: bool
    members: Mapping[str, tuple[Any, ...]]
    patterns: tuple[tuple[str, Any], ...]
    items: tuple[Any, ...]
    first_items: Mapping[int, tuple[Any, ...]]
    """Of one index alone."""


class MemberNames:
    """The names of one self-contained schema.

    An object whose schema names no member, or whose schema says what its other members are, is a map: any name is free.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._places: dict[tuple[int, ...], _Place] = {}

    def first_unnamed(self, value: Any) -> str:
        """The JSON pointer of a member that no branch of the schema names; empty where there is none."""
        return self._find((self._schema,), value, 0) or ""

    def _find(self, parts: tuple[Any, ...], value: dict[str, Any] | list[Any] | Any, depth: int) -> str | None:
        """The place of the first unnamed member in an object or a list, from there; None where there is none."""
        if not isinstance(value, (dict, list)) or depth > _MAX_DEPTH:
            return None
        place = self._place(parts)
        if isinstance(value, list):
            return self._find_in_items(place, value, depth)
        for name, item in value.items():
            below = place.members.get(name, ())
            if place.patterns:
                below = (*below, *(part for form, part in place.patterns if _matches(form, name)))
            if not below:
                if not place.free and name not in place.members:
                    return _token(name)
            elif isinstance(item, (dict, list)) and (found := self._find(below, item, depth + 1)) is not None:
                return _token(name) + found
        return None

    def _find_in_items(self, place: _Place, value: list[Any], depth: int) -> str | None:
        for index, item in enumerate(value):
            below = (*place.items, *place.first_items.get(index, ()))
            is_composite = below and isinstance(item, (dict, list))
            if is_composite and (found := self._find(below, item, depth + 1)) is not None:
                return f"/{index}{found}"
        return None

    def _place(self, parts: tuple[Any, ...]) -> _Place:
        key = tuple(map(id, parts))
        if key not in self._places:
            self._places[key] = _place_of([branch for part in parts for branch in self._branches(part, 0)])
        return self._places[key]

    def _branches(self, part: Any, depth: int) -> Iterator[Any]:
        """The part and every schema that may apply to the same place; True where it cannot be known."""
        if not isinstance(part, Mapping) or depth > _MAX_DEPTH:
            yield True
            return
        yield part
        if "$ref" in part or "$dynamicRef" in part:
            yield from self._branches(self._resolve(part.get("$ref")), depth + 1)
        below = [sub for word in _BRANCHES for sub in part.get(word, ())]
        below += [part[word] for word in _CONDITIONS if word in part]
        for sub in (*below, *part.get("dependentSchemas", {}).values()):
            if isinstance(sub, Mapping):
                yield from self._branches(sub, depth + 1)
        if any(_is_any_object(sub) for word in ("anyOf", "oneOf") for sub in part.get(word, ())):
            yield True

    def _resolve(self, ref: Any) -> Any:
        with suppress(KeyError, IndexError, ValueError, TypeError):
            if isinstance(ref, str) and ref.startswith("#") and pointer.has(self._schema, ref[1:]):
                return pointer.get(self._schema, ref[1:])
        return True


def _token(name: str) -> str:
    """One step of a JSON pointer (RFC 6901 section 3)."""
    return f"/{name.replace('~', '~0').replace('/', '~1')}"


def _is_any_object(branch: Any) -> bool:
    """Whether a branch allows an object of any members."""
    if not isinstance(branch, Mapping):
        return branch is True
    types = branch.get("type", ())
    return not branch or ("object" in types and not any(word in branch for word in _NAMING))


def _place_of(branches: list[Any]) -> _Place:
    schemas = [branch for branch in branches if isinstance(branch, Mapping)]
    members: dict[str, tuple[Any, ...]] = {}
    for schema in schemas:
        for name, part in schema.get("properties", {}).items():
            members[name] = (*members.get(name, ()), part)
    patterns = tuple(pair for schema in schemas for pair in schema.get("patternProperties", {}).items())
    is_map = any(schema.get(word, False) is not False for schema in schemas for word in _MAPS)
    items = [schema[word] for schema in schemas for word in _ITEMS if word in schema]
    first_items: dict[int, tuple[Any, ...]] = {}
    for schema in schemas:
        for index, part in enumerate(schema.get("prefixItems", ())):
            first_items[index] = (*first_items.get(index, ()), part)
    free = is_map or len(schemas) < len(branches) or not (members or patterns)
    for name in (name for schema in schemas for name in schema.get("required", ())):
        members.setdefault(name, ())
    return _Place(free, members, patterns, tuple(items), first_items)


def _matches(form: str, name: str) -> bool:
    """Whether a name matches; True for an expression that is not one of Python's."""
    try:
        return re.search(form, name) is not None
    except re.error:
        return True
