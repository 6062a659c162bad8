"""Regular expressions of a profile that texts are generated from."""

from __future__ import annotations

import re
from typing import Final

_MAX_REPETITIONS: Final = 4_096
"""Texts with more would take time and memory without bound, and no service stores such a key."""
_TOKEN: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?#(?:\\.|[^)\\])*\)"
    r"|(?P<opening>\()|(?P<closing>\))|\{(?P<least>[0-9]+)(?:,[0-9]*)?\}|.",
    re.DOTALL,
)
"""An escape, a class, a comment, a parenthesis, a counted repetition, or any other character."""


def pattern_trouble(pattern: str) -> str:
    """Why no texts can be generated from a regular expression; empty where they can."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError, ValueError) as error:  # ValueError: thousands of digits
        return f"{pattern[:200]!r} is no regular expression: {error}"
    if (count := _repetitions(pattern)) > _MAX_REPETITIONS:
        return f"{pattern[:200]!r} demands {count:,} repetitions, and at most {_MAX_REPETITIONS:,} are supported"
    return ""


def _repetitions(pattern: str) -> int:
    """How often a matching text repeats some part of a valid pattern at least: nested repetitions multiply.

    `re` has no public parser. In the verbose mode, `(?x)`, comments of the pattern are counted too.
    """
    most = [1]  # of each open group, the greatest number of repetitions of a part of it
    last = 1  # the number of repetitions of what the next token may repeat
    for token in _TOKEN.finditer(pattern):
        if token["opening"]:
            most.append(1)
            last = 1
        elif token["closing"]:
            last = most.pop() if len(most) > 1 else 1
        else:
            last = last * max(int(token["least"]), 1) if token["least"] else 1
        most[-1] = max(most[-1], last)
    return max(most)
