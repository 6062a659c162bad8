"""A profile's schemas as the components of one OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.core import json_pointer as pointer
from conformance.profile.schemas import component_pointer

Object = dict[str, Any]
_NAMELESS = re.compile(r"[^A-Za-z0-9._-]")
"""What the name of a component must not have."""


def put_schemas(components: Object, schemas: Mapping[str, Mapping[str, Any]]) -> None:
    """Replaces the components of the interface's names by the schemas, and adds those that they refer to.

    `schemas`: by the interface's names, each with all that it refers to, out of one file.
    """
    targets: dict[str, str] = {}
    for name, bundle in schemas.items():
        targets.setdefault(_target(bundle), name)
    for bundle in schemas.values():
        _name_parts(bundle, targets, components)
    for name, bundle in schemas.items():
        shared_name = targets[_target(bundle)]
        if shared_name != name:
            components[name] = {"$ref": f"#/components/schemas/{shared_name}"}
        for at in _parts(bundle):
            components[targets[at]] = _refer(pointer.get(bundle, at), targets)


def _target(bundle: Mapping[str, Any]) -> str:
    """The pointer of the schema that a bundle is about."""
    return component_pointer(str(bundle["$ref"])[1:])


def _parts(bundle: Mapping[str, Any]) -> Iterator[str]:
    """The pointers of the definitions in a bundle."""
    for group, definitions in bundle.items():
        if group == "components":
            yield from (pointer.join(group, section, name) for section, names in definitions.items() for name in names)
        elif group in ("schemas", "$defs"):
            yield from (pointer.join(group, name) for name in definitions)
        elif group != "$ref":
            yield pointer.join(group)


def _name_parts(bundle: Mapping[str, Any], targets: dict[str, str], components: Mapping[str, Any]) -> None:
    """A component's name for each definition: its own, or one with a number where that is taken."""
    for at in _parts(bundle):
        if at in targets:
            continue
        name = base = _NAMELESS.sub("_", pointer.tokens(at)[-1])
        number = 1
        while name in components or name in targets.values():
            number += 1
            name = f"{base}_{number}"
        targets[at] = name


def _refer(value: Any, targets: Mapping[str, str]) -> Any:
    """A copy whose references lead to the components."""
    if isinstance(value, list):
        return [_refer(item, targets) for item in value]
    if not isinstance(value, dict):
        return value
    copied = {name: _refer(item, targets) for name, item in value.items()}
    if isinstance(ref := value.get("$ref"), str) and ref.startswith("#/"):
        copied["$ref"] = _new_ref(ref[1:], targets)
    return copied


def _new_ref(place: str, targets: Mapping[str, str]) -> str:
    at = component_pointer(place)
    below = pointer.join(*pointer.tokens(place)[len(pointer.tokens(at)) :])
    return f"#/components/schemas/{targets[at]}{below}" if at in targets else f"#{place}"


def name_required(value: Any) -> None:
    """Names what is required as a property too, and says that others may follow.

    It means the same, and Specmatic insists on it.
    """
    if isinstance(value, list):
        for item in value:
            name_required(item)
    if not isinstance(value, dict):
        return
    if value.get("type") == "object" and isinstance(value.get("required"), list):
        unnamed = set(value["required"]) - value.setdefault("properties", {}).keys()
        if unnamed and value.get("additionalProperties", True) is True:
            value["properties"].update({name: {} for name in sorted(unnamed)})
            value["additionalProperties"] = True
    for item in value.values():
        name_required(item)
