"""What must appear in no file: credentials, and the codes, tickets, verifiers, proofs and tokens of a run.

They are many, and most live for one exchange: they are found by a few letters of their spellings, which costs one pass
over a text however many there are.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from sys import intern
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from conformance.client.redaction.encodings import ESCAPES, MIN_LENGTH, Unescaped, forms
from conformance.client.redaction.fragments import LENGTH, Fragments, Span, joined, shared

__all__ = ["MIN_LENGTH", "WHOLE_HEADERS", "Secrets", "clean_of_all", "forms", "tells", "without_tail"]

_TELLING_ALONE: Final = 12
"""A shorter passing secret may be part of a harmless word: it is taken out only where it stands by itself."""
_MEMBER = re.compile(r'("((?:[^"\\]|\\.){1,80}+)"\s*+:\s*+")((?:[^"\\]|\\.){8,}+)(?:(")|\\?\Z)', re.DOTALL)
"""A member of a JSON object whose value is a text, and be it cut off. Names are bounded, so that it costs no square."""
_TELLING: Final = re.compile(
    r"secret|token|password|authorization|api[_-]?key|private[_-]?key|ticket|verifier", re.IGNORECASE
)
_TELLING_PARTS: Final = ("secret", "token", "passw", "authoriz", "key", "ticket", "verif")
"""What stands in every such name, in small letters: a text without any needs no closer look."""
_NO_SECRET: Final = re.compile(r"token_?type|kind|expires", re.IGNORECASE)
_RUN: Final = r"[\w%+/=~.-]"
"""What nearly all spellings hold, and most are: a run of such characters."""
_RUNS: Final = re.compile(_RUN + "{6,}")
_PIECES: Final = re.compile(_RUN + "{6}")
"""A text's runs, piece by piece from where each begins: every sixth place, at the speed of the library."""
_FEW: Final = 40
"""Fewer are faster looked for one by one."""
_RECENT: Final = 1_500
"""Of so many passing secrets all spellings are known, of older ones only how they were sent: a run of any length must
fit into the memory. A run of the usual size has about as many."""
_DIGIT: Final = re.compile(r"\d")
_REMEMBERED: Final = 1000
_WORD: Final = 200
"""So long may be what is remembered as clean."""
_JWT: Final = re.compile(r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}(?:\.[\w-]{16,})?")
"""A JWT in compact form (RFC 7515 section 3.1), whoever made it: a proof, an access token."""
WHOLE_HEADERS: Final = frozenset({"authorization", "dpop", "cookie", "set-cookie", "proxy-authorization"})
"""Headers whose value is never written, whatever it holds."""


class _Spelling(NamedTuple):
    form: str
    label: str
    alone: bool

    def out_of(self, text: str) -> str:
        if not self.alone:
            return text.replace(self.form, self.label)
        for start, end in reversed(list(self.spans(text))):
            text = text[:start] + self.label + text[end:]
        return text

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it stands, one after the other."""
        at = text.find(self.form)
        while at >= 0:
            end = at + len(self.form)
            apart = not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum())
            if apart or not self.alone:
                yield at, end
            at = text.find(self.form, end)


class _Index:
    """Spellings by how their last long run ends: proofs begin alike, but end in their signatures.

    A text is searched at every `step`-th place of its runs. Of a run of `least` characters or more one of the `step`
    last pieces of MIN_LENGTH stands there.
    """

    def __init__(self, step: int) -> None:
        self._step = step
        self.least = MIN_LENGTH + step - 1
        self._pieces: dict[str, _Spelling | list[_Spelling]] = {}
        """A list only where there are several: a long run has hundreds of thousands of pieces."""
        self._few: set[_Spelling] = set()
        """All spellings, once they are asked for, as long as there are few pieces."""

    def add(self, spelling: _Spelling, run: str) -> None:
        self._few = set()
        for piece in self._ending(run):
            known = self._pieces.setdefault(piece, spelling)
            if isinstance(known, list):
                known.append(spelling)
            elif known is not spelling:
                self._pieces[piece] = [known, spelling]

    def drop(self, spelling: _Spelling, run: str) -> None:
        self._few = set()
        for piece in self._ending(run):
            others = list(self._at(piece))
            others.remove(spelling)
            if others:
                self._pieces[piece] = others
            else:
                del self._pieces[piece]

    def _at(self, piece: str) -> Sequence[_Spelling]:
        known = self._pieces[piece]
        return known if isinstance(known, list) else (known,)

    def _ending(self, run: str) -> set[str]:
        last = len(run) - MIN_LENGTH
        return {run[at : at + MIN_LENGTH] for at in range(last - self._step + 1, last + 1)}

    def standing_in(self, text: str) -> set[_Spelling]:
        if len(text) < self.least or not self._pieces:
            return set()
        if len(self._pieces) < _FEW:
            self._few = self._few or {one for piece in self._pieces for one in self._at(piece)}
            return {one for one in self._few if one.form in text}
        likely = {spelling for piece in self._pieces.keys() & self._seen(text) for spelling in self._at(piece)}
        return {spelling for spelling in likely if spelling.form in text}

    def _seen(self, text: str) -> set[str]:
        if self._step == MIN_LENGTH:
            return set(_PIECES.findall(text))
        runs = _RUNS.findall(text)
        return {run[at : at + MIN_LENGTH] for run in runs for at in range(len(run) - MIN_LENGTH + 1)}


class Secrets:
    """The secrets of one run, and the one function that takes them out of a text."""

    def __init__(self, public: str = "") -> None:
        """`public`: what is known to be no secret, such as the target's URL: no part of it counts as part of a key."""
        self._fragments = Fragments(public)
        self._recent: deque[str] = deque(maxlen=_RECENT)
        """The last passing secrets, as they are."""
        self._indexes = (_Index(MIN_LENGTH), _Index(1))
        self._odd: list[_Spelling] = []
        """Those few in which there is no run of such characters."""
        self._values: set[str] = set()
        self._encoded: deque[tuple[_Spelling, ...]] = deque()
        """For each of the last passing secrets, how else than as it is it may be written."""
        self.longest = 0
        """The length of the longest spelling known."""
        self._shortest = sys.maxsize
        self._harmless: set[str] = set()
        _ALL.add(self)

    @property
    def values(self) -> frozenset[str]:
        """The passing secrets, as they are: for whoever must keep them out of another process's words."""
        return frozenset(self._values)

    def lasting(self, name: str, secret: str) -> None:
        """A credential of the profile; written as «credential:name»."""
        label = f"«credential:{name}»"
        for form in forms(secret):
            self._keep(_Spelling(form, label, False))
        self._fragments.add(secret, f"«redacted:part of {name}»")
        self._shortest = min(self._shortest, LENGTH)
        self._harmless.clear()

    def passing(self, name: str, values: Iterable[str]) -> None:
        """What lives for one exchange or one fixture; written as «redacted:name»."""
        for value in values:
            if not isinstance(value, str) or len(value) < MIN_LENGTH or value in self._values:
                continue
            self._values.add(value)
            self._recent.append(value)
            label, short = intern(f"«redacted:{name}»"), len(value) < _TELLING_ALONE
            spelt = [_Spelling(form, label, short and form.lower() == value.lower()) for form in forms(value)]
            for one in spelt:
                self._keep(one)
            if not all(_DIGIT.search(one.form) for one in spelt):
                self._harmless.clear()
            self._encoded.append(tuple(one for one in spelt if one.form != value))
            if len(self._encoded) > _RECENT:
                self._forget(self._encoded.popleft())

    def _forget(self, spellings: Iterable[_Spelling]) -> None:
        for spelling in spellings:
            if found := self._index_of(spelling):
                index, run = found
                index.drop(spelling, run)
            else:
                self._odd.remove(spelling)

    def _index_of(self, spelling: _Spelling) -> tuple[_Index, str] | None:
        """Where a spelling is found, and by which run of it; None: among the odd ones."""
        runs = _RUNS.findall(spelling.form)
        for index in self._indexes:
            for run in reversed(runs):
                if len(run) >= index.least:
                    return index, run
        return None

    def _keep(self, spelling: _Spelling) -> None:
        form = spelling.form
        if found := self._index_of(spelling):
            index, run = found
            index.add(spelling, run)
        else:
            self._odd.append(spelling)
        self.longest = max(self.longest, len(form))
        self._shortest = min(self._shortest, len(form))

    def clean(self, text: str) -> str:
        """The text without any secret that is known, nor what its member's name says is one."""
        if len(text) < MIN_LENGTH:
            return text
        if len(text) >= self._shortest:
            text = self._without_known(text)
        return _without_telling(text)

    def clean_torn(self, text: str) -> str:
        """As `clean`, of a library's words: it may have cut off what it quotes, in the midst of any secret."""
        text = self.clean(text)
        for span in reversed(shared(text, "\n".join(self._recent)) if len(text) >= LENGTH else []):
            text = f"{text[: span.start]}«redacted:part»{text[span.end :]}"
        return text

    def excerpt(self, text: str, limit: int, clean: Callable[[str], str] | None = None) -> str:
        """The beginning of a text, cleaned before it is shortened. `clean`: in place of this object's own."""
        margin = self.margin
        kept, cut = text[: limit + margin], len(text) > limit + margin
        return without_tail((clean or self.clean)(kept), margin if cut else 0)[:limit]

    @property
    def margin(self) -> int:
        """How much at the end of a text that was cut off may belong to a secret which is not whole any more."""
        return 4 * max(self.longest, 256)

    def cleaner(self, texts: Iterable[str]) -> Callable[[str], str]:
        """`clean` for just these texts, which are looked at as one first: most are short, and hold nothing."""
        new = [text for text in texts if text not in self._harmless]
        if not new:
            return str
        together = "\n\n".join(new)
        forms = [spelling.form for spelling in self._standing_in(together)]
        undone = Unescaped(together)
        hidden = undone.text and self._standing_in(undone.text)
        torn = any(self._fragments.may_stand_in(one) for one in (together, undone.text) if one)
        if not (forms or hidden or torn) and _without_telling(together) == together:
            for text in new:
                self._remember(text)
            return str

        def clean(text: str) -> str:
            if text in self._harmless:
                return text
            if torn or any(form in text for form in forms) or (hidden and any(sign in text for sign in ESCAPES)):
                return self.clean(text)
            return _without_telling(text)

        return clean

    def clean_word(self, text: str) -> str:
        """As `clean`, remembering what was clean: for header names and values, which are always the same few."""
        if text in self._harmless:
            return text
        cleaned = self.clean(text)
        if cleaned == text:
            self._remember(text)
        return cleaned

    def _remember(self, text: str) -> None:
        """A text that is clean, and stays so as long as no spelling without a digit comes to be known."""
        if len(text) < _WORD and len(self._harmless) < _REMEMBERED and not _DIGIT.search(text):
            self._harmless.add(text)

    def _without_known(self, text: str) -> str:
        for spelling in self._standing_in(text):
            text = spelling.out_of(text)
        for start, end, label in reversed(self._fragments.spans(text)):
            text = text[:start] + label + text[end:]
        undone = Unescaped(text)
        if not undone.text:
            return text
        spans = [Span(*at, one.label) for one in self._standing_in(undone.text) for at in one.spans(undone.text)]
        for start, end, label in reversed(joined([*spans, *self._fragments.spans(undone.text)])):
            first, last = undone.span(start, end)
            text = text[:first] + label + text[last:]
        return text

    def _standing_in(self, text: str) -> list[_Spelling]:
        """The spellings that stand in a text, the longest first."""
        found = {spelling for spelling in self._odd if spelling.form in text}
        for index in self._indexes:
            found |= index.standing_in(text)
        return sorted(found, key=lambda one: len(one.form), reverse=True)

    def deep(self, value: Any) -> Any:
        """`clean` on every string of a JSON value."""
        if isinstance(value, str):
            return self.clean_word(value)
        if isinstance(value, dict):
            return {self.clean_word(name): self.deep(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.deep(item) for item in value]
        return value


def without_tail(text: str, length: int) -> str:
    """A text without its last characters: a secret that was cut in two there is not known as one."""
    return text[: max(0, len(text) - length)] if length else text


def _without_telling(text: str) -> str:
    """Without JWTs, and without what a member's name says is a secret."""
    if "eyJ" in text:
        text = _JWT.sub("«redacted:jwt»", text)
    return _MEMBER.sub(_untold, text) if may_tell(text) else text


def may_tell(text: str) -> bool:
    """Whether a JSON text may have members whose names say that their values are secrets: most are soon told apart."""
    if '"' not in text:
        return False
    small = text.lower()
    return any(part in small for part in _TELLING_PARTS)


def _untold(match: re.Match[str]) -> str:
    opening, name, value, closing = match.groups()
    if not tells(name) or value.startswith("«"):
        return match.group()
    return f"{opening}«redacted»{closing or ''}"


@lru_cache(maxsize=4096)
def tells(name: str) -> bool:
    """Whether the name of a member or a header says that its value is a secret."""
    return bool(_TELLING.search(name)) and not _NO_SECRET.search(name)


_ALL: Final[WeakSet[Secrets]] = WeakSet()
"""Of every run in this process."""


def clean_of_all(text: str) -> str:
    """A text of nobody knows whom, a traceback for instance, without any secret of any run of this process."""
    for secrets in list(_ALL):
        text = secrets.clean(text)
    return text
