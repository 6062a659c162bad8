"""What generated requests are made of: hypothesis strategies around a request that is known to be good.

hypothesis is imported where something is drawn: a run that draws nothing does not wait for it, and no two threads
import it at once (see `explore`).
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from conformance.core import json_pointer as pointer
from conformance.profile.sample import alternatives
from conformance.profile.subschema import Root, Schema

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

JsonValue = Any
_PLAIN: Final = string.ascii_letters + string.digits
_KEPT: Final = 256
"""So many strategies of one kind outlive the run that they were made for; see `explore`."""
_LONGEST: Final = 20
"""Characters of an id that is of no known make."""
_NO_NUMBER: Final = "ghjklmpqrstuvwyz"
"""Letters that stand in no spelling of a number, be it hexadecimal, octal, with an exponent, infinite or none."""


def places(value: JsonValue, at: str = "") -> Iterator[str]:
    """The pointers of everything inside a value, at any depth."""
    for name, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        here = at + pointer.join(name)
        yield here
        yield from places(item, here)


@cache
def json_values() -> SearchStrategy[JsonValue]:
    """Any JSON value that a strict writer would write: no lone surrogates, no NaN."""
    from hypothesis import strategies as st

    text = st.text(st.characters(codec="utf-8"), max_size=30)
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
    return st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=6)


@dataclass(frozen=True)
class Edit:
    """A change of a JSON document, told without the document: what is unique to one is not drawn."""

    where: str
    """The pointer of the place that is another; empty: all of it."""
    value: JsonValue
    ascii_only: bool
    gone: bool = False
    """Nothing is there any more."""

    def written(self, document: JsonValue) -> bytes:
        """The text of the document, changed."""
        if self.gone:
            changed = pointer.remove(document, self.where)
        else:
            changed = pointer.replace(document, self.where, self.value) if self.where else self.value
        return json.dumps(changed, ensure_ascii=self.ascii_only).encode()


@lru_cache(maxsize=_KEPT)
def hostile_edits(free: tuple[str, ...]) -> SearchStrategy[Edit]:
    """One of these places replaced or gone, or any other value instead of all."""
    from hypothesis import strategies as st

    plain = st.booleans()
    made: list[SearchStrategy[Edit]] = [st.builds(Edit, st.just(""), json_values(), plain)]
    if free:
        anywhere = st.sampled_from(free)
        made += [st.builds(Edit, anywhere, json_values(), plain)] * 2
        made.append(st.builds(Edit, anywhere, st.none(), plain, st.just(True)))
    return st.one_of(made)


def breaking_documents(body: JsonValue, schema: Schema, keep: frozenset[str]) -> SearchStrategy[JsonValue]:
    """The body with one place out of its bounds, of another type or gone; not all of them break the schema."""
    from hypothesis import strategies as st

    free = [where for where in places(body) if where not in keep]
    if not free:
        return st.nothing()
    root = Root(schema)

    @cache
    def broken(where: str) -> SearchStrategy[JsonValue]:
        edges = [value for part in root.at(schema, pointer.tokens(where)) for value in _beyond(part)]
        other = st.one_of(st.sampled_from(edges), json_values()) if edges else json_values()
        return other.map(lambda value: pointer.replace(body, where, value))

    gone = st.sampled_from(free).map(lambda where: pointer.remove(body, where))
    return st.sampled_from(free).flatmap(broken) | gone


def _beyond(part: Mapping[str, Any]) -> Iterator[JsonValue]:
    """Values just out of the bounds that a flattened schema sets."""
    if "maxLength" in part:
        yield "x" * (part["maxLength"] + 1)
    if part.get("minLength"):
        yield "x" * (part["minLength"] - 1)
    if "maximum" in part:
        yield part["maximum"] + 1
    if "minimum" in part:
        yield part["minimum"] - 1
    if "maxItems" in part:
        yield ["x"] * (part["maxItems"] + 1)
    if part.get("minItems"):
        yield []
    if "enum" in part:
        yield "no-value-of-these"
    if part.get("required") or part.get("properties"):
        yield {}


def meaningful_changes(body: JsonValue, schema: Schema | None, keep: frozenset[str]) -> SearchStrategy[JsonValue]:
    """Bodies that differ from a good one in what one leaf means; whether they are good is for the target to say.

    Never in case, white space, normal form, a default or the order of an array, which may mean nothing.
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
    inserted = st.builds(lambda at, more: leaf[:at] + more + leaf[at:], where, st.text(_PLAIN, min_size=1, max_size=12))
    return inserted.filter(lambda text: text.casefold() != leaf.casefold())


def fitting_documents(body: JsonValue, schema: Schema | None, keep: frozenset[str]) -> SearchStrategy[JsonValue]:
    """Bodies like a good one with one text in it made long, foreign or odd; whether they are good is for the target."""
    from hypothesis import strategies as st

    texts = [where for where, leaf in pointer.leaves(body) if isinstance(leaf, str) and where not in keep]
    if not texts:
        return meaningful_changes(body, schema, keep)
    written = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=60)
    long = st.builds(lambda text, times: (text * times)[:4000], written, st.integers(1, 200))
    odd = st.sampled_from(("\u00e9", "e\u0301", "\U0001f6d2", "\u202eabc", '"', "\\", "\\u0041", "</script>", "%00"))
    replaced = st.builds(lambda where, text: pointer.replace(body, where, text), st.sampled_from(texts), long | odd)
    return replaced | meaningful_changes(body, schema, keep)


@lru_cache(maxsize=_KEPT)
def key_edits(length: int) -> SearchStrategy[tuple[str, int, str]]:
    """Small changes of a credential of that length, told without telling it: (what, where, character).

    Never of its last two characters alone, whose lowest bits an encoding may ignore, nor in case alone.
    """
    from hypothesis import strategies as st

    inside = st.integers(0, max(0, length - 3))
    ways = st.sampled_from(("replace", "insert", "delete", "swap", "cut", "repeat"))
    return st.tuples(ways, inside, st.sampled_from(_PLAIN))


def edited(key: str, edit: tuple[str, int, str]) -> str:
    """The credential after an edit of `key_edits`; may come out unchanged."""
    what, at, character = edit
    if what == "replace":
        return key[:at] + character + key[at + 1 :]
    if what == "insert":
        return key[:at] + character + key[at:]
    if what == "delete":
        return key[:at] + key[at + 1 :]
    if what == "swap":
        return key[:at] + key[at + 1 : at + 2] + key[at : at + 1] + key[at + 2 :]
    return key[: at + 1] if what == "cut" else key + key[: at + 1]


def neighbour_of(key: str, at: int) -> str:
    """A key that differs in one character, of the same class: digits stay digits, hexadecimal letters stay so."""
    at %= len(key)
    classes = (string.digits, "abcdef", "ABCDEF", string.ascii_lowercase, string.ascii_uppercase)
    alphabet = next((known for known in classes if key[at] in known), key[at])
    return key[:at] + alphabet[(alphabet.index(key[at]) + 1) % len(alphabet)] + key[at + 1 :]


def unknown_ids(known: str) -> SearchStrategy[str]:
    """Texts that name nothing: of the make of a known id, and of any other. Never a dot segment, never with a slash."""
    return _unknown_ids(len(known), known.isdigit(), known if len(known) <= _LONGEST else "")


@lru_cache(maxsize=_KEPT)
def _unknown_ids(length: int, digits: bool, known: str) -> SearchStrategy[str]:
    """`known`: what they must not hold; empty where it is longer than that anything made here could."""
    from hypothesis import strategies as st

    alike = st.nothing() if digits else st.text(_PLAIN, min_size=length, max_size=length)
    numbers = st.integers(10**9, 10**15).map(str)
    written = st.text(st.characters(codec="utf-8", exclude_characters="/\\"), min_size=1, max_size=_LONGEST)
    made = (alike | numbers | written).filter(lambda text: text.strip(". \t") != "")
    return made.filter(lambda text: known not in text) if known else made


@cache
def no_integers() -> SearchStrategy[str]:
    """Texts that no reader of integers, however lenient, takes for one."""
    from hypothesis import strategies as st

    pieces = st.text(_NO_NUMBER + string.digits + "-:;/$", max_size=8)
    return st.builds(lambda before, letter, after: before + letter + after, pieces, st.sampled_from(_NO_NUMBER), pieces)


@cache
def company() -> SearchStrategy[tuple[dict[str, str], dict[str, str]]]:
    """Headers and query parameters that nobody knows."""
    from hypothesis import strategies as st

    word = st.text("abcdefghij-", min_size=1, max_size=10).map(lambda text: f"x-{text.strip('-') or 'x'}")
    value = st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=30).map(str.strip)
    anything = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
    return st.tuples(st.dictionaries(word, value, max_size=3), st.dictionaries(word, anything, max_size=3))


@cache
def search_words() -> SearchStrategy[str]:
    """Whatever somebody may type into a search box."""
    from hypothesis import strategies as st

    return st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


@cache
def positions() -> SearchStrategy[int]:
    """Places in an idempotency key."""
    from hypothesis import strategies as st

    return st.integers(0, 200)
