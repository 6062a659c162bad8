"""One sentence of a guide, with what it says in the keys of a profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Facts = Mapping[str, Any]
"""Dotted key -> value; see `conformance.profile`. `transitions` and `effects` have keys of their own: `facts.py`."""


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    facts: Facts
    """What it says."""


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of tables, by dotted key."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def say(text: str, table: str = "", **facts: Any) -> Sentence:
    """A sentence about keys of one table."""
    return Sentence(text, dict(flat(facts, f"{table}." if table else "")))


def listed(words: list[str] | tuple[str, ...]) -> str:
    """Words as an operator lists them."""
    return ", ".join(f"`{word}`" for word in words)
