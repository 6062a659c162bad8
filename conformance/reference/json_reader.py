"""A JSON parser for untrusted input (RFC 8259).

Refused: anything but one UTF-8 text without BOM, numbers beyond a double or a reasonable integer, NUL and lone
surrogates in strings (text columns cannot store them), nesting beyond the depth of the policy. Duplicate
members: the last one wins.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from conformance.reference.call import Call, JsonValue, Refusal

MAX_DIGITS = 400
_ESCAPED_TROUBLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


class _RangeError(ValueError):
    pass


class _DepthError(ValueError):
    pass


def _number(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _RangeError
    return value


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise _RangeError
    return int(text)


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


DECODER = json.JSONDecoder(parse_float=_number, parse_int=_integer, parse_constant=_constant)


def read(call: Call, body: bytes) -> JsonValue:
    """The JSON value of a body.

    Raises Refusal of kind `malformed` (no JSON), `not_text` (no UTF-8, or a BOM), `too_deep`, `out_of_range` or
    `unstorable`.
    """
    return read_text(text_of(body), body, DECODER, call.policy.reading.max_depth)


def text_of(body: bytes) -> str:
    """The text of a body. Raises Refusal of kind `not_text`."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise Refusal("not_text", "The request body is not UTF-8.") from None
    if text.startswith("\ufeff"):
        raise Refusal("not_text", "The request body begins with a byte order mark.")
    return text


def read_text(text: str, body: bytes, decoder: json.JSONDecoder, max_depth: int) -> JsonValue:
    """The same for a text; `decoder` may differ from `DECODER`."""
    try:
        value = _decode(text, decoder, max_depth)
    except _RangeError:
        raise Refusal("out_of_range", "The request body holds a number that is out of range.") from None
    except (RecursionError, _DepthError):
        raise Refusal("too_deep", "The request body is nested too deeply.") from None
    except ValueError:
        raise Refusal("malformed", "The request body is not JSON.") from None
    check_texts(body, value)
    return value


def _decode(text: str, decoder: json.JSONDecoder, max_depth: int) -> JsonValue:
    value = decoder.decode(text)
    if text.count("[") + text.count("{") > max_depth and _is_deeper(value, max_depth):
        raise _DepthError
    return value


def check_texts(body: bytes, value: JsonValue) -> None:
    """Refuses NUL and lone surrogates, which only an escape can bring in."""
    if _ESCAPED_TROUBLE.search(body) and not all(_storable(text) for text in _texts(value)):
        raise Refusal("unstorable", "The request body holds text that cannot be stored.")


def _is_deeper(value: JsonValue, max_depth: int) -> bool:
    """Whether more objects and arrays than that are within each other."""
    depth, level = 0, [value]
    while level and depth <= max_depth:
        depth += 1
        level = [item for node in level for item in _children(node) if isinstance(item, (dict, list))]
    return depth > max_depth


def _children(node: JsonValue) -> list[JsonValue]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []


def _texts(value: JsonValue) -> list[str]:
    texts, pending = [], [value]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            texts.append(node)
        elif isinstance(node, dict):
            texts.extend(node)
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return texts


def _storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
