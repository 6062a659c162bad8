"""Messages that several rooms print, and messages of results, as reports group them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

PREFIX_ADVICE: Final = "does base_url lack a path prefix, the part before /api/v1?"


def without_operation(text: str, operation: str) -> str:
    """The text without the operation's name: `quotePublicCart was refused` becomes `the operation was refused`."""
    if not operation or operation not in text:  # most texts: a search for each of thousands of results costs more
        return text
    return re.sub(rf"(?<![\w.]){re.escape(operation)}\b", "the operation", text)


def join_values(values: Iterable[object], limit: int = 12) -> str:
    """`a, b, c and 4 more`; `none` where there are none."""
    texts = [str(value) for value in values]
    suffix = f" and {len(texts) - limit:,} more" if len(texts) > limit else ""
    return (", ".join(texts[:limit]) or "none") + suffix


def plural(count: int, noun: str, plural_form: str = "") -> str:
    """`1 result`, `2 results`, `1,000 results`."""
    return f"{count:,} {noun if count == 1 else plural_form or noun + 's'}"


def shorten(text: str, limit: int = 80) -> str:
    """The beginning and the end of a longer text: such as an argument of the command line, or a name in a fixture."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}…{text[-half:]} ({len(text):,} characters)"
