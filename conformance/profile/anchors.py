"""References to an anchor of a schema (JSON Schema 2020-12, section 8.2.2), written as JSON pointers.

The validator finds no anchors below `components`, which is no keyword of JSON Schema, and bundles follow pointers only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.core import json_pointer as pointer
from conformance.profile.subschema import with_subschemas

_ANCHORS = ("$anchor", "$dynamicAnchor")
_REFERENCES = ("$ref", "$dynamicRef")
_DATA = ("const", "enum", "default", "example", "examples")


def find_anchors(base: str, schemas: Mapping[str, Any]) -> dict[str, str]:
    """The pointer of each anchor that stands once in the file: which of several a `$dynamicRef` means is not fixed."""
    places: dict[str, list[str]] = {}
    for name, schema in schemas.items():
        for anchor, place in _anchors(schema, base + pointer.join(name)):
            places.setdefault(anchor, []).append(place)
    return {anchor: found[0] for anchor, found in places.items() if len(set(found)) == 1}


def _anchors(part: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(part, list):
        for number, item in enumerate(part):
            yield from _anchors(item, place + pointer.join(str(number)))
    if not isinstance(part, dict) or "$id" in part:  # its pointers and anchors are its own
        return
    for keyword in _ANCHORS:
        if isinstance(part.get(keyword), str):
            yield part[keyword], place
    for name, item in part.items():
        if name not in _DATA or place.endswith("/properties"):
            yield from _anchors(item, place + pointer.join(name))


def with_pointers(part: Any, anchors: Mapping[str, str]) -> Any:
    """A schema whose references to these anchors are references to their pointers."""
    if isinstance(part, list):
        return [with_pointers(item, anchors) for item in part]
    if not anchors or not isinstance(part, dict) or "$id" in part:
        return part
    changed = with_subschemas(part, lambda item: with_pointers(item, anchors))
    for keyword in _REFERENCES:
        ref = changed.get(keyword)
        if isinstance(ref, str) and ref[:1] == "#" and ref[1:] in anchors and (keyword == "$ref" or "$ref" not in part):
            del changed[keyword]
            changed["$ref"] = f"#{anchors[ref[1:]]}"
    return changed
