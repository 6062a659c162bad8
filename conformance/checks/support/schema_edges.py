"""Values at the edges of what a schema states, each valid, with a valid neighbour that is not at the edge.

A schema says what is refused at least: a service may know more of a value, as the currencies that there are.
So a refusal at an edge is wrong only where the neighbour is accepted: then nothing but the edge tells the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from conformance.checks.support.schema_bounds import EXACT, SYNTAX, ZERO, is_later_item
from conformance.checks.support.strategies import places
from conformance.core import json_pointer as pointer
from conformance.profile.subschema import Root, Schema

Change = Callable[[Any], Any]
_MAX_ITEMS: Final = 1000
_MAX_LISTS: Final = 8
"""Of a shortest length, that a longer list is tried for."""
_INT_32: Final = 2**31 - 1
OTHER_DIGIT: Final = "7"


@dataclass(frozen=True)
class Edge:
    """The edge of one place: `at_edge` and `neighbour` make either value from that of a good body."""

    where: str
    bound: str
    """The keyword of the schema: `maxItems`."""
    at_edge: Change
    neighbour: Change
    is_zero: bool = False
    """Whether the bound is a lower one of zero."""
    other_neighbour: Change | None = None
    """Where the schema does not state the bound: a value that only another reason than the bound tells apart."""
    others_at_edge: tuple[Change, ...] = ()
    """Other values at the edge: another member may have to be an item of a list."""

    @property
    def is_least(self) -> bool:
        return self.bound.startswith("min")

    @property
    def is_of_number(self) -> bool:
        return self.bound in ("minimum", "maximum")

    def put(self, body: Any, change: Change | None = None) -> Any:
        """A copy of a body with the edge, or with one of its neighbours."""
        return pointer.replace(body, self.where, (change or self.at_edge)(pointer.get(body, self.where)))

    @property
    def neighbours(self) -> tuple[Change, ...]:
        return (self.neighbour,) if self.other_neighbour is None else (self.neighbour, self.other_neighbour)


def edges(body: Any, schema: Schema, keep: Collection[Any], values: Collection[Any]) -> Iterator[Edge]:
    """The edges that the schema states in words. `keep` names places, `values` fixture values that stay unchanged."""
    root = Root(schema)
    for where in places(body):
        value = pointer.get(body, where)
        if where in keep or is_later_item(where) or value in values:
            continue
        parts = list(root.subschemas(schema, pointer.tokens(where)))
        if len(parts) == 1:  # of several branches it is open which one a value is for
            yield from _edges_of(where, parts[0], value)


def _edges_of(where: str, part: Schema, value: Any) -> Iterator[Edge]:
    if isinstance(value, list):
        yield from _of_list(where, part, value)
    elif isinstance(value, str) and not SYNTAX & part.keys():
        yield from _of_text(where, part, value)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from _of_integer(where, part)


def _of_text(where: str, part: Schema, value: str) -> Iterator[Edge]:
    """The empty text; and "0", to which the same digit twice is next: it is as large, and no other text.

    Where no shortest length is stated, a service may know of one: then another digit is next to it as well.
    """
    if part.get("minLength", 0) <= 1 < part.get("maxLength", 2):
        other = None if "minLength" in part else lambda _: OTHER_DIGIT
        yield Edge(where, f'minLength (as "{ZERO}")', lambda _: ZERO, lambda _: 2 * ZERO, other_neighbour=other)
    if value and part.get("minLength") == 0:
        yield Edge(where, "minLength", lambda _: "", lambda text: text[:1], is_zero=True)


def _of_list(where: str, part: Schema, value: list[Any]) -> Iterator[Edge]:
    fewest, most = part.get("minItems"), part.get("maxItems")
    if fewest is not None and len(value) > fewest:
        starts = range(1, min(len(value) - fewest, _MAX_LISTS) + 1) if fewest else ()
        others = tuple(partial(_part_of_list, start=start, count=fewest) for start in starts)
        yield Edge(
            where,
            "minItems",
            lambda items: items[:fewest],
            lambda items: items[: fewest + 1],
            is_zero=fewest == 0,
            others_at_edge=others,
        )
    if value and most is not None and 1 < most <= _MAX_ITEMS and not part.get("uniqueItems"):
        # a service may refuse an item that comes twice, so that the neighbour has such an item where the edge has one
        end = -1 if len(value) == most - 1 else None
        if value[:end]:
            yield Edge(
                where, "maxItems", lambda items: _repeat(items, most), lambda items: _repeat(items[:end], most - 1)
            )


def _part_of_list(items: list[Any], *, start: int, count: int) -> list[Any]:
    return items[start : start + count]


def _repeat(items: list[Any], count: int) -> list[Any]:
    return (items * count)[:count]


def _of_integer(where: str, part: Schema) -> Iterator[Edge]:
    """Both bounds; and where the upper one is beyond it, the least integer that has more than 32 bits with its sign."""
    if part.keys() & {"multipleOf", "enum", "const"}:
        return
    low, high = part.get("minimum"), part.get("maximum")
    if isinstance(low, int) and abs(low) < EXACT:
        yield Edge(where, "minimum", lambda _: low, lambda _: low + 1, is_zero=low == 0)
    if isinstance(high, int) and abs(high) < EXACT:
        yield Edge(where, "maximum", lambda _: high, lambda _: high - 1)
        if high > _INT_32:
            yield Edge(where, "maximum", lambda _: _INT_32 + 1, lambda _: _INT_32)


def at_all(found: Collection[Edge], body: Any) -> Any:
    """A copy of a body with all of these edges, of each place the first."""
    places_at_edge: set[str] = set()
    for edge in found:
        if edge.where not in places_at_edge:
            places_at_edge.add(edge.where)
            body = edge.put(body)
    return body


def without_siblings(where: str, body: Any, schema: Schema, keep: Collection[str]) -> Any:
    """A copy of a body without optional members beside that place and the objects around it. `keep` names places."""
    root, path = Root(schema), pointer.tokens(where)
    for depth, name in enumerate(path):
        at = pointer.join(*path[:depth])
        holder = pointer.get(body, at)
        if not isinstance(holder, dict):
            continue
        needed = {name, *(n for part in root.subschemas(schema, path[:depth]) for n in part.get("required", ()))}
        needed |= {n for n in holder if any(place.startswith(at + pointer.join(n)) for place in keep)}
        body = pointer.replace(body, at, {n: item for n, item in holder.items() if n in needed})
    return body


def has_scalar_beside(where: str, body: Any) -> bool:
    """Whether the object around a place has another member that is neither object nor list, as a month beside a day."""
    *around, name = pointer.tokens(where)
    holder = pointer.get(body, pointer.join(*around))
    members = holder.items() if isinstance(holder, dict) else ()
    return any(other != name and not isinstance(item, dict | list) for other, item in members)
