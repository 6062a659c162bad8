"""Values just beyond what a schema allows, each in an otherwise valid body: pure functions.

What schemathesis generates (`schema_breaks`) is not sure to meet each of them; these are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs

from conformance.checks.support.crisp_formats import breaks_format
from conformance.checks.support.strategies import places
from conformance.core import json_pointer as pointer
from conformance.profile.subschema import Root, Schema

_LONGEST: Final = 16 * 1024
"""Maximum length of a generated text. Higher bounds are omitted: such a text may be refused for its size."""
_MAX_ITEMS: Final = 1000
_LARGE: Final = 5_000
"""In characters: more than a store with small entries holds in one."""
_LONG_ITEM: Final = 400
_CODE: Final = re.compile("[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
"""`en`, `pt-BR`, `zh_Hant_TW`, `EUR`."""
SYNTAX: Final = {"pattern", "format", "enum", "const", "contentEncoding", "contentMediaType"}
"""Keywords that leave a text no free choice of its characters."""
REQUIRED_ALONE: Final = "the required members alone"
"""The first of the least values."""
LEAST_OBJECTS: Final = "objects with what they require alone"
"""The body itself has all of its members."""
NULLS: Final = "null wherever the schema names it"
"""The last of the least values."""
ZERO: Final = "0"
"""A text that is false in PHP, and as a number."""
_FURTHER: Final = "furtherMember"
_IN_CHARACTERS: Final = "minLength, which counts characters,"
_WIDE_LETTER: Final = "\U00020bb7"
"""Of several bytes, and of two UTF-16 units; JSON Schema counts it once (validation, section 6.3.2)."""
_ODD_NAME: Final = "\u00e9 !" + "x" * 300
"""Of characters, and of a length, that a rule for names is likely to refuse."""
_SECURE, _PLAIN = "https://", "http://"
_OTHER_TYPE: Final[Mapping[str, Any]] = {"string": 12345, "integer": "12345", "number": "12345", "boolean": "true"}
EXACT: Final = 2**53 - 1
"""Larger integers may be indistinguishable for a JSON parser (RFC 8259 section 6)."""


@dataclass(frozen=True)
class BoundViolation:
    """One member out of its bounds."""

    where: str
    bound: str
    """The keyword of the schema that it breaks: `maxLength`."""
    body: Any


_UPPER_BOUNDS: Final = ("maxLength", "maxItems", "maximum")


def last_upper_bound(violations: Iterable[BoundViolation]) -> BoundViolation | None:
    """The last one beyond an upper bound, which a database may be the last to refuse; None without one.

    A long text rather than a long list, and a member of the body rather than one within another member.
    """
    upper = [violation for violation in violations if violation.bound in _UPPER_BOUNDS]
    return min(reversed(upper), key=lambda v: (_UPPER_BOUNDS.index(v.bound), v.where.count("/")), default=None)


def values_beyond_bounds(
    body: Any, schema: Schema, keep: Collection[Any], values: Collection[Any]
) -> Iterator[BoundViolation]:
    """Bodies with one value just beyond one bound. `keep` names places, `values` fixture values that stay unchanged."""
    root, covered = Root(schema), set()
    for where in ("", *places(body)):
        value = pointer.get(body, where)
        if where in keep or value in values or is_later_item(where):
            continue
        for part in root.subschemas(schema, pointer.tokens(where)):
            for bound, other in _violations(part, value):
                place = "" if bound == _IN_CHARACTERS else where  # one text of a body
                if (place, bound) not in covered:
                    covered.add((place, bound))
                    yield BoundViolation(where, bound, pointer.replace(body, where, other))
    yield from _mistyped_later_items(body, schema, keep, values)


def _mistyped_later_items(
    body: Any, schema: Schema, keep: Collection[Any], values: Collection[Any]
) -> Iterator[BoundViolation]:
    """For each list: behind valid items one of another type, or an object with a member of another type."""
    root = Root(schema)
    for where in places(body):
        value, path = pointer.get(body, where), pointer.tokens(where)
        if where in keep or value in values or is_later_item(where) or not isinstance(value, list) or not value:
            continue
        room = _smallest(list(root.subschemas(schema, path)), "maxItems", len(value) + 1) - 1
        bad = _with_other_type(root, schema, [*path, "0"], value[0])
        if bad is not None and room > 0:
            valid = value[:room]
            later = pointer.join(*path, len(valid))
            yield BoundViolation(later, "type", pointer.replace(body, where, [*valid, bad]))


def _with_other_type(root: Root, schema: Schema, path: list[str], item: Any) -> Any:
    """A value of another type; an object with a member of another type. None where no type is stated."""
    if not isinstance(item, dict):
        return _of_other_type(root.subschemas(schema, path))
    for name in item:
        other = _of_other_type(root.subschemas(schema, [*path, name]))
        if other is not None:
            return {**item, name: other}
    return None


def _of_other_type(parts: Iterable[Schema]) -> Any:
    kinds = {str(part.get("type")) for part in parts}
    return _OTHER_TYPE.get(kinds.pop()) if len(kinds) == 1 else None


def least_values(
    body: Any, schema: Schema, keep: Collection[Any], values: Collection[Any]
) -> Iterator[tuple[str, Any]]:
    """What is least in a body that fits the schema, and such a body: for each list, all texts, all numbers.

    First the required members alone, of the body and of the objects within it, last null in place of all members for
    which the schema names it. A text of one character is "0", and with the smallest numbers one is that may be empty.
    `keep` and `values` as in `values_beyond_bounds`.
    """
    root = Root(schema)
    if isinstance(body, dict):
        yield from _least_members(root, body, schema, keep, values)
    texts = numbers = body
    for where in places(body):
        value = pointer.get(body, where)
        if where in keep or is_later_item(where) or isinstance(value, dict) or value in values:
            continue
        parts = list(root.subschemas(schema, pointer.tokens(where)))
        if isinstance(value, list):
            yield f"the shortest list at {where}", pointer.replace(body, where, value[: _largest(parts, "minItems")])
        elif isinstance(value, str) and not any(SYNTAX & part.keys() for part in parts):
            fewest = _largest(parts, "minLength")
            texts = pointer.replace(texts, where, ZERO if fewest == len(ZERO) else value[:fewest])
            if not fewest:  # the texts are empty in the other body
                numbers = pointer.replace(numbers, where, ZERO)
        elif not isinstance(value, (bool, str)) and value is not None and any("minimum" in part for part in parts):
            numbers = pointer.replace(numbers, where, _largest(parts, "minimum"))
    yield from (("the shortest texts", texts), ("the smallest numbers", numbers))
    if (nulls := _with_nulls(root, body, schema, keep, values)) != body:
        yield NULLS, nulls


def _least_members(
    root: Root, body: dict[str, Any], schema: Schema, keep: Collection[Any], values: Collection[Any]
) -> Iterator[tuple[str, Any]]:
    required = root.flatten(schema).get("required", ())
    keep_names = {pointer.tokens(where)[0] for where in keep if where}
    least = {name: item for name, item in body.items() if name in required or name in keep_names or item in values}
    if least != body:
        yield REQUIRED_ALONE, least
    if (sparse := _with_least_objects(root, body, schema, keep, values)) not in (body, least):
        yield LEAST_OBJECTS, sparse


def _with_least_objects(root: Root, body: Any, schema: Schema, keep: Collection[Any], values: Collection[Any]) -> Any:
    """The body with the required members alone in each object within it."""
    for where in list(places(body)):
        value = pointer.get(body, where) if pointer.has(body, where) else None
        if not isinstance(value, dict):
            continue
        required = {
            name for part in root.subschemas(schema, pointer.tokens(where)) for name in part.get("required", ())
        }
        for name, item in value.items():
            at = pointer.join(*pointer.tokens(where), name)
            is_kept = item in values or any(place == at or str(place).startswith(f"{at}/") for place in keep)
            if name not in required and not is_kept:
                body = pointer.remove(body, at)
    return body


def _with_nulls(root: Root, body: Any, schema: Schema, keep: Collection[Any], values: Collection[Any]) -> Any:
    names = {name for part in root.subschemas(schema, []) for name in part.get("properties", ())}
    further = [pointer.join(name) for name in sorted(names) if isinstance(body, dict) and name not in body]
    check = root.validator(schema)
    for where in (*places(body), *further):
        is_kept = any(at == where or str(at).startswith(f"{where}/") for at in keep)
        is_gone = where not in further and not pointer.has(body, where)  # within what is null by now
        if is_kept or is_gone or not root.names_null(schema, where):
            continue
        if where not in further and pointer.get(body, where) in values:
            continue
        changed = pointer.replace(body, where, None)
        body = changed if check.is_valid(changed) else body
    return body


def _largest(parts: list[dict[str, Any]], name: str) -> Any:
    return max((part[name] for part in parts if name in part), default=0)


def longest_texts(
    body: Any, schema: Schema, keep: Collection[Any], values: Collection[Any]
) -> Iterator[tuple[str, int]]:
    """The places of free texts, and their `maxLength`. `keep` and `values` as in `values_beyond_bounds`."""
    root = Root(schema)
    for where in places(body):
        value = pointer.get(body, where)
        if where in keep or not isinstance(value, str) or value in values or is_later_item(where):
            continue
        parts = list(root.subschemas(schema, pointer.tokens(where)))
        bounds = [part["maxLength"] for part in parts if "maxLength" in part]
        if bounds and not any(SYNTAX & part.keys() for part in parts):
            yield where, min(bounds)


def large_values(
    body: Any, schema: Schema, keep: Collection[Any], values: Collection[Any], *, max_bytes: int | None
) -> Iterator[tuple[Any, str]]:
    """Bodies of at least `_LARGE` characters that fit the schema: a list of long texts, the last one first, or a text.

    Each with the place of its last long text, whose characters are free. None is longer than half of `max_bytes`.
    `keep` and `values` as in `values_beyond_bounds`.
    """
    root, most = Root(schema), min(4 * _LARGE, (max_bytes or _LONGEST) // 2)
    for where in reversed(list(places(body))):
        value = pointer.get(body, where)
        if where in keep or not value or is_later_item(where) or not (isinstance(value, list) and value[0] is not None):
            continue
        items = list(root.subschemas(schema, [*pointer.tokens(where), "0"]))
        if not isinstance(value[0], str) or value[0] in values or any(SYNTAX & part.keys() for part in items):
            continue
        length = min(_LONG_ITEM, _smallest(items, "maxLength", _LONG_ITEM))
        count = min(_smallest(list(root.subschemas(schema, pointer.tokens(where))), "maxItems", 50), most // length)
        if length * count >= _LARGE:
            texts = [f"{value[0]} {number} ".ljust(length, "x")[:length] for number in range(count)]
            yield pointer.replace(body, where, texts), f"{where}/{count - 1}"
    for where, longest in reversed(list(longest_texts(body, schema, keep, values))):
        length = min(longest, most)
        if length >= _LARGE:
            yield pointer.replace(body, where, str(pointer.get(body, where)).ljust(length, "x")[:length]), where


def _smallest(parts: list[dict[str, Any]], name: str, default: int) -> int:
    return int(min((part[name] for part in parts if name in part), default=default))


def is_later_item(where: str) -> bool:
    """Whether it is in an array item other than the first, which has the same bounds."""
    return any(name.isdigit() and name != "0" for name in pointer.tokens(where))


def _violations(part: Mapping[str, Any], value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, str):
        yield from _of_text(part, value)
        yield from _of_syntax(part, value)
    elif isinstance(value, dict):
        yield from _of_members(part, value)
    elif isinstance(value, list):
        yield from _of_items(part, value)
    elif isinstance(value, bool):
        yield from [("type", int(value))] if part.get("type") == "boolean" else []
    elif isinstance(value, (int, float)):
        yield from _of_number(part)
        if isinstance(step := part.get("multipleOf"), (int, float)):
            yield "multipleOf", value + (1 if part.get("type") == "integer" else step / 2)
        if part.get("type") in ("integer", "number"):
            yield "type-boolean", True
        if part.get("type") == "integer" and abs(value) < EXACT:
            yield "type", int(value) + 0.5


def _of_members(part: Mapping[str, Any], value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    most, fewest, names = part.get("maxProperties"), part.get("minProperties", 0), part.get("propertyNames")
    if fewest > len(part.get("required", ())):
        yield "minProperties", dict(list(value.items())[: fewest - 1])
    if part.get("additionalProperties") is False:
        yield "additionalProperties", {**value, _FURTHER: 1}
        return
    item = next(iter(value.values()), 1)
    if most is not None and most < _MAX_ITEMS:
        yield "maxProperties", value | {f"{_FURTHER}{number}": item for number in range(most + 1 - len(value))}
    if isinstance(names, dict) and not jsonschema_rs.validator_for(names).is_valid(_ODD_NAME):
        yield "propertyNames", {**value, _ODD_NAME: item}


def _of_text(part: Mapping[str, Any], value: str) -> Iterator[tuple[str, Any]]:
    longest, shortest = part.get("maxLength"), part.get("minLength", 0)
    if longest is not None and longest < _LONGEST:
        yield "maxLength", value + "x" * (longest + 1 - len(value))
    if shortest > 0:
        short = value[: shortest - 1]
        yield (
            "minLength",
            short if short.isascii() else "x" * len(short),
        )  # implementations count code points, UTF-16 units or bytes
        if shortest > 1 and not SYNTAX & part.keys():
            yield _IN_CHARACTERS, _WIDE_LETTER * (shortest - 1)
    if "enum" in part and f"{value}x" not in part["enum"]:
        yield "enum", f"{value}x"
    if "enum" in part and has_exact_case(part["enum"], value):
        yield "enum-case", value.swapcase()


def has_exact_case(values: Iterable[Any], value: str) -> bool:
    """Whether a text in another case is none of an enum's values, and no other way to write one of them.

    Tags of languages and codes of countries and currencies may be normalised before they are validated (RFC 5646,
    section 2.1.1), and an enum with a value in two cases describes any case.
    """
    texts = [text for text in values if isinstance(text, str)]
    if all(_CODE.fullmatch(text) for text in texts) or len({text.casefold() for text in texts}) < len(texts):
        return False
    return value.isascii() and value.swapcase() not in texts


def _of_syntax(part: Mapping[str, Any], value: str) -> Iterator[tuple[str, Any]]:
    """Texts that almost have the syntax."""
    others = (value.replace("@", "."), f"{value[:-1]}!", f"{value[:-1]}\n", f"{value}!", "x")
    if "pattern" in part:
        matching = jsonschema_rs.Draft202012Validator({"pattern": part["pattern"]})
        yield from (("pattern", other) for other in others if not matching.is_valid(other))
        # without an anchor at the start of the text, or with one that holds for each line
        starts = (f"!\n{value}", f"!{value}")
        yield from (("pattern-start", other) for other in starts if not matching.is_valid(other))
        ends = (f"{value}!", f"{value} !")
        yield from (("pattern-end", other) for other in ends if not matching.is_valid(other))
        if value.startswith(_SECURE) and not matching.is_valid(plain := _PLAIN + value.removeprefix(_SECURE)):
            yield "pattern-scheme", plain
    yield from (("format", other) for other in others if breaks_format([part], other))


def _of_items(part: Mapping[str, Any], value: list[Any]) -> Iterator[tuple[str, Any]]:
    max_items, fewest = part.get("maxItems"), part.get("minItems", 0)
    if max_items is not None and max_items < _MAX_ITEMS and value:
        yield "maxItems", (value * (max_items + 1))[: max_items + 1]
    if fewest > 0:
        yield "minItems", value[: fewest - 1]
    if part.get("uniqueItems") is True and value:
        yield "uniqueItems", [value[0], *value][: max_items or None] if len(value) > 1 else [value[0]] * 2


def _of_number(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for bound, step in (("maximum", 1), ("minimum", -1), ("exclusiveMaximum", 0), ("exclusiveMinimum", 0)):
        limit = part.get(bound)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool) and abs(limit) < EXACT:
            yield bound, limit + step
