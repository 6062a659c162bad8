"""Fragments of the run's keys, as libraries, proxies or targets leave them when they truncate a text.

A fragment is any 12 consecutive characters of a key, in any of its forms. A text is searched in blocks of six
characters: one block lies completely within every fragment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from typing import Final, NamedTuple

from conformance.client.redaction.encodings import forms

LENGTH: Final = 12
_PIECE: Final = LENGTH // 2
_PIECES: Final = re.compile(f".{{{_PIECE}}}", re.DOTALL)
_MIN_DISTINCT: Final = 5
"""Fragments with fewer distinct characters, such as zeros or dashes, reveal nothing about a key."""

_PARTIAL_TOKEN: Final = re.compile(r"[^\s\",;{}\[\]]+\Z")


def blocks_of(text: str) -> set[str]:
    """The consecutive blocks of six characters of a text."""
    return set(_PIECES.findall(text))


class Span(NamedTuple):
    start: int
    end: int
    label: str


class Fragments:
    """The fragments of all keys of a run."""

    def __init__(self, public: str) -> None:
        """`public`: text that is not secret. A fragment that occurs in it is ignored."""
        self._public = public
        self._labels: dict[str, str] = {}
        self._pieces: set[str] = set()

    def add(self, key: str, label: str) -> None:
        self._public = self._public.replace(key, "")
        for form in forms(key):
            for at in range(len(form) - LENGTH + 1):
                fragment = form[at : at + LENGTH]
                if len(set(fragment)) >= _MIN_DISTINCT and fragment not in self._public:
                    self._labels.setdefault(fragment, label)
                    self._pieces.update(fragment[i : i + _PIECE] for i in range(_PIECE + 1))

    def may_occur_among(self, blocks: Set[str]) -> bool:
        """Whether a full search is needed: the blocks of most texts share none with any key."""
        return not self._pieces.isdisjoint(blocks)

    def spans(self, text: str) -> list[Span]:
        """The spans of all fragments in order; overlapping ones are merged."""
        if not self.may_occur_among(blocks_of(text)):
            return []
        return merge_spans(Span(start, start + LENGTH, label) for start, label in self._starts(text))

    def _starts(self, text: str) -> Iterator[tuple[int, str]]:
        last = -1
        for piece in _PIECES.finditer(text):
            if piece.group() in self._pieces:
                first = max(last + 1, piece.start() - _PIECE)
                for start in range(first, piece.start() + 1):
                    if label := self._labels.get(text[start : start + LENGTH]):
                        yield start, label
                last = piece.start()


def truncate_for_redaction(text: str, limit: int) -> str:
    """At most `limit` characters of a text that is redacted later, without a partial token at the end."""
    return text if len(text) <= limit else _PARTIAL_TOKEN.sub("", text[:limit])


def shared_spans(text: str, secret_text: str) -> list[Span]:
    """The spans of `text` that share 12 consecutive characters with `secret_text`; for short texts without an index."""
    places = range(len(text) - LENGTH + 1)
    return merge_spans(Span(at, at + LENGTH, "") for at in places if text[at : at + LENGTH] in secret_text)


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Spans in order without overlaps; each keeps the label of the longest span that starts first."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if found and span.start < found[-1].end:
            found[-1] = found[-1]._replace(end=max(span.end, found[-1].end))
        else:
            found.append(span)
    return found
