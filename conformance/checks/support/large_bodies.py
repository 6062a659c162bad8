"""Valid bodies with a value of some KiB, which a store or a fingerprint may cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.invalid_bodies import fixed_places, is_against_schema, schema_of
from conformance.checks.support.replays import free_leaves
from conformance.checks.support.schema_bounds import large_values
from conformance.client.request import Request
from conformance.core import json_pointer as pointer
from conformance.profile.subschema import Root

LONG: Final = 1_500
"""Characters of a text where no schema says how long it may be: more than a kibibyte."""

SHORTEST: Final = 200
"""Characters of a text at its stated maximum that counts as long: a fingerprint of a start often takes 256 bytes."""


def large_bodies(case: Case, request: Request) -> Iterator[tuple[Any, str]]:
    """Bodies of some KiB that the profile's schema allows, the longest list first; each with its last long text."""
    if (schema := schema_of(case)) is not None:
        most = case.profile.bodies.max_bytes
        bodies = large_values(request.body, schema, fixed_places(case), request.scope.values(), max_bytes=most)
        for body, where in bodies:
            if not is_against_schema(case, request.with_body(body)):
                yield body, where


def bodies_with_a_long_text(case: Case, request: Request) -> Iterator[tuple[Any, str]]:
    """Large bodies, and then those with one text of `LONG` characters, or of as many as the schema allows."""
    yield from large_bodies(case, request)
    for where, text in free_leaves(request):
        length = min(LONG, _bound(case, where, "maxLength", LONG))
        if isinstance(text, str) and length >= SHORTEST:
            yield pointer.replace(request.body, where, text.ljust(length, "x")), where


def with_another_ending(body: Any, where: str) -> Any:
    """The body with another last character of the text at a place."""
    text = pointer.get(body, where)
    return pointer.replace(body, where, text[:-1] + ("y" if text[-1] == "x" else "x"))


def is_promised(case: Case, body: Any, where: str) -> bool:
    """Whether the schema states bounds that allow a text of that length, and a list of that length around it."""
    parent, _, name = where.rpartition("/")
    is_item_promised = not name.isdigit() or _bound(case, parent, "maxItems", 0) >= len(pointer.get(body, parent))
    return is_item_promised and _bound(case, where, "maxLength", 0) >= len(pointer.get(body, where))


def _bound(case: Case, where: str, keyword: str, unbounded: int) -> int:
    schema = schema_of(case) or {}
    parts = Root(schema).subschemas(schema, pointer.tokens(where))
    return min((part[keyword] for part in parts if keyword in part), default=unbounded)
