"""The forms of secrets, and an index of them: a text is searched for thousands in one pass."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set
from typing import Final, Generic, NamedTuple, TypeVar

from conformance.client.redaction.encodings import MIN_LENGTH
from conformance.client.redaction.marks import Marks, label_with_mark

RUNS: Final = re.compile(r"[\w%+/=~.-]{6,}")
"""The runs of a token's characters: nearly all forms consist of one."""
_SCAN_LIMIT: Final = 40
"""Below this number of pieces, a search for each form is faster than the index."""


class Spelling(NamedTuple):
    form: str
    label: str
    standalone: bool

    def remove_from(self, text: str, marks: Marks | None) -> str:
        label = label_with_mark(self.label, self.form, marks)
        if not self.standalone:
            return text.replace(self.form, label)
        for start, end in reversed(list(self.spans(text))):
            text = text[:start] + label + text[end:]
        return text

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The positions of this form in a text, in order."""
        at = text.find(self.form)
        while at >= 0:
            end = at + len(self.form)
            is_separate = not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum())
            if is_separate or not self.standalone:
                yield at, end
            at = text.find(self.form, end)


_Piece = TypeVar("_Piece", str, int)


class Index(Generic[_Piece]):
    """Forms of secrets by a few pieces of each: blocks, or MIN_LENGTH characters."""

    def __init__(self) -> None:
        self._pieces: dict[_Piece, Spelling | list[Spelling]] = {}
        """A list only where several forms share a piece: a long run has hundreds of thousands of pieces."""
        self._known: set[_Piece] = set()
        """The same pieces: of two sets it is found sooner that they have nothing in common."""
        self._all_spellings: set[Spelling] = set()
        """All forms, cached while there are few pieces."""

    def add(self, spelling: Spelling, pieces: Collection[_Piece]) -> None:
        self._all_spellings = set()
        self._known.update(pieces)
        for piece in pieces:
            known = self._pieces.setdefault(piece, spelling)
            if isinstance(known, list):
                known.append(spelling)
            elif known is not spelling:
                self._pieces[piece] = [known, spelling]

    def drop(self, spelling: Spelling, pieces: Collection[_Piece]) -> None:
        self._all_spellings = set()
        for piece in pieces:
            remaining = list(self._at(piece))
            remaining.remove(spelling)
            if remaining:
                self._pieces[piece] = remaining
            else:
                del self._pieces[piece]
                self._known.remove(piece)

    def _at(self, piece: _Piece) -> Sequence[Spelling]:
        known = self._pieces[piece]
        return known if isinstance(known, list) else (known,)

    def find_by(self, pieces: Set[_Piece], text: str) -> Iterator[Spelling]:
        """The forms in a text that has these pieces."""
        if self._known.isdisjoint(pieces):
            return iter(())
        likely = {spelling for piece in self._pieces.keys() & pieces for spelling in self._at(piece)}
        return (spelling for spelling in likely if spelling.form in text)


class ShortForms(Index[str]):
    """Forms that are too short to contain a block wherever they begin."""

    def find(self, text: str) -> Iterator[Spelling]:
        """The forms in a text, found by any six characters of its runs."""
        if len(self._pieces) < _SCAN_LIMIT:
            self._all_spellings = self._all_spellings or {item for piece in self._pieces for item in self._at(piece)}
            return (item for item in self._all_spellings if item.form in text)
        runs = RUNS.findall(text)
        pieces = {run[at : at + MIN_LENGTH] for run in runs for at in range(len(run) - MIN_LENGTH + 1)}
        return self.find_by(pieces, text)
