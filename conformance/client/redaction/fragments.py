"""Fragments of the run's keys: what is left of one where a library, a proxy or a target has cut it off.

A fragment is any 12 characters in a row of a key, in any of its spellings. A text is looked at in pieces of six
characters, at every sixth place: one of them stands whole in every fragment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from conformance.client.redaction.encodings import forms

LENGTH: Final = 12
_PIECE: Final = LENGTH // 2
_PIECES: Final = re.compile(f".{{{_PIECE}}}", re.DOTALL)
_VARIED: Final = 5
"""A row of fewer different characters, such as zeros or dashes, says nothing about a key."""

_TORN: Final = re.compile(r"[^\s\",;{}\[\]]+\Z")


class Span(NamedTuple):
    start: int
    end: int
    label: str


class Fragments:
    """The fragments of all keys of a run."""

    def __init__(self, public: str) -> None:
        """`public`: what is known to be no secret. What stands there is no fragment, even if it begins a key."""
        self._public = public
        self._labels: dict[str, str] = {}
        self._pieces: set[str] = set()

    def add(self, key: str, label: str) -> None:
        self._public = self._public.replace(key, "")
        for form in forms(key):
            for at in range(len(form) - LENGTH + 1):
                fragment = form[at : at + LENGTH]
                if len(set(fragment)) >= _VARIED and fragment not in self._public:
                    self._labels.setdefault(fragment, label)
                    self._pieces.update(fragment[i : i + _PIECE] for i in range(_PIECE + 1))

    def may_stand_in(self, text: str) -> bool:
        """Whether a closer look is worth its time: most texts share no piece with any key."""
        return not self._pieces.isdisjoint(_PIECES.findall(text))

    def spans(self, text: str) -> list[Span]:
        """Where fragments stand, one after the other; what overlaps is one."""
        if not self.may_stand_in(text):
            return []
        return joined(Span(start, start + LENGTH, label) for start, label in self._starts(text))

    def _starts(self, text: str) -> Iterator[tuple[int, str]]:
        last = -1
        for piece in _PIECES.finditer(text):
            if piece.group() in self._pieces:
                first = max(last + 1, piece.start() - _PIECE)
                for start in range(first, piece.start() + 1):
                    if label := self._labels.get(text[start : start + LENGTH]):
                        yield start, label
                last = piece.start()


def beginning(text: str, limit: int) -> str:
    """At most so many characters of a text that is redacted later, without a token that would be cut in two."""
    return text if len(text) <= limit else _TORN.sub("", text[:limit])


def shared(text: str, known: str) -> list[Span]:
    """Where `text` holds 12 characters in a row of `known`: for short texts, which nothing was prepared for."""
    places = range(len(text) - LENGTH + 1)
    return joined(Span(at, at + LENGTH, "") for at in places if text[at : at + LENGTH] in known)


def joined(spans: Iterable[Span]) -> list[Span]:
    """Spans without overlaps, from the first to the last; each keeps the label of the longest that begins it."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if found and span.start < found[-1].end:
            found[-1] = found[-1]._replace(end=max(span.end, found[-1].end))
        else:
            found.append(span)
    return found
