"""hypothesis strategies around a request that is known to be valid.

hypothesis is imported on use, so that a run without generated inputs does not wait for it, and never by two threads at
once (see `properties`).
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from conformance.core import json_pointer as pointer
from conformance.core.key_change import KeyChange
from conformance.profile.sample import alternatives
from conformance.profile.subschema import Schema

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

JsonValue = Any
ExtraInputs = tuple[dict[str, str], dict[str, str]]
"""Headers and query parameters."""
_PLAIN: Final = string.ascii_letters + string.digits
_CACHE_SIZE: Final = 256
"""Number of cached strategies of one kind, shared by runs; see `properties`."""
_LONGEST: Final = 20
"""Maximum length of an id in an unknown format."""
_NO_NUMBER: Final = "ghjklmpqrstuvwyz"
"""Letters that occur in no notation of a number: hexadecimal, octal, exponents, infinity, NaN."""


def places(value: JsonValue, at: str = "") -> Iterator[str]:
    """The pointers of all members and items of a value, at any depth."""
    for name, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        member_pointer = at + pointer.join(name)
        yield member_pointer
        yield from places(item, member_pointer)


@cache
def json_values() -> SearchStrategy[JsonValue]:
    """Any JSON value without lone surrogates and NaN."""
    from hypothesis import strategies as st

    text = st.text(st.characters(codec="utf-8"), max_size=30)
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
    return st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=6)


@dataclass(frozen=True)
class Edit:
    """A change of a JSON document, independent of the document's unique values."""

    where: str
    """The pointer of the changed place; empty: the whole document."""
    value: JsonValue = None
    ascii_only: bool = True
    is_removal: bool = False
    """Whether the place is removed."""

    @property
    def words(self) -> str:
        """What is done: `/reason replaced by 5`."""
        if self.is_removal:
            return f"{self.where} removed"
        escaped = ", all but ASCII escaped" if self.ascii_only else ""
        return f"{self.where or 'the whole body'} replaced by {json.dumps(self.value, ensure_ascii=False)}{escaped}"

    def change(self, document: JsonValue) -> JsonValue:
        """A changed copy. Raises KeyError where the document does not have the place."""
        if self.is_removal:
            return pointer.remove(document, self.where)
        return pointer.replace(document, self.where, self.value) if self.where else self.value

    def apply(self, document: JsonValue) -> bytes:
        """The changed document as JSON text."""
        return json.dumps(self.change(document), ensure_ascii=self.ascii_only).encode()


@lru_cache(maxsize=_CACHE_SIZE)
def hostile_edits(free: tuple[str, ...]) -> SearchStrategy[Edit]:
    """One of these places replaced or removed, or the whole body replaced."""
    from hypothesis import strategies as st

    plain = st.booleans()
    edits: list[SearchStrategy[Edit]] = [st.builds(Edit, st.just(""), json_values(), plain)]
    if free:
        anywhere = st.sampled_from(free)
        edits += [st.builds(Edit, anywhere, json_values(), plain)] * 2
        edits.append(st.builds(Edit, anywhere, st.none(), plain, st.just(True)))
    return st.one_of(edits)


def meaningful_changes(body: JsonValue, schema: Schema | None, keep: frozenset[str]) -> SearchStrategy[JsonValue]:
    """Bodies that differ from a valid one in the meaning of one leaf; they may be invalid.

    Never only in case, white space, normal form, a default or the order of an array.
    """
    from hypothesis import strategies as st

    likely = alternatives(body, schema)
    choices: list[SearchStrategy[JsonValue]] = []
    for where, leaf in pointer.leaves(body):
        if where in keep or leaf is None:
            continue
        others = list(likely.get(where, ()))
        choices += [st.sampled_from(others)] if others else []
        if isinstance(leaf, (str, int)) and not isinstance(leaf, bool):
            choices.append(_other_leaves(leaf).map(partial(pointer.replace, body, where)))
    return st.one_of(choices) if choices else st.nothing()


def _other_leaves(leaf: str | int) -> SearchStrategy[JsonValue]:
    from hypothesis import strategies as st

    if isinstance(leaf, int):
        return st.integers(1, 50).filter(lambda number: number != leaf)
    where = st.integers(0, max(0, len(leaf) - 1))
    insertions = st.builds(
        lambda at, extra: leaf[:at] + extra + leaf[at:], where, st.text(_PLAIN, min_size=1, max_size=12)
    )
    return insertions.filter(lambda text: text.casefold() != leaf.casefold())


def fitting_documents(body: JsonValue, schema: Schema | None, keep: frozenset[str]) -> SearchStrategy[JsonValue]:
    """Bodies like a valid one with one long, non-ASCII or unusual text; they may be invalid."""
    from hypothesis import strategies as st

    texts = [where for where, leaf in pointer.leaves(body) if isinstance(leaf, str) and where not in keep]
    if not texts:
        return meaningful_changes(body, schema, keep)
    any_text = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=60)
    long = st.builds(lambda text, times: (text * times)[:4000], any_text, st.integers(1, 200))
    odd = st.sampled_from(("\u00e9", "e\u0301", "\U0001f6d2", "\u202eabc", '"', "\\", "\\u0041", "</script>", "%00"))
    replacements = st.builds(lambda where, text: pointer.replace(body, where, text), st.sampled_from(texts), long | odd)
    return replacements | meaningful_changes(body, schema, keep)


@lru_cache(maxsize=_CACHE_SIZE)
def key_changes(length: int) -> SearchStrategy[KeyChange]:
    """Small changes of a credential of that length.

    Never only in the last two characters, whose lowest bits an encoding may ignore, nor in case.
    """
    from hypothesis import strategies as st

    inside = st.integers(0, max(0, length - 3))
    actions = st.sampled_from(("replace", "insert", "delete", "swap", "keep", "repeat"))
    return st.builds(_key_change, actions, inside, st.sampled_from(_PLAIN))


def _key_change(action: str, at: int, character: str) -> KeyChange:
    if action in ("keep", "repeat"):
        return KeyChange(action, at + 1)
    return KeyChange(action, at, character if action in ("replace", "insert") else "")


def neighbour_of(key: str, at: int) -> str:
    """A key that differs in one character of the same class: digits, hexadecimal letters, letters."""
    at %= len(key)
    classes = (string.digits, "abcdef", "ABCDEF", string.ascii_lowercase, string.ascii_uppercase)
    alphabet = next((characters for characters in classes if key[at] in characters), key[at])
    return key[:at] + alphabet[(alphabet.index(key[at]) + 1) % len(alphabet)] + key[at + 1 :]


@lru_cache(maxsize=_CACHE_SIZE)
def unknown_ids(length: int, digits: bool) -> SearchStrategy[str]:
    """Ids: in the format of a known id of that length, which may be of digits only, and in others.

    No dot segments, no slashes. An id may be one that is known, or contain it.
    """
    from hypothesis import strategies as st

    alike = st.nothing() if digits else st.text(_PLAIN, min_size=length, max_size=length)
    numbers = st.integers(10**9, 10**15).map(str)
    any_text = st.text(st.characters(codec="utf-8", exclude_characters="/\\"), min_size=1, max_size=_LONGEST)
    return (alike | numbers | any_text).filter(lambda text: text.strip(". \t") != "")


@cache
def no_integers() -> SearchStrategy[str]:
    """Texts that no parser of integers accepts."""
    from hypothesis import strategies as st

    pieces = st.text(_NO_NUMBER + string.digits + "-:;/$", max_size=8)
    return st.builds(
        lambda prefix, letter, suffix: prefix + letter + suffix, pieces, st.sampled_from(_NO_NUMBER), pieces
    )


@cache
def extra_inputs() -> SearchStrategy[ExtraInputs]:
    """Unknown headers and query parameters."""
    from hypothesis import strategies as st

    word = st.text("abcdefghij-", min_size=1, max_size=10).map(lambda text: f"x-{text.strip('-') or 'x'}")
    value = st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=30).map(str.strip)
    any_text = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
    return st.tuples(st.dictionaries(word, value, max_size=3), st.dictionaries(word, any_text, max_size=3))


@cache
def search_words() -> SearchStrategy[str]:
    """Any text for a search."""
    from hypothesis import strategies as st

    return st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


@cache
def positions() -> SearchStrategy[int]:
    """Places in an idempotency key."""
    from hypothesis import strategies as st

    return st.integers(0, 200)
