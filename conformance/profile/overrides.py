"""What a command line says in place of a profile's [limits]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.core.errors import UsageError
from conformance.profile.model import Limits
from conformance.profile.rules import proxy_trouble

_NUMBERS: Final[Mapping[str, type]] = {
    "timeout_s": float,
    "rate": float,
    "max_requests": int,
    "patience_s": float,
    "concurrency": int,
    "deadline_s": float,
}


def overridden(limits: Limits, given: Mapping[str, str]) -> Limits:
    """The limits with those of `given`, as text, in their place. Raises UsageError for one that makes no sense."""
    return replace(limits, **{name: _value(name, text) for name, text in given.items()})


def _value(name: str, text: str) -> Any:
    where = f"limits.{name}"
    if name == "read_only":
        if text not in ("true", "false"):
            raise UsageError(f"{text!r} is neither true nor false", where=where)
        return text == "true"
    if name == "proxy":
        if trouble := proxy_trouble(text):
            raise UsageError(trouble, where=where)
        return text
    if name not in _NUMBERS:
        known = ", ".join((*_NUMBERS, "proxy", "read_only"))
        raise UsageError("there is no such limit", where=where, hint=f"one of {known}")
    try:
        number = _NUMBERS[name](text)
    except ValueError:
        raise UsageError(f"{text!r} is no number", where=where) from None
    if not 0 < number < 2**32:
        raise UsageError(f"{text} is out of bounds", where=where, hint="more than 0")
    return number
