"""What decided in an answer: the header, and the lines of the body, that a result is about.

A word is marked only where the result names it as observed: the name of a key or of a case is not searched for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from conformance.core.model import Exchange, Result
from conformance.reports.shaping.layout import Line

_PLACE = re.compile(r"(?<![^\s(])(?:/[\w.~*-]{1,80})+")
_HEADER = re.compile(r"\b([A-Z][A-Za-z]*(?:-[A-Za-z]+)+)\b")
_QUOTED = re.compile(r"'([^']{2,80})'|\"([^\"]{2,80})\"|`([^`]{2,80})`")
_HEADER_OF_KIND = {"media-type": "content-type", "text-json": "content-type", "retry-after": "retry-after"}
_STATUS = re.compile(r"[1-5]\d\d")
_MAX = 12


@dataclass(frozen=True, slots=True)
class Marks:
    """What to mark in the decisive exchange's answer; its status is always marked."""

    headers: tuple[str, ...] = ()
    """Lower-case names."""
    places: tuple[str, ...] = ()
    """JSON pointers."""
    values: tuple[str, ...] = ()
    """Whole values of members."""

    def has_header(self, name: str, value: str) -> bool:
        return name.strip().lower() in self.headers or value in self.values

    def has_line(self, line: Line) -> bool:
        if line.place in self.places:
            return True
        _, _, value = line.text.strip().rstrip(",").rpartition('": ')
        return bool(self.values) and value.strip('"') in self.values

    @property
    def words(self) -> tuple[str, ...]:
        """The same as words, for a body on one line."""
        names = (place.rpartition("/")[2] for place in self.places)
        return tuple(dict.fromkeys(f'"{name}"' for name in (*names, *self.values) if name))


def marks(result: Result, exchange: Exchange) -> Marks:
    """The marks of a result in its decisive exchange."""
    if _STATUS.fullmatch(result.observed):
        return Marks()
    findings = [f for f in exchange.findings if f.requirement == result.requirement]
    texts = [result.observed, *(f.message for f in findings)]
    headers = {name.lower() for name in _find_all(_HEADER, [*texts, result.message])}
    headers |= {_HEADER_OF_KIND[f.code] for f in findings if f.code in _HEADER_OF_KIND}
    places = _find_all(_PLACE, [*texts, result.message])
    values = () if places else _find_all(_QUOTED, texts)
    return Marks(tuple(sorted(headers)[:_MAX]), tuple(places[:_MAX]), tuple(values[:_MAX]))


def _find_all(pattern: re.Pattern[str], texts: Iterable[str]) -> list[str]:
    found = (match for text in texts for match in pattern.finditer(text[:4_000]))
    return list(dict.fromkeys(next(filter(None, match.groups()), match[0]) for match in found))


def marked_lines(lines: Sequence[Line], marks: Marks) -> list[int]:
    """The indices of the marked lines."""
    return [index for index, line in enumerate(lines) if marks.has_line(line)]


def pieces(text: str, words: Collection[str]) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it is one of the words."""
    if not words:
        return [(text, False)]
    pattern = re.compile("(" + "|".join(re.escape(word) for word in words) + ")")
    return [(piece, index % 2 == 1) for index, piece in enumerate(pattern.split(text)) if piece]
