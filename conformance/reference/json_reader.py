"""Reading JSON that somebody hostile may have written (RFC 8259).

Refused: anything but one UTF-8 text without BOM, numbers that no double or reasonable integer holds, NUL and lone
surrogates in strings (no text column can keep them), nesting beyond `MAX_DEPTH`. Doubled members: the last one wins.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from conformance.reference.call import Call, JsonValue, Refusal

MAX_DEPTH = 64
MAX_DIGITS = 400
_ESCAPED_TROUBLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


class _Outside(ValueError):
    pass


def _number(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Outside("a number is out of range")
    return value


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise _Outside("a number is out of range")
    return int(text)


def _constant(text: str) -> NoReturn:
    raise _Outside(f"{text} is not JSON")


_DECODER = json.JSONDecoder(parse_float=_number, parse_int=_integer, parse_constant=_constant)


def read(call: Call, body: bytes) -> JsonValue:
    """The JSON value of a body. Raises Refusal of kind `malformed`."""
    try:
        value = decode(body)
    except (ValueError, RecursionError):
        raise Refusal("malformed", "The request body is not acceptable JSON.") from None
    check_texts(body, value)
    return value


def decode(body: bytes) -> JsonValue:
    """Raises ValueError or RecursionError."""
    value = _DECODER.decode(body.decode())
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise _Outside("nested too deeply")
    return value


def check_texts(body: bytes, value: JsonValue) -> None:
    """Refuses NUL and lone surrogates, which only an escape can bring in."""
    if _ESCAPED_TROUBLE.search(body) and not all(_storable(text) for text in _texts(value)):
        raise Refusal("malformed", "The request body holds text that cannot be stored.")


def _depth(value: JsonValue) -> int:
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [item for node in level for item in _children(node)]
    return depth


def _children(node: JsonValue) -> list[JsonValue]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []


def _texts(value: JsonValue) -> list[str]:
    texts, rest = [], [value]
    while rest:
        node = rest.pop()
        if isinstance(node, str):
            texts.append(node)
        elif isinstance(node, dict):
            texts.extend(node)
            rest.extend(node.values())
        elif isinstance(node, list):
            rest.extend(node)
    return texts


def _storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
