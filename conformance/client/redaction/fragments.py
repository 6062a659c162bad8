"""Fragments of the run's keys, as libraries, proxies or targets leave them when they truncate a text.

A fragment is any 12 consecutive characters of a key, in any of its forms. A text is searched by its blocks, see
`blocks_of`: one of them lies completely within every fragment.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Set
from typing import Final, NamedTuple

from conformance.client.redaction.encodings import forms

LENGTH: Final = 12
_BLOCK: Final = 8
_STEP: Final = 4
MIN_COVERED: Final = _BLOCK + _STEP - 1
"""A part of a text with this many bytes contains a complete block, wherever it begins."""
_MIN_DISTINCT: Final = 5
"""Fragments with fewer distinct characters, such as zeros or dashes, reveal nothing about a key."""

_PARTIAL_TOKEN: Final = re.compile(r"[^\s\",;{}\[\]]+\Z")


def blocks_of(text: str) -> set[int]:
    """The blocks of a text in UTF-8."""
    return blocks_in(text.encode("utf-8", "surrogatepass"))


def blocks_in(raw: bytes) -> set[int]:
    """The blocks of eight bytes that begin at every fourth byte, as numbers: a set of them takes half the time of one
    of strings."""
    whole = memoryview(raw)
    blocks: set[int] = set()
    for start in (0, _STEP):
        if count := (len(raw) - start) // _BLOCK:
            blocks.update(whole[start : start + count * _BLOCK].cast("Q"))
    return blocks


def covering_blocks(part: str) -> set[int]:
    """Blocks of which a text has at least one wherever it contains this part of at least MIN_COVERED bytes: those that
    begin in the first four of its last MIN_COVERED bytes. At the end, since proofs begin alike."""
    raw = part.encode("utf-8", "surrogatepass")[-MIN_COVERED:]
    return {int.from_bytes(raw[at : at + _BLOCK], sys.byteorder) for at in range(_STEP)}


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
        self._blocks: set[int] = set()

    def add(self, key: str, label: str) -> None:
        self._public = self._public.replace(key, "")
        for form in forms(key):
            for at in range(len(form) - LENGTH + 1):
                fragment = form[at : at + LENGTH]
                if len(set(fragment)) >= _MIN_DISTINCT and fragment not in self._public:
                    self._labels.setdefault(fragment, label)
                    self._blocks |= covering_blocks(fragment)

    def may_occur_among(self, blocks: Set[int]) -> bool:
        """Whether a full search is needed: the blocks of most texts share none with any key."""
        return not self._blocks.isdisjoint(blocks)

    def spans(self, text: str) -> list[Span]:
        """The spans of all fragments in order; overlapping ones are merged."""
        if not self.may_occur_among(blocks_of(text)):
            return []
        return merge_spans(Span(start, start + LENGTH, label) for start, label in self._starts(text))

    def _starts(self, text: str) -> Iterator[tuple[int, str]]:
        for start in range(len(text) - LENGTH + 1):
            if label := self._labels.get(text[start : start + LENGTH]):
                yield start, label


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
