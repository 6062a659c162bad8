"""A random text that a regular expression matches: for idempotency keys whose format only a profile knows."""

from __future__ import annotations

import random
import string
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_WORD = string.ascii_letters + string.digits
_CATEGORIES = {
    kinds.CATEGORY_DIGIT: string.digits,
    kinds.CATEGORY_WORD: _WORD,
    kinds.CATEGORY_SPACE: " ",
    kinds.CATEGORY_NOT_DIGIT: string.ascii_letters,
    kinds.CATEGORY_NOT_SPACE: _WORD,
    kinds.CATEGORY_NOT_WORD: "-",
}
_MANY = 24
"""How often something unbounded is repeated: long enough to be unique."""


def sample(pattern: str, source: random.Random) -> str:
    """One matching text. Look-around and back references are not followed: the caller tests what it gets."""
    return "".join(_write(node, source) for node in parser.parse(pattern))


def _write(node: tuple[Any, Any], source: random.Random) -> str:
    operation, argument = node
    if operation is kinds.LITERAL:
        return chr(argument)
    if operation is kinds.ANY:
        return source.choice(_WORD)
    if operation is kinds.IN:
        return source.choice(_members(argument))
    if operation in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
        low, high, inner = argument
        most = max(low, _MANY) if high is kinds.MAXREPEAT else high
        return "".join(_write(child, source) for _ in range(most) for child in inner)
    if operation is kinds.SUBPATTERN:
        return "".join(_write(child, source) for child in argument[-1])
    if operation is kinds.BRANCH:
        return "".join(_write(child, source) for child in source.choice(argument[1]))
    return ""


def _members(items: list[tuple[Any, Any]]) -> str:
    allowed = ""
    negated = False
    for operation, argument in items:
        if operation is kinds.NEGATE:
            negated = True
        elif operation is kinds.LITERAL:
            allowed += chr(argument)
        elif operation is kinds.RANGE:
            allowed += "".join(chr(code) for code in range(argument[0], argument[1] + 1))
        elif operation is kinds.CATEGORY:
            allowed += _CATEGORIES[argument]
    if negated:
        allowed = "".join(character for character in _WORD + "-_" if character not in allowed)
    return allowed or "x"
