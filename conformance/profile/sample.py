"""Bodies from a JSON Schema: a small valid one, and variants of a body that differ in a single leaf."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.core import json_pointer as pointer
from conformance.profile.subschema import Root, Schema

JsonValue = Any

_DEPTH = 12
_NEWEST = 20
"""The items of a list whose variants are tried: with all of them a long list would take quadratic time."""
_FORMATS = {
    "uuid": "6f1c1c5e-3c4b-4f0a-9d55-0a3e5b0c7a11",
    "uri": "https://example.com/a",
    "url": "https://example.com/a",
    "iri": "https://example.com/a",
    "uri-reference": "/a",
    "email": "someone@example.com",
    "date-time": "2030-01-02T03:04:05Z",
    "date": "2030-01-02",
    "time": "03:04:05Z",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}
_TEXTS = (
    *("x", "X", "1", "text", "US", "USD", "en", "en-US", "12345", "000000", "+12025550100", "https://example.com/a"),
    "someone@example.com",
)
_TYPES_BY_KEYWORD = (
    ("object", ("properties", "required", "additionalProperties", "minProperties")),
    ("array", ("items", "prefixItems", "minItems")),
    ("string", ("format", "pattern", "minLength", "maxLength")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)


def example(schema: Schema) -> JsonValue | None:
    """A small body that is valid against `schema`, or None where none was found. Deterministic."""
    root = Root(schema)
    return next(_valid(schema, root, 0), None)


def _valid(schema: Schema, root: Root, depth: int) -> Iterator[JsonValue]:
    if depth > _DEPTH or not root.try_part():
        return
    check = root.validator(schema)
    yield from (value for value in _candidates(schema, root, depth) if check.is_valid(value))


def _candidates(schema: Schema, root: Root, depth: int) -> Iterator[JsonValue]:
    flat = root.flatten(schema)
    yield from _stated_values(flat)
    for keyword in ("oneOf", "anyOf"):
        rest = {name: value for name, value in flat.items() if name != keyword}
        for branch in flat.get(keyword, ()):
            yield from _candidates({"allOf": [rest, branch]}, root, depth + 1) if depth < _DEPTH else ()
    for kind in _types(flat):
        yield from _GENERATORS[kind](flat, root, depth)


def _stated_values(flat: Schema) -> Iterator[JsonValue]:
    yield from (flat[name] for name in ("const",) if name in flat)
    yield from flat.get("enum", ())
    yield from (flat[name] for name in ("default", "example") if name in flat)
    examples = flat.get("examples", ())
    yield from examples if isinstance(examples, list) else ()


def _types(flat: Schema) -> list[str]:
    declared = flat.get("type")
    if declared is None:
        return [kind for kind, words in _TYPES_BY_KEYWORD if any(word in flat for word in words)] or [
            "object",
            "string",
        ]
    kinds = [declared] if isinstance(declared, str) else list(declared)
    return sorted(kinds, key=lambda kind: kind == "null")


def _objects(flat: Schema, root: Root, depth: int) -> Iterator[JsonValue]:
    properties = flat.get("properties", {})
    additional = flat.get("additionalProperties", {})
    names = list(dict.fromkeys(flat.get("required", ())))
    optional = [name for name in properties if name not in names]
    missing_count = int(flat.get("minProperties", 0)) - len(names)
    if missing_count > 0:
        names += optional[:missing_count] + [f"member{index}" for index in range(missing_count - len(optional))]
    members: dict[str, JsonValue] = {}
    for name in names:
        below = properties.get(name, additional if isinstance(additional, Mapping) else {"type": "string"})
        found = next(_valid(below, root, depth + 1), _MISSING)
        if found is _MISSING:
            return
        members[name] = found
    yield members


def _arrays(flat: Schema, root: Root, depth: int) -> Iterator[JsonValue]:
    prefix = flat.get("prefixItems", [])
    items = flat.get("items", {})
    min_items = int(flat.get("minItems", 0))
    elements = [next(_valid(below, root, depth + 1), None) for below in prefix[:min_items]]
    first = next(_valid(items, root, depth + 1), _MISSING) if min_items > len(elements) else _MISSING
    while min_items > len(elements) and first is not _MISSING:
        elements.append(first if first not in elements else _different_item(first, elements, items, root))
    yield elements


def _different_item(first: JsonValue, elements: list[JsonValue], items: Schema, root: Root) -> JsonValue:
    """A different item, for `uniqueItems`; the same one where none was found among variants of the newest ones."""
    check = root.validator(items)
    for known in elements[: -_NEWEST - 1 : -1]:
        for place, leaf in pointer.leaves(known):
            bodies = _variants(known, place, leaf, root.enums(items, place))
            unused = [body for body in bodies if body not in elements and check.is_valid(body)]
            if unused:
                return unused[0]
    return first


def _strings(flat: Schema, _root: Root, _depth: int) -> Iterator[JsonValue]:
    if flat.get("format") in _FORMATS:
        yield _FORMATS[flat["format"]]
    shortest, longest = int(flat.get("minLength", 0)), flat.get("maxLength")
    for text in _TEXTS:
        padded = text if len(text) >= shortest else (text * (shortest // len(text) + 1))[:shortest]
        yield padded if longest is None else padded[: int(longest)]


def _numbers(flat: Schema, _root: Root, _depth: int) -> Iterator[JsonValue]:
    yield 1
    step = flat.get("multipleOf", 1)
    yield step
    if isinstance(low := flat.get("minimum"), int | float):
        yield low
        yield -(-low // step) * step
    if isinstance(low := flat.get("exclusiveMinimum"), int | float):
        yield (low // step + 1) * step
        yield low + 0.5
    if isinstance(high := flat.get("maximum"), int | float):
        yield high
        yield high // step * step
    if isinstance(high := flat.get("exclusiveMaximum"), int | float):
        yield (-(-high // step) - 1) * step
        yield high - 0.5
    yield 0


_MISSING = object()
_GENERATORS: dict[str, Callable[[Schema, Root, int], Iterator[JsonValue]]] = {
    "object": _objects,
    "array": _arrays,
    "string": _strings,
    "integer": _numbers,
    "number": _numbers,
    "boolean": lambda *_: iter((True, False)),
    "null": lambda *_: iter((None,)),
}


def alternatives(value: JsonValue, schema: Schema | None = None) -> Mapping[str, tuple[JsonValue, ...]]:
    """JSON pointer of a leaf -> variants of `value` that differ in that leaf in meaning, not only in spelling.

    With a schema, all variants are valid against it; without one they may be invalid. Leaves without variants, and
    nulls, are omitted.
    """
    others = Alternatives(schema)
    found = {place: others.variants_at(value, place) for place, _ in pointer.leaves(value)}
    return {place: bodies for place, bodies in found.items() if bodies}


class Alternatives:
    """As `alternatives`, for single leaves of many bodies with one schema."""

    def __init__(self, schema: Schema | None) -> None:
        self._schema = schema
        self._root = Root(schema) if schema is not None else None
        self._check = self._root.validator(schema) if self._root and schema is not None else None
        self._enums: dict[str, tuple[JsonValue, ...]] = {}

    def variants_at(self, value: JsonValue, place: str) -> tuple[JsonValue, ...]:
        """The variants of `value` at the pointer `at`. Raises KeyError where there is no value."""
        bodies = _variants(value, place, pointer.get(value, place), self._enum_values(place))
        return tuple(body for body in bodies if self._check is None or self._check.is_valid(body))

    def _enum_values(self, place: str) -> tuple[JsonValue, ...]:
        if self._root is None or self._schema is None:
            return ()
        if place not in self._enums:
            self._enums[place] = self._root.enums(self._schema, place)
        return self._enums[place]


def _variants(value: JsonValue, place: str, leaf: JsonValue, enums: tuple[JsonValue, ...]) -> list[JsonValue]:
    others = [*enums, *_other_values(leaf)] if leaf is not None else []
    distinct = {_identity(other): other for other in others if _identity(other) != _identity(leaf)}
    return [pointer.replace(value, place, other) for other in distinct.values()]


def _identity(value: JsonValue) -> tuple[str, str]:
    """Equal for equal JSON values: 1 equals 1.0, and not true."""
    kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    return kind, repr(float(value)) if kind == "number" and abs(value) < 2**53 else repr(value)


def _other_values(leaf: JsonValue) -> Iterator[JsonValue]:
    if isinstance(leaf, bool):
        yield not leaf
    elif isinstance(leaf, int | float):
        if match := re.fullmatch(r"-?\d+\.(\d*[1-9])", repr(leaf)):  # the least change that its decimals show
            yield round(leaf + 10 ** -len(match[1]), len(match[1]))
        yield leaf + 1
        yield leaf - 1
    elif isinstance(leaf, str):
        yield from _other_texts(leaf)


def _other_texts(text: str) -> Iterator[str]:
    if match := re.fullmatch(r"(https?://[^/?#\s]+[^?#\s]*?)/*([?#]\S*)?", text):
        yield f"{match[1]}/other{match[2] or ''}"
        return
    if match := re.fullmatch(r"([^@\s]+)@([^@\s]+)", text):
        yield f"{match[1]}.other@{match[2]}"
        return
    if re.fullmatch(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", text):
        yield text[:-1] + ("1" if text[-1] == "0" else "0")
        return
    yield from _other_times(text)
    yield text + "x"
    if text and text[-1].isascii() and text[-1].isalnum():
        yield text[:-1] + _next_character(text[-1])
    if len(text) > 1 and "{" not in text:
        yield text[:-1]


def _other_times(text: str) -> Iterator[str]:
    if match := re.fullmatch(r"(\d{4}-\d\d-\d\d)([Tt ].*)?", text):
        try:
            day = datetime.date.fromisoformat(match[1]) + datetime.timedelta(days=1)
        except (ValueError, OverflowError):
            return
        yield day.isoformat() + (match[2] or "")


def _next_character(character: str) -> str:
    """Another character of the same class, so that patterns still match."""
    first, last = ("0", "9") if character.isdigit() else ("a", "z") if character.islower() else ("A", "Z")
    return first if character == last else chr(ord(character) + 1)
