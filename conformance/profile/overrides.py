"""Overrides of a profile's [limits] by the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from conformance.core.errors import UsageError
from conformance.profile.model import Limits
from conformance.profile.rules import proxy_trouble
from conformance.profile.schema import facts_schema
from conformance.profile.source import nearest
from conformance.profile.structure import type_in_words


def override_limits(limits: Limits, texts: Mapping[str, str]) -> Limits:
    """The limits, overridden by `texts`. Raises UsageError for an unknown or invalid limit."""
    return replace(limits, **{name: _value(name, text) for name, text in texts.items()})


def _value(name: str, text: str) -> Any:
    where, facts = f"limits.{name}", facts_schema()["$defs"]["Limits"]["properties"]
    if name not in facts:
        raise UsageError("there is no such limit", where=where, hint=nearest(name, facts))
    if name == "proxy":
        if trouble := proxy_trouble(text):
            raise UsageError(trouble, where=where)
        return text
    try:
        value = getattr(msgspec.convert({name: text}, Limits, strict=False), name)
        if value in (None, math.inf) or value not in facts[name].get("enum", [value]):
            raise ValueError
        return value
    except ValueError:
        message = f"must be {type_in_words(facts[name])}, not {text!r}"
        raise UsageError(message, where=where, hint=facts[name].get("x-expected", "")) from None
