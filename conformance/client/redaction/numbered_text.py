"""Runs of the codes of characters, as a buffer in JSON or a dump of bytes, and of single characters, read as text."""

from __future__ import annotations

import re
from typing import Final

_MIN_RUN: Final = 5
"""One less than the number of characters of the shortest secret."""
_RUN: Final = re.compile(
    r"(?<![0-9A-Za-z.])(?:"
    rf"(?:[0-9]{{1,3}}\s{{0,99}},\s{{0,99}}){{{_MIN_RUN},}}[0-9]{{1,3}}"
    rf"|(?:(?:0x)?[0-9A-Fa-f]{{2}}(?:\s{{0,99}}[:,-]\s{{0,99}}|\s{{1,99}})){{{_MIN_RUN},}}(?:0x)?[0-9A-Fa-f]{{2}}"
    rf'|(?:"[ -~]"\s{{0,99}},\s{{0,99}}){{{_MIN_RUN},}}"[ -~]"'
    r")(?![0-9A-Za-z.])"
)
_DECIMAL: Final = re.compile(r"[0-9]{1,3}")
_HEXADECIMAL: Final = re.compile(r"(?:0x)?([0-9A-Fa-f]{2})")
_CHARACTER: Final = re.compile(r'"([ -~])"')


class NumberedText:
    """The characters of all such runs of a text; `span` maps positions back to it. `text` is empty without one."""

    def __init__(self, text: str) -> None:
        self._places: list[tuple[int, int]] = []
        found: list[str] = []
        for run in _RUN.finditer(text):
            for start, end, character in _characters(text, run):
                self._places.append((start, end))
                found.append(character)
            self._places.append((run.end(), run.end()))
            found.append("\n")
        self.text = "".join(found)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The positions of the first code and behind the last one."""
        return self._places[start][0], self._places[end - 1][1]


def _characters(text: str, run: re.Match[str]) -> list[tuple[int, int, str]]:
    start, end = run.span()
    if text[start] == '"':
        return [(*match.span(), match[1]) for match in _CHARACTER.finditer(text, start, end)]
    codes = [(*match.span(), int(match[0])) for match in _DECIMAL.finditer(text, start, end)]
    if "," not in run[0] or "0x" in run[0] or re.search("[A-Fa-f]", run[0]):
        codes = [(*match.span(), int(match[1], 16)) for match in _HEXADECIMAL.finditer(text, start, end)]
    return [(at, to, chr(code)) for at, to, code in codes]
