"""Texts as lists: the codes of their characters, as in a buffer in JSON or a dump of bytes, or single characters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

_MIN_SEPARATORS: Final = 5
"""The shortest secret has six characters."""
_COMMA: Final = r"\s{0,99},\s{0,99}"
"""White space is bounded, so that the search is not quadratic."""
_DECIMAL: Final = "[0-9]{1,3}"
_HEXADECIMAL: Final = "[0-9A-Fa-f]{2}"
_PREFIXED: Final = "0x[0-9A-Fa-f]{2}"
_CHARACTER: Final = """(?:"[ -~]"|'[ -~]')"""


class _Notation(NamedTuple):
    item: re.Pattern[str]
    base: int
    """Of the number that an item is; 0: an item is a character between quotes."""
    lists: re.Pattern[str]

    def character(self, item: re.Match[str]) -> str:
        return chr(int(item[0], self.base)) if self.base else item[0][1]


def _notation(item: str, base: int, separator: str) -> _Notation:
    lists = rf"(?<![\w.])(?:{item}{separator}){{{_MIN_SEPARATORS},}}{item}(?![\w.])"
    return _Notation(re.compile(item), base, re.compile(lists, re.ASCII))


_NOTATIONS: Final = (
    (
        re.compile(rf",\s{{0,99}}(?:{_DECIMAL}|{_PREFIXED}|{_CHARACTER})\s{{0,99}},"),
        (_notation(_DECIMAL, 10, _COMMA), _notation(_PREFIXED, 16, _COMMA), _notation(_CHARACTER, 0, _COMMA)),
    ),
    (re.compile(f":{_HEXADECIMAL}:{_HEXADECIMAL}:"), (_notation(_HEXADECIMAL, 16, ":"),)),
    (re.compile(f"-{_HEXADECIMAL}-{_HEXADECIMAL}-"), (_notation(_HEXADECIMAL, 16, "-"),)),
    (re.compile(" [0-9]{2,3} [0-9]{2,3} [0-9]{2,3} "), (_notation(_DECIMAL, 10, " {1,2}"),)),
    (re.compile(" [^ ][^ ] [^ ][^ ] [^ ][^ ] "), (_notation(_HEXADECIMAL, 16, " {1,2}"),)),
)
"""Notations, and what every list in them contains. Most texts have none of it, and its search takes a hundredth of the
time of the search for lists: each of these patterns begins with a fixed character."""


class CharacterCodes:
    """The characters of all such lists in a text; `span` maps positions back to it. `text` is empty without a list."""

    def __init__(self, text: str) -> None:
        self._places: list[tuple[int, int]] = []
        self.text = ""
        for part, notations in _NOTATIONS:
            if part.search(text):
                self._read(text, notations)

    def _read(self, text: str, notations: Iterable[_Notation]) -> None:
        for notation in notations:
            for found in notation.lists.finditer(text):
                items = list(notation.item.finditer(text, *found.span()))
                self._places += [*(item.span() for item in items), (found.end(), found.end())]
                self.text += "".join(map(notation.character, items)) + "\n"

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The positions of the first item and behind the last one."""
        return self._places[start][0], self._places[end - 1][1]
