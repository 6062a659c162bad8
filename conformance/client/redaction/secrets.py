"""Secrets that must not appear in any file: credentials, and the codes, tickets, verifiers, proofs and tokens of a run.

They are many, and most live for one exchange. They are indexed by short pieces of their forms, so that one pass over a
text finds any number of them.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from functools import lru_cache
from sys import intern
from typing import Any, Final, TypeAlias
from weakref import WeakSet

from conformance.client.redaction.character_codes import CharacterCodes
from conformance.client.redaction.encodings import ESCAPES, MIN_LENGTH, UnescapedText, forms, rare_forms
from conformance.client.redaction.fragments import (
    LENGTH,
    MIN_COVERED,
    Fragments,
    Span,
    blocks_of,
    covering_blocks,
    merge_spans,
    shared_spans,
)
from conformance.client.redaction.loose_forms import LooseForms
from conformance.client.redaction.marks import Marks, label_with_mark
from conformance.client.redaction.spellings import RUNS, Index, ShortForms, Spelling
from conformance.client.redaction.wide_text import WideText

__all__ = ["MIN_LENGTH", "WHOLE_HEADERS", "Secrets", "clean_with_all", "forms", "is_secret_name", "without_tail"]

_MIN_EMBEDDED_LENGTH: Final = 12
"""A shorter ephemeral secret may be part of an ordinary word: it is removed only where it stands alone."""
_MEMBER = re.compile(r'("((?:[^"\\]|\\.){1,80}+)"\s*+:\s*+")((?:[^"\\]|\\.){8,}+)(?:(")|\\?\Z)', re.DOTALL)
"""A string member of a JSON object, possibly truncated. Names are bounded, so that the search is not quadratic."""
_SECRET_NAME: Final = re.compile(
    r"secret|token|password|authorization|api[_-]?key|private[_-]?key|ticket|verifier", re.IGNORECASE
)
_SECRET_NAME_PARTS: Final = ("secret", "token", "passw", "authoriz", "ticket", "verif")
_SECRET_KEY_NAMES: Final = ("apikey", "api_key", "api-key", "privatekey", "private_key", "private-key")
"""Every such name contains one of these or of the parts (lower case). Most texts contain `key` alone."""
_HARMLESS_NAME: Final = re.compile(r"token_?type|kind|expires", re.IGNORECASE)
_MAX_RECENT: Final = 1_500
"""Number of recent ephemeral secrets that are known in all forms; older ones only in the form that was sent. It bounds
the memory of a long run; a run of the usual size has about as many."""
_DIGIT: Final = re.compile(r"\d")
_MAX_HARMLESS: Final = 1000
_MAX_HARMLESS_LENGTH: Final = 200
"""Maximum length of a text that is remembered as clean."""
_JWT: Final = re.compile(r"(?<![\w-])((?:(?!eyJ)[\w-])*)(eyJ[\w-]{10,}+\.eyJ[\w-]{10,}+(?:\.[\w-]{16,}+)?)")
"""A JWT in compact form (RFC 7515 section 3.1), of any origin. A run of its characters is read once: `eyJeyJ...`."""
WHOLE_HEADERS: Final = frozenset({"authorization", "dpop", "cookie", "set-cookie", "proxy-authorization"})
"""Headers whose value is never written."""
_View: TypeAlias = CharacterCodes | UnescapedText | WideText


class Secrets:
    """The secrets of one run, and the functions that remove them from texts."""

    def __init__(self, public: str = "", marks: Marks | None = None) -> None:
        """`public`: text that is not secret, such as the target's URL: no part of it counts as a fragment of a key.

        `marks`: for exchanges, in which equal secrets stay recognizable as equal.
        """
        self.marks = marks
        self._fragments = Fragments(public)
        self._loose_forms = LooseForms()
        self._recent: deque[str] = deque(maxlen=_MAX_RECENT)
        """The most recent ephemeral secrets, unencoded."""
        self._long_forms = Index[int]()
        self._short_forms = ShortForms()
        self._unindexed: list[Spelling] = []
        """The few short forms without a token run."""
        self._values: set[str] = set()
        self._other_spellings: deque[tuple[Spelling, ...]] = deque()
        """For each recent ephemeral secret: its forms other than the plain one."""
        self.longest = 0
        """The length of the longest known form."""
        self._shortest = sys.maxsize
        self._harmless: set[str] = set()
        _INSTANCES.add(self)

    @property
    def values(self) -> frozenset[str]:
        """The ephemeral secrets, unencoded, for code that must redact the output of another process."""
        return frozenset(self._values)

    def add_credential(self, name: str, secret: str) -> None:
        """Adds a credential of the profile; written as «credential:name»."""
        label = f"«credential:{name}»"
        for form in (*forms(secret), *rare_forms(secret)):
            self._keep(Spelling(form, label, False))
        self._fragments.add(secret, f"«redacted:part of {name}»")
        self._loose_forms.add(secret, label)
        self._shortest = min(self._shortest, LENGTH)
        self._harmless.clear()

    def add_ephemeral_secrets(self, name: str, values: Iterable[str]) -> None:
        """Adds secrets that live for one exchange or one fixture; written as «redacted:name»."""
        for value in values:
            if not isinstance(value, str) or len(value) < MIN_LENGTH or value in self._values:
                continue
            self._values.add(value)
            self._recent.append(value)
            label, short = intern(f"«redacted:{name}»"), len(value) < _MIN_EMBEDDED_LENGTH
            spellings = [Spelling(form, label, short and form.lower() == value.lower()) for form in forms(value)]
            for spelling in spellings:
                self._keep(spelling)
            if not all(_DIGIT.search(spelling.form) for spelling in spellings):
                self._harmless.clear()
            self._other_spellings.append(tuple(spelling for spelling in spellings if spelling.form != value))
            if len(self._other_spellings) > _MAX_RECENT:
                self._forget(self._other_spellings.popleft())

    def _forget(self, spellings: Iterable[Spelling]) -> None:
        for spelling in spellings:
            index, pieces = self._index_of(spelling.form)
            if index:
                index.drop(spelling, pieces)
            else:
                self._unindexed.remove(spelling)

    def _index_of(self, form: str) -> tuple[Index[Any] | None, Collection[Any]]:
        """The index and the pieces by which a form is found; no index for a short form without a run."""
        if len(form) >= MIN_COVERED:
            return self._long_forms, covering_blocks(form)
        runs = RUNS.findall(form)
        return (self._short_forms, (runs[-1][-MIN_LENGTH:],)) if runs else (None, ())

    def _keep(self, spelling: Spelling) -> None:
        form = spelling.form
        index, pieces = self._index_of(form)
        if index:
            index.add(spelling, pieces)
        else:
            self._unindexed.append(spelling)
        self.longest = max(self.longest, len(form))
        self._shortest = min(self._shortest, len(form))

    def clean(self, text: str, marks: Marks | None = None) -> str:
        """The text without known secrets, and without members whose names mark them as secrets."""
        if len(text) < MIN_LENGTH:
            return text
        if len(text) >= self._shortest:
            text = self._without_known_secrets(text, marks)
        return _without_secret_members(text, marks)

    def clean_truncated(self, text: str) -> str:
        """Like `clean`, for library messages: they may quote part of a secret, cut off anywhere."""
        text = self.clean(text)
        for span in reversed(shared_spans(text, "\n".join(self._recent)) if len(text) >= LENGTH else []):
            text = f"{text[: span.start]}«redacted:part»{text[span.end :]}"
        return text

    def excerpt(self, text: str, limit: int, clean: Callable[[str], str] | None = None) -> str:
        """The beginning of a text, cleaned before it is shortened. `clean` replaces this object's own function."""
        if not text:
            return text
        margin = self.margin
        excerpt, is_cut = text[: limit + margin], len(text) > limit + margin
        return without_tail((clean or self.clean)(excerpt), margin if is_cut else 0)[:limit]

    @property
    def margin(self) -> int:
        """Number of characters at the end of a truncated text that may belong to an incomplete secret."""
        return 4 * max(self.longest, 256)

    def cleaner(self, texts: Iterable[str], marks: Marks | None = None) -> Callable[[str], str]:
        """`clean` for these texts, which are searched once as a whole first: most contain nothing."""
        new = [text for text in texts if text not in self._harmless]
        if not new:
            return str
        joined_text = "\n\n".join(new)
        blocks = blocks_of(joined_text)
        forms = [spelling.form for spelling in self._find_in(joined_text, blocks)]
        may_have_fragments = self._fragments.may_occur_among(blocks)
        escaped_matches = False
        unescaped = UnescapedText(joined_text).text
        if unescaped:
            blocks = blocks_of(unescaped)
            escaped_matches = bool(self._find_in(unescaped, blocks))
            may_have_fragments = may_have_fragments or self._fragments.may_occur_among(blocks)
            may_have_fragments = may_have_fragments or self._loose_forms.may_occur_in(unescaped)
        views = WideText(joined_text), WideText(unescaped), CharacterCodes(joined_text)
        may_have_fragments = may_have_fragments or any(view.text for view in views)
        may_have_fragments = may_have_fragments or self._loose_forms.may_occur_in(joined_text)
        if not (forms or escaped_matches or may_have_fragments) and _without_secret_members(joined_text) == joined_text:
            for text in new:
                self._remember(text)
            return str

        def clean(text: str) -> str:
            if text in self._harmless:
                return text
            if (
                may_have_fragments
                or any(form in text for form in forms)
                or (escaped_matches and any(sign in text for sign in ESCAPES))
            ):
                return self.clean(text, marks)
            return _without_secret_members(text, marks)

        return clean

    def clean_word(self, text: str) -> str:
        """Like `clean`, with a cache of clean texts: header names and values repeat."""
        if text in self._harmless:
            return text
        clean_text = self.clean(text)
        if clean_text == text:
            self._remember(text)
        return clean_text

    def _remember(self, text: str) -> None:
        """Caches a clean text; the cache is cleared when a form without a digit is added."""
        if len(text) < _MAX_HARMLESS_LENGTH and len(self._harmless) < _MAX_HARMLESS and not _DIGIT.search(text):
            self._harmless.add(text)

    def _without_known_secrets(self, text: str, marks: Marks | None) -> str:
        for spelling in self._find_in(text):
            text = spelling.remove_from(text, marks)
        for find_spans in (self._loose_forms.spans, self._fragments.spans):  # the rest of a key is a fragment
            for start, end, label in reversed(merge_spans(find_spans(text))):
                text = text[:start] + label + text[end:]
        for start, end, label in reversed(merge_spans(self._spans_of_views(text))):
            text = text[:start] + label_with_mark(label, text[start:end], marks) + text[end:]
        return text

    def _spans_of_views(self, text: str) -> Iterator[Span]:
        """The places in a text of secrets that show when it is decoded in one of several ways."""
        yield from _original_spans(self._spans(codes := CharacterCodes(text)), codes)
        yield from _original_spans(self._spans(wide := WideText(text)), wide)
        yield from _original_spans(self._spans(unescaped := UnescapedText(text)), unescaped)
        wide = WideText(unescaped.text)
        yield from _original_spans(_original_spans(self._spans(wide), wide), unescaped)

    def _spans(self, view: _View) -> Iterator[Span]:
        if view.text:
            yield from (Span(*at, item.label) for item in self._find_in(view.text) for at in item.spans(view.text))
            yield from self._fragments.spans(view.text)
            yield from self._loose_forms.spans(view.text)

    def _find_in(self, text: str, blocks: Set[int] | None = None) -> list[Spelling]:
        """The forms that occur in a text, the longest first. `blocks`: `blocks_of(text)`, where it is known."""
        found = {spelling for spelling in self._unindexed if spelling.form in text}
        found.update(self._long_forms.find_by(blocks_of(text) if blocks is None else blocks, text))
        found.update(self._short_forms.find(text))
        return sorted(found, key=lambda item: len(item.form), reverse=True)

    def redact_json(self, value: Any) -> Any:
        """`clean` on every string of a JSON value."""
        if isinstance(value, str):
            return self.clean_word(value)
        if isinstance(value, dict):
            return {self.clean_word(name): self.redact_json(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.redact_json(item) for item in value]
        return value


def _original_spans(spans: Iterable[Span], view: _View) -> Iterator[Span]:
    return (Span(*view.span(start, end), label) for start, end, label in spans)


def without_tail(text: str, length: int) -> str:
    """A text without its last characters, which may be part of an incomplete secret."""
    return text[: max(0, len(text) - length)] if length else text


def _without_secret_members(text: str, marks: Marks | None = None) -> str:
    """The text without JWTs and without values of members whose names mark them as secrets."""
    if "eyJ" in text:
        text = _JWT.sub(lambda match: match[1] + label_with_mark("«redacted:jwt»", match[2], marks), text)
    return _MEMBER.sub(lambda match: _redact_member(match, marks), text) if may_hold_secret_names(text) else text


def may_hold_secret_names(text: str) -> bool:
    """Whether a JSON text may have members with secret names; a fast test that excludes most texts."""
    if '"' not in text:
        return False
    small = text.lower()
    has_part = any(map(small.__contains__, _SECRET_NAME_PARTS))
    return has_part or ("key" in small and any(map(small.__contains__, _SECRET_KEY_NAMES)))


def _redact_member(match: re.Match[str], marks: Marks | None) -> str:
    opening, name, value, closing = match.groups()
    if not is_secret_name(name) or value.startswith("«"):
        return match.group()
    label = label_with_mark("«redacted»", value, marks) if closing else "«redacted»"
    return f"{opening}{label}{closing or ''}"


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether the name of a member or header marks its value as a secret."""
    return bool(_SECRET_NAME.search(name)) and not _HARMLESS_NAME.search(name)


_INSTANCES: Final[WeakSet[Secrets]] = WeakSet()
"""The secrets of every run in this process."""


def clean_with_all(text: str) -> str:
    """A text of unknown origin, for example a traceback, without the secrets of any run in this process."""
    for secrets in list(_INSTANCES):
        text = secrets.clean(text)
    return text
