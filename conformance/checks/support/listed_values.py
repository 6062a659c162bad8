"""Bodies in which each member whose values its schema lists has another one of them."""

from __future__ import annotations

from typing import Any, Final

from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.profile.subschema import Root, Schema

_MOST: Final = 4


def body_of_listed_values(schema: Schema, body: Any, number: int) -> Any | None:
    """The body with the listed values of this number, from 0; None where there are no more, or a rule forbids them.

    Together the bodies have each listed value, also of members that the first one lacks; at most four of a member.
    """
    root = Root(schema)
    values, variant = _listed_values(root, schema, body), body
    if number >= min(_MOST, max(map(len, values.values()), default=0)):
        return None
    for where, others in values.items():
        variant = _with_member(variant, where, others[number % len(others)])
    return variant if root.validator(schema).is_valid(variant) else None


def _listed_values(root: Root, schema: Schema, body: Any) -> dict[str, list[Any]]:
    """By place, the values that the schema lists, without the one that is there."""
    names = {name for part in root.subschemas(schema, []) for name in part.get("properties", ())}
    absent = [pointer.join(name) for name in sorted(names) if isinstance(body, dict) and name not in body]
    places = dict(pointer.leaves(body)) | dict.fromkeys(absent)
    found = {where: other_listed_values(root, schema, where, leaf) for where, leaf in places.items()}
    return {where: others for where, others in found.items() if others}


def other_listed_values(root: Root, schema: Schema, where: str, leaf: Any) -> list[Any]:
    """The values that the schema lists at a place, without the one that is there."""
    return [value for value in root.enums(schema, where) if not strictjson.is_equal(value, leaf)]


def _with_member(body: Any, where: str, value: Any) -> Any:
    return (
        pointer.replace(body, where, value) if pointer.has(body, where) else {**body, pointer.tokens(where)[0]: value}
    )
