"""Regular expressions of a profile that texts are generated from."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Final

_MAX_REPETITIONS: Final = 4_096
"""Texts with more would take time and memory without bound, and no service stores such a key."""
_TOKEN: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?#(?:\\.|[^)\\])*\)"
    r"|(?P<opening>\()|(?P<closing>\))|\{(?P<least>[0-9]+)(?:,[0-9]*)?\}|.",
    re.DOTALL,
)
"""An escape, a class, a comment, a parenthesis, a counted repetition, or any other character."""
_USUAL_UNITS: Final = ("a", "A", "0", "-", "_", " ")
_MOST_UNITS: Final = 24
_LENGTHS: Final = (*range(1, 33), 64, 128, 256, 512)
"""One by one while the time may double with each character, so that the last attempt takes about twice the bound."""
_LONGEST_MATCH_S: Final = 0.1
"""Of the processor."""


def pattern_trouble(pattern: str) -> str:
    """Why no texts can be generated from a regular expression; empty where they can."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError, ValueError) as error:  # ValueError: thousands of digits
        return f"{pattern[:200]!r} is not a regular expression: {error}"
    if (count := _repetitions(pattern)) > _MAX_REPETITIONS:
        return f"{pattern[:200]!r} demands {count:,} repetitions, and at most {_MAX_REPETITIONS:,} are supported"
    if text := _slow_text(pattern):
        message = f"takes more than {_LONGEST_MATCH_S * 1000:g} ms to refuse a text of {len(text)} characters"
        return f"{pattern[:200]!r} {message}: it has nested or ambiguous repetitions, as (a+)+ has"
    return ""


def _slow_text(pattern: str) -> str:
    """A short text that takes long to be compared with a valid pattern, whose program tries all ways; empty without."""
    matcher = re.compile(pattern)
    for unit in _units(pattern):
        for length in _LENGTHS:
            text: str = unit * length + "\0"
            began = time.thread_time()
            matcher.fullmatch(text)
            if time.thread_time() - began > _LONGEST_MATCH_S:
                return text
    return ""


def _units(pattern: str) -> Iterator[str]:
    """What may be repeated in a text that almost matches: usual characters, and letters of the pattern."""
    letters = "".join(token[0] for token in _TOKEN.finditer(pattern) if len(token[0]) == 1 and token[0].isalnum())
    pairs = (letters[at : at + 2] for at in range(len(letters) - 1))
    yield from list(dict.fromkeys((*_USUAL_UNITS, *letters, *pairs)))[:_MOST_UNITS]


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
