"""JSON as RFC 8259 defines it, and equality of JSON values.

Python's own parser accepts NaN, UTF-16 without a BOM, and unlimited nesting; a judge must not.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

MAX_DEPTH: Final = 512
MAX_PARTS: Final = 300_000
"""Maximum number of commas and brackets: 4 MB of them would take seconds to scan, and over 100 MB as values."""
_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
"""An unterminated string is one token too: a search from each of its quotes would take quadratic time."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_MAX_INT_DIGITS: Final = 4000
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""A surrogate code point: pairs were joined when the text was decoded."""
_PRIVATE_USE: Final = 0x100000
"""Plane 16 is for private use (Unicode section 23.5): U+DC80 becomes U+10DC80."""
_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class JsonError(ValueError):
    """The text is not JSON by RFC 8259. The message says why."""


class JsonLimitError(JsonError):
    """The text exceeds the limits of this reader (RFC 8259 section 9), and may be JSON or not."""


class NestingLimitError(JsonLimitError):
    """Nested deeper than MAX_DEPTH."""


class SizeLimitError(JsonLimitError):
    """More than MAX_PARTS."""


class NumberLimitError(JsonLimitError):
    """A number of more digits than are compared exactly: an integer of 4,000, or 1e4000."""


def _refuse_constant(name: str) -> Any:
    raise JsonError(f"{name} is not a JSON value")


def _integer(digits: str) -> int:
    if len(digits) > _MAX_INT_DIGITS:
        raise NumberLimitError(f"has a number of more than {_MAX_INT_DIGITS:,} digits")
    return int(digits)


def _float(text: str) -> int | float:
    """The nearest float; an integer where no float is that great: infinity is not a JSON number, and equals itself."""
    value = float(text)
    if not math.isinf(value):
        return value
    try:
        exact = Decimal(text)
    except InvalidOperation:  # beyond the exponents of a Decimal
        exact = Decimal("Infinity")
    if exact.is_infinite() or exact.adjusted() >= _MAX_INT_DIGITS:
        raise NumberLimitError(f"has a number of more than {_MAX_INT_DIGITS:,} digits")
    return int(exact)


_STRICT = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_integer, parse_float=_float)
_LENIENT = json.JSONDecoder(parse_int=_integer, parse_float=_float)


def count_parts(raw: bytes) -> int:
    """An upper bound of the number of values in a text: its commas and brackets, those in strings included."""
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def _check_size(raw: bytes) -> None:
    if len(raw) > MAX_PARTS and count_parts(raw) > MAX_PARTS and count_parts(_STRING.sub(b"", raw)) > MAX_PARTS:
        raise SizeLimitError(f"has more than {MAX_PARTS:,} values")


def _check_depth(raw: bytes) -> None:
    if len(raw) <= MAX_DEPTH or raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _STRUCTURE.finditer(raw):
        token = match.group()
        if token in (b"[", b"{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise NestingLimitError(f"nested deeper than {MAX_DEPTH} levels")
        elif token in (b"]", b"}"):
            depth -= 1


def parse(raw: bytes) -> Any:
    """The value of a JSON text. Raises JsonError, with the reason, on anything that RFC 8259 does not allow."""
    if raw.startswith(b"\xef\xbb\xbf"):
        raise JsonError("starts with a byte order mark (RFC 8259 section 8.1)")
    if not raw.strip(b" \t\r\n"):
        raise JsonError("is empty")
    _check_size(raw)  # first: the depth check of a larger text would itself take seconds
    _check_depth(raw)
    return _decode(_STRICT, raw, "utf-8")


def parse_leniently(raw: bytes) -> Any:
    """As a lenient reader: a BOM is ignored, NaN and Infinity are numbers. Raises JsonError."""
    _check_size(raw)  # first: the depth check of a larger text would itself take seconds
    _check_depth(raw)
    return _decode(_LENIENT, raw, "utf-8-sig")


def _decode(decoder: json.JSONDecoder, raw: bytes, encoding: str) -> Any:
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise JsonError(f"byte {error.start} is not UTF-8") from None
    stripped = text.strip(" \t\r\n")
    try:
        value, end = decoder.raw_decode(stripped)
    except JsonError:
        raise
    except (ValueError, RecursionError) as error:
        raise JsonError(str(error) or "cannot be parsed") from None
    if end != len(stripped):
        raise JsonError(f"has text after the value, at character {end}")
    return replace_surrogates(value) if _SURROGATE_ESCAPE.search(raw) else value


def replace_surrogates(value: Any) -> Any:
    """A JSON value in which private-use characters replace lone surrogates, which no encoding can represent.

    RFC 8259 section 8.2 allows their escapes; code that compares, hashes or prints a text needs Unicode. The
    replacement preserves lengths and equality, so that both are judged as sent.
    """
    if isinstance(value, str):
        return _SURROGATE.sub(lambda match: chr(_PRIVATE_USE + ord(match[0])), value)
    if isinstance(value, dict):
        return {replace_surrogates(name): replace_surrogates(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_surrogates(item) for item in value]
    return value


def is_equal(first: Any, second: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, true does not equal 1, the order of members is ignored."""
    pairs = [(first, second)]  # no recursion: a value may have MAX_DEPTH levels
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            pairs += [(item, b[name]) for name, item in a.items()]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            pairs += zip(a, b, strict=True)
        elif not _is_equal_scalar(a, b):
            return False
    return True


def whole_number(value: Any) -> Any:
    """The integer for a number such as 5.0, which is equal to it; any other value unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _is_equal_scalar(first: Any, second: Any) -> bool:
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return first == second
    return type(first) is type(second) and bool(first == second)


def first_difference(first: Any, second: Any) -> str:
    """The JSON pointer of the first place where two values differ, or "" where the whole differs."""
    path = ""
    while (name := _differing_member(first, second)) is not None:
        path += "/" + str(name).replace("~", "~0").replace("/", "~1")
        if isinstance(first, dict) and (name not in first or name not in second):
            return path
        first, second = first[name], second[name]
    return path


def _differing_member(first: Any, second: Any) -> str | int | None:
    """The first member or index at which two values differ; None where both are not objects, or not arrays."""
    if isinstance(first, dict) and isinstance(second, dict):
        names = sorted(first.keys() | second.keys())
        return next((n for n in names if n not in first or n not in second or not is_equal(first[n], second[n])), None)
    if isinstance(first, list) and isinstance(second, list):
        pairs = enumerate(zip(first, second, strict=False))
        return next((index for index, (a, b) in pairs if not is_equal(a, b)), None)
    return None


def differences(first: Any, second: Any, limit: int) -> list[tuple[str, Any, Any]]:
    """The places where two values differ, at most `limit`: JSON pointer, and the value of each, or ABSENT."""
    found: list[tuple[str, Any, Any]] = []
    pending = [("", first, second)]
    while pending and len(found) < limit:
        path, a, b = pending.pop(0)
        if isinstance(a, dict) and isinstance(b, dict):
            names: list[Any] = list(dict.fromkeys([*a, *b]))
            members = [(name, a.get(name, ABSENT), b.get(name, ABSENT)) for name in names]
        elif isinstance(a, list) and isinstance(b, list):
            members = list(zip(range(max(len(a), len(b))), _pad(a, len(b)), _pad(b, len(a)), strict=False))
        else:
            found.append((path, a, b))
            continue
        steps = ((str(name).replace("~", "~0").replace("/", "~1"), x, y) for name, x, y in members)
        pending[:0] = [(f"{path}/{name}", x, y) for name, x, y in steps if not _is_alike(x, y)]
    return found


class Absent:
    """The value of a place that is not there."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()


def _pad(items: list[Any], length: int) -> list[Any]:
    return [*items, *[ABSENT] * (length - len(items))]


def _is_alike(first: Any, second: Any) -> bool:
    return first is not ABSENT and second is not ABSENT and is_equal(first, second)


def json_type(value: Any) -> str:
    """The JSON type of a value with its article, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"
