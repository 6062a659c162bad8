"""Other notations of a JSON value, each a JSON text of the same value (RFC 8259)."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Final

_BEFORE: Final = b"\r\n\t "
_AFTER: Final = b" \t\r\n"


def with_white_space(value: Any, plain: Collection[Any] = ()) -> bytes:
    """White space before, within and after it (section 2)."""
    return _BEFORE + json.dumps(value, indent="\t", ensure_ascii=False).encode("utf-8", "surrogatepass") + _AFTER


def with_escapes(value: Any, plain: Collection[Any] = ()) -> bytes:
    """Each character of all names and texts as an escape, and those beyond 16 bits as two (section 7).

    The texts in `plain` stay as they are: a ticket or a code is not to stand in a report in a form of its own.
    """
    return _with_escapes(value, plain, b"")


def with_escapes_and_white_space(value: Any, plain: Collection[Any] = ()) -> bytes:
    """Both. `plain` as in `with_escapes`."""
    return _BEFORE + _with_escapes(value, plain, b"\n\t") + _AFTER


def _with_escapes(value: Any, plain: Collection[Any], space: bytes) -> bytes:
    """`space` follows each opening bracket, comma and colon."""
    if isinstance(value, dict):
        members = (_escape(name) + b":" + space + _with_escapes(item, plain, space) for name, item in value.items())
        return b"{" + space + (b"," + space).join(members) + b"}"
    if isinstance(value, list):
        return b"[" + space + (b"," + space).join(_with_escapes(item, plain, space) for item in value) + b"]"
    return _escape(value) if isinstance(value, str) and value not in plain else json.dumps(value).encode()


def _escape(text: str) -> bytes:
    units = text.encode("utf-16-be", "surrogatepass").hex()
    return b'"' + "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)).encode() + b'"'
