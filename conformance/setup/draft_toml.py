"""TOML text for the values of a profile: what `tomllib` reads back is what was given."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def key_text(name: str) -> str:
    """A key as it stands before `=` or in a header: bare where it can be."""
    return name if _BARE.fullmatch(name) else string_text(name)


def header_text(*names: str) -> str:
    return f"[{'.'.join(map(key_text, names))}]"


def string_text(text: str) -> str:
    """A basic string. What TOML cannot hold, half of a surrogate pair, becomes U+FFFD."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    escaped = "".join(_ESCAPES.get(character, character) for character in joined)
    return '"' + _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04X}", escaped) + '"'


def value_text(value: Any) -> str:
    """Any value that a profile may hold, on one line. Raises ValueError on null, which TOML does not have."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return string_text(value.isoformat())
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key_text(str(name))} = {value_text(item)}" for name, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_text, value))}]"
    raise ValueError(f"TOML has no {type(value).__name__}")


def _float_text(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError("a profile has no infinite number")
    text = repr(value)
    return text if "e" in text or "." in text else f"{text}.0"


def comment_text(text: str) -> str:
    """A comment: one line, and nothing in it that a terminal or an editor would obey."""
    plain = _SURROGATE.sub("�", _INVISIBLE.sub(" ", text))
    return f"# {' '.join(plain.split())}"
