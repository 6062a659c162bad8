"""Comparison of JSON values from a journal, where parts were redacted: what surely differs, and what may be equal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson

_MARK: Final = re.compile(r"«redacted[^»#]*#([0-9a-f]{4})([0-9a-f]{12})»")
_REDACTION: Final = "«"
NO_VALUE: Final = object()


def is_comparable(text: str) -> bool:
    """Whether every redaction in a text has a mark, so that equal texts mean equal values."""
    return _REDACTION not in _MARK.sub("", text)


def parse(text: str, *, truncated: bool = False) -> Any:
    """The value of a recorded body, or NO_VALUE where it is truncated or no JSON."""
    if truncated or not text:
        return NO_VALUE
    try:
        return strictjson.parse(text.encode("utf-8", "surrogatepass"))
    except strictjson.JsonError:
        return NO_VALUE


def difference(first: Any, second: Any, volatile: Sequence[str] = ()) -> str | None:
    """The JSON pointer of a place where two values surely differ; None where they may be equal.

    Members in `volatile` may differ. Texts whose redactions cannot be compared may be equal.
    """
    first, second = pointer.remove_matching(first, volatile), pointer.remove_matching(second, volatile)
    pairs: list[tuple[str, Any, Any]] = [("", first, second)]
    while pairs:
        where, a, b = pairs.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return where + pointer.join(min(a.keys() ^ b.keys()))
            pairs += [(where + pointer.join(name), item, b[name]) for name, item in a.items()]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return where
            pairs += [(where + pointer.join(n), *pair) for n, pair in enumerate(zip(a, b, strict=True))]
        elif not (strictjson.is_equal(a, b) or may_be_equal(a, b)):
            return where
    return None


def may_be_equal(first: Any, second: Any) -> bool:
    """Whether two scalars may be equal although their texts differ, because of their redactions."""
    texts = [value for value in (first, second) if isinstance(value, str) and _REDACTION in value]
    if not texts or not all(isinstance(value, str) for value in (first, second)):
        return False
    if not all(map(is_comparable, (first, second))):
        return True
    processes = {match[1] for text in texts for match in _MARK.finditer(text)}
    return len(processes) > 1 or _MARK.sub(r"«\1\2»", first) == _MARK.sub(r"«\1\2»", second)


def mark_of(value: Any) -> str:
    """What identifies a secret: its mark where it is redacted with one, else the text; empty where nothing does."""
    if not isinstance(value, str) or not is_comparable(value):
        return ""
    return _MARK.sub(r"«\1\2»", value)
