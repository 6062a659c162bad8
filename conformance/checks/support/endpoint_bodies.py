"""Bodies that create a webhook endpoint, other than the profile's usual one: pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from conformance.checks.support.schema_bounds import REQUIRED_ALONE, SYNTAX, least_values
from conformance.checks.support.strategies import places
from conformance.core import json_pointer as pointer
from conformance.profile.render import escape
from conformance.profile.subschema import Root, Schema

_MOST_ITEMS: Final = 20
_EXACT: Final = 2**53 - 1
"""Larger integers may be indistinguishable for a JSON parser (RFC 8259 section 6)."""
_SIGNS: Final = frozenset(":@")
"""Of a text that is a URL or an address, whatever the schema says."""
_LETTERS: Final = " Łódź 北"
"""Beyond Latin-1, and equal in every Unicode normalization that keeps their composition."""

_ESCAPES: Final = " a+b & 25%25"
"""What is another text once it is decoded, or encoded, one more time."""
_ESCAPED_PATH: Final = "/a%20b"


def opposite_switches(body: Any) -> dict[str, bool]:
    """The members of a body that are true or false, each with the other value."""
    members = body.items() if isinstance(body, dict) else ()
    return {name: not value for name, value in members if isinstance(value, bool)}


def least_body(bodies: Collection[Any], body: Any, schema: Schema | None, keep: Collection[Any]) -> Any:
    """The template of the least body; None without one.

    The shortest of the profile's other bodies; else the members that the schema requires.
    """
    if bodies:
        return min(bodies, key=lambda other: len(str(other)))
    found = least_values(body, schema, keep, ()) if schema is not None else iter(())
    return next((escape(least) for words, least in found if words == REQUIRED_ALONE), None)


def escaped_body(body: Any, schema: Schema, keep: Collection[Any], values: Collection[Any]) -> Any:
    """The body with escapes behind its texts and its URLs, where the schema allows it; a list has its own items."""
    root = Root(schema)
    check = root.validator(schema)
    for where in places(body):
        value = pointer.get(body, where)
        is_kept = any(where == at or where.startswith(f"{at}/") for at in keep) or value in values
        in_list = any(token.isdecimal() for token in pointer.tokens(where))
        if is_kept or in_list or not isinstance(value, str):
            continue
        is_url = value.startswith(("http://", "https://"))
        has_syntax = any(SYNTAX & part.keys() for part in root.subschemas(schema, pointer.tokens(where)))
        if is_url and not {"?", "#"} & set(value):
            changed = pointer.replace(body, where, value + _ESCAPED_PATH)
        elif has_syntax or _SIGNS & set(value):
            continue
        else:
            changed = pointer.replace(body, where, value + _ESCAPES)
        body = changed if check.is_valid(changed) else body
    return body


def with_known_items(body: Any, bodies: Collection[Any]) -> Any:
    """The body, each of whose lists of texts has that member's items of the other bodies too, without placeholders.

    A service may take some values alone that its schema does not name: those of the profile's bodies are among them.
    """
    if not isinstance(body, dict):
        return body
    longer = {}
    for name, value in body.items():
        lists = [other.get(name) for other in bodies if isinstance(other, dict)]
        items = [item for found in lists if isinstance(found, list) for item in found]
        if isinstance(value, list) and value and all(isinstance(item, str) for item in (*value, *items)):
            longer[name] = list(dict.fromkeys([*value, *(item for item in items if "{" not in item)]))
    return {**body, **longer}


def fullest_body(
    body: Any, schema: Schema, keep: Collection[Any], values: Collection[Any], *, new_items: bool = True
) -> Any:
    """The body with the longest lists and the largest integers that the schema allows, and letters beyond Latin-1.

    No list is in the order of the alphabet. Without `new_items` each has its own items alone, since a service may know
    more of them than its schema says. `keep` names places, `values` fixture values that stay unchanged.
    """
    root, lists = Root(schema), list[str]()
    check = root.validator(schema)
    for where in places(body):
        value = pointer.get(body, where)
        if any(where == at or where.startswith(f"{at}/") for at in (*keep, *lists)) or value in values:
            continue
        parts = list(root.subschemas(schema, pointer.tokens(where)))
        items = list(root.subschemas(schema, [*pointer.tokens(where), "0"])) if new_items else [{"enum": ()}]
        lists += [where] if isinstance(value, list) else []
        changed = (pointer.replace(body, where, fuller) for fuller in _fuller(value, parts, items))
        body = next(filter(check.is_valid, changed), body)
    return body


def _fuller(value: Any, parts: list[dict[str, Any]], items: list[dict[str, Any]]) -> Iterator[Any]:
    """Other values in place of one, the fullest first. `parts`: its schemas; `items`: those of a list's items."""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        count = min((part["maxItems"] for part in parts if "maxItems" in part), default=_MOST_ITEMS)
        if not any(SYNTAX & part.keys() for part in items):
            yield [f"{value[0]}{number}" for number in range(min(count, _MOST_ITEMS), 0, -1)]
        yield sorted(value, reverse=True)
    elif isinstance(value, str) and not any(SYNTAX & part.keys() for part in parts) and not _SIGNS & set(value):
        yield value + _LETTERS
    elif isinstance(value, int) and not isinstance(value, bool):
        bounds = [part["maximum"] for part in parts if isinstance(part.get("maximum"), int)]
        yield from [min(*bounds, _EXACT)] if bounds else []
