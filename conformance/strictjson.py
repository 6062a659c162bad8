"""JSON as RFC 8259 defines it, and equality of JSON values.

Python's own parser takes NaN, a BOM-less UTF-16 text and unbounded nesting; a judge must not.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

MAX_DEPTH: Final = 512
_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_MAX_INT_DIGITS: Final = 4000


class JsonError(ValueError):
    """The text is not JSON by RFC 8259. The message says why."""


class TooDeep(JsonError):
    """Nested deeper than MAX_DEPTH: nothing is known about the text but that."""


def _refuse_constant(name: str) -> Any:
    raise JsonError(f"{name} is no JSON value")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else float(digits)


_STRICT = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_integer)
_LENIENT = json.JSONDecoder(parse_int=_integer)


def _check_depth(raw: bytes) -> None:
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _STRUCTURE.finditer(raw):
        token = match.group()
        if token in (b"[", b"{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise TooDeep(f"nested deeper than {MAX_DEPTH} levels")
        elif token in (b"]", b"}"):
            depth -= 1


def parse(raw: bytes) -> Any:
    """The value of a JSON text. Raises JsonError, saying why, on anything that RFC 8259 does not allow."""
    if raw.startswith(b"\xef\xbb\xbf"):
        raise JsonError("starts with a byte order mark (RFC 8259 section 8.1)")
    if not raw.strip(b" \t\r\n"):
        raise JsonError("is empty")
    _check_depth(raw)
    return _decode(_STRICT, raw, "utf-8")


def parse_leniently(raw: bytes) -> Any:
    """The value that a forgiving reader sees: a BOM is dropped, NaN and Infinity are numbers. Raises JsonError."""
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
        raise JsonError(f"goes on after the value, at character {end}")
    return value


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, true does not equal 1, the order of members means nothing."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(item, right[name]) for name, item in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


def first_difference(left: Any, right: Any, at: str = "") -> str:
    """The JSON pointer of the first place where two values differ, or "" where the whole differs."""
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted(left.keys() | right.keys()):
            place = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in left or name not in right:
                return place
            if not same(left[name], right[name]):
                return first_difference(left[name], right[name], place)
    if isinstance(left, list) and isinstance(right, list):
        for index, (one, other) in enumerate(zip(left, right, strict=False)):
            if not same(one, other):
                return first_difference(one, other, f"{at}/{index}")
    return at


def kind(value: Any) -> str:
    """The JSON type of a value, in a reader's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"
