"""Values just beyond what a schema allows, each in a body that is good otherwise: pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.checks.support.strategies import places
from conformance.core import json_pointer as pointer
from conformance.profile.subschema import Root, Schema

_LONGEST: Final = 16 * 1024
"""Characters of a text that is too long. A bound above it is left alone: that much may be refused for its size."""
_MOST_ITEMS: Final = 1000
_EXACT: Final = 2**53 - 1
"""Beyond it a reader of JSON need not tell a number from the next one (RFC 8259 section 6)."""


@dataclass(frozen=True)
class Beyond:
    """One member out of its bounds."""

    where: str
    bound: str
    """The keyword of the schema that it breaks: `maxLength`."""
    body: Any


def beyond(body: Any, schema: Schema, keep: Collection[Any], values: Collection[Any]) -> Iterator[Beyond]:
    """Bodies with one value just out of one bound. `keep` names places, `values` what stands for something else."""
    root, known = Root(schema), set()
    for where in places(body):
        value = pointer.get(body, where)
        if where in keep or value in values or _further(where):
            continue
        for part in root.at(schema, pointer.tokens(where)):
            for bound, other in _out_of(part, value):
                if (where, bound) not in known:
                    known.add((where, bound))
                    yield Beyond(where, bound, pointer.replace(body, where, other))


def _further(where: str) -> bool:
    """Whether it is in another item of an array than the first: what bounds that one, bounds all."""
    return any(name.isdigit() and name != "0" for name in pointer.tokens(where))


def _out_of(part: Mapping[str, Any], value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, str):
        yield from _of_text(part, value)
    elif isinstance(value, list):
        yield from _of_items(part, value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _of_number(part)


def _of_text(part: Mapping[str, Any], value: str) -> Iterator[tuple[str, Any]]:
    longest, shortest = part.get("maxLength"), part.get("minLength", 0)
    if longest is not None and longest < _LONGEST:
        yield "maxLength", value + "x" * (longest + 1 - len(value))
    if shortest > 0:
        short = value[: shortest - 1]
        yield "minLength", short if short.isascii() else "x" * len(short)  # some count UTF-16, and some bytes
    if "enum" in part and f"{value}x" not in part["enum"]:
        yield "enum", f"{value}x"


def _of_items(part: Mapping[str, Any], value: list[Any]) -> Iterator[tuple[str, Any]]:
    most, fewest = part.get("maxItems"), part.get("minItems", 0)
    if most is not None and most < _MOST_ITEMS and value:
        yield "maxItems", (value * (most + 1))[: most + 1]
    if fewest > 0:
        yield "minItems", value[: fewest - 1]


def _of_number(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for bound, step in (("maximum", 1), ("minimum", -1), ("exclusiveMaximum", 0), ("exclusiveMinimum", 0)):
        limit = part.get(bound)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool) and abs(limit) < _EXACT:
            yield bound, limit + step
