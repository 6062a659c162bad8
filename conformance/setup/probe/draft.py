"""A drafted profile: facts with their evidence, notes, and TODOs for facts that the user must provide."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any, Final

import tomlkit
from tomlkit.items import Item

from conformance.client.redaction.secrets import Secrets

Key = tuple[str, ...]
_WIDTH: Final = 120
_ORDER: Final = (
    "variables",
    "tls",
    "limits",
    "authorization",
    "credentials",
    "idempotency",
    "errors",
    "fixtures",
    "operations",
    "schemas",
    "identity",
    "search",
    "transitions",
    "hosted",
    "effects",
    "webhooks",
    "rate_limit",
    "oauth",
    "revocation",
    "waivers",
)
"""The tables, in the order of `profiles/template.toml`."""
_INVISIBLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Control and formatting characters that TOML allows, but a terminal or an editor would interpret."""
_NESTED: Final = {"credentials": 1, "operations": 1, "effects": 1, "fixtures": 2}
"""Tables of tables, with the number of levels of names."""


@dataclass
class Draft:
    """The content of a profile. `facts` is the document as `tomllib` returns it."""

    facts: dict[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the user, which probe results never replace."""
    source: str = ""
    """Their source, for the comments."""
    evidence: dict[Key, str] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    """Observations without a key in the profile, by table."""
    todos: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """(line of TOML to complete or empty, the missing fact), by table."""

    def __post_init__(self) -> None:
        self.facts = _merged(self.facts, self.given)

    def stated(self, *key: str) -> bool:
        """Whether the user stated the key."""
        return _has(self.given, key)

    def knows(self, *key: str) -> bool:
        return _has(self.facts, key)

    def get(self, *key: str) -> Any:
        """The value of the key, or None."""
        value: Any = self.facts
        for name in key:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def state(self, key: Key, value: Any, evidence: str) -> None:
        """Sets a fact. If the user stated another value, that one stays and the observed value becomes a note."""
        if self.stated(*key):
            if self.get(*key) != value:
                self.note(key[0], f"{'.'.join(key)} keeps your value; observed: {value_text(value)} ({evidence})")
            return
        if _substituted(value):
            self.note(key[0], f"{'.'.join(key)} was not stated: the observed value contains a placeholder")
            return
        table = self.facts
        for name in key[:-1]:
            table = table.setdefault(name, {})
        table[key[-1]] = value
        self.evidence[key] = evidence

    def retract(self, key: Key) -> None:
        """Removes a fact, unless the user stated it."""
        if self.stated(*key) or not self.knows(*key):
            return
        table = self.facts
        for name in key[:-1]:
            table = table[name]
        del table[key[-1]]
        self.evidence.pop(key, None)

    def note(self, table: str, text: str) -> None:
        known = self.notes.setdefault(table, [])
        if text not in known:
            known.append(text)

    def todo(self, table: str, line: str, why: str) -> None:
        known = self.todos.setdefault(table, [])
        if (line, why) not in known:
            known.append((line, why))

    def clean(self, secrets: Secrets, credentials: Secrets) -> None:
        """Redacts all secrets before serialization, so that the text stays valid TOML.

        In facts of the user only credentials are redacted: secrets of their fixtures, such as tickets, are needed.
        """
        self.facts = _merged(secrets.redact_json(self.facts), credentials.redact_json(dict(self.given)))
        self.evidence = {key: secrets.clean(why) for key, why in self.evidence.items()}
        self.notes = {table: list(map(secrets.clean, notes)) for table, notes in self.notes.items()}
        self.todos = {t: [(secrets.clean(a), secrets.clean(b)) for a, b in told] for t, told in self.todos.items()}

    @property
    def open_ends(self) -> int:
        return sum(map(len, self.todos.values()))

    def text(self, head: Iterable[str]) -> str:
        """The profile as TOML. `head` contains the comment lines at the top."""
        lines = [comment_text(line) if line else "#" for line in head]
        lines += ["", *self._lines((), {n: v for n, v in self.facts.items() if n not in _ORDER})]
        for table in _ORDER:
            lines += list(self._table(table))
        return "\n".join(lines) + "\n"

    def _table(self, table: str) -> Iterator[str]:
        value, notes, todos = self.facts.get(table), self.notes.get(table, ()), self.todos.get(table, ())
        if not value and not notes and not todos:
            return
        yield ""
        yield from (comment_text(note) for note in notes)
        if isinstance(value, list):
            yield from self._array(table, value)
        elif table in _NESTED:
            yield from self._nested((table,), value or {}, _NESTED[table])
        elif value is not None:
            yield from self._headed((table,), value)
        elif todos:
            yield f"# [{key_text(table)}]"
        for line, why in todos:
            yield comment_text(f"{line}  # TODO {why}" if line else f"TODO {why}")

    def _array(self, table: str, entries: list[Mapping[str, Any]]) -> Iterator[str]:
        yield comment_text(self._why((table,)))
        for entry in entries:
            yield f"[[{key_text(table)}]]"
            yield from (f"{key_text(name)} = {value_text(value)}" for name, value in entry.items())
            yield ""

    def _nested(self, key: Key, value: Mapping[str, Any], depth: int) -> Iterator[str]:
        for index, (name, below) in enumerate(value.items()):
            yield from ("",) if index else ()
            if depth > 1:
                yield from self._nested((*key, name), below, depth - 1)
                continue
            yield from self._headed((*key, name), below)

    def _headed(self, key: Key, table: Mapping[str, Any]) -> Iterator[str]:
        """A header and its lines; a table of the user has one comment above the header."""
        own = {(*key, name) for name in table} & self.evidence.keys()
        yield from () if own else (comment_text(self._why(key)),)
        yield f"[{'.'.join(map(key_text, key))}]"
        yield from self._lines(key, table, said=not own)

    def _lines(self, key: Key, table: Mapping[str, Any], *, said: bool = False) -> Iterator[str]:
        """Yields `key = value  # evidence`, with the evidence on the line above if the line is too long."""
        for name, value in table.items():
            line, why = f"{key_text(name)} = {value_text(value)}", comment_text(self._why((*key, name)))
            if said:
                yield line
            elif len(line) + len(why) + 2 <= _WIDTH:
                yield f"{line}  {why}"
            else:
                yield from (why, line)

    def _why(self, key: Key) -> str:
        if key in self.evidence:
            return self.evidence[key]
        return f"stated in {self.source}" if self.source else "stated"


def _substituted(value: Any) -> bool:
    """Whether an observed value contains a placeholder that a profile would expand."""
    return any(word in str(value) for word in ("{env.", "{var."))


def _has(value: Any, key: Key) -> bool:
    for name in key:
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return True


def _merged(found: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(found)
    for name, value in given.items():
        below = merged.get(name)
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[name] = _merged(below, value) if both else _copy(value)  # type: ignore[arg-type]
    return merged


def _copy(value: Any) -> Any:
    """A copy with new tables, which can be changed."""
    return {name: _copy(item) for name, item in value.items()} if isinstance(value, Mapping) else value


def key_text(name: str) -> str:
    """A TOML key, bare if possible."""
    return _visible(tomlkit.key(_unicode(name)).as_string())


def value_text(value: Any) -> str:
    """A TOML value on one line. Raises ValueError on null, NaN and infinity."""
    return _visible(_item(value).as_string())


def comment_text(text: str) -> str:
    """A TOML comment of one line."""
    return tomlkit.comment(" ".join(_INVISIBLE.sub(" ", _unicode(text)).split())).as_string().rstrip()


def _item(value: Any) -> Item:
    """Like `tomlkit.item`, but with inline tables in their original order."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for name, below in value.items():
            table.append(tomlkit.key(_unicode(name)), _item(below))
        return table
    if isinstance(value, (list, tuple)):
        array = tomlkit.array()
        array.extend(map(_item, value))
        return array
    if isinstance(value, (date, time)):
        return tomlkit.string(value.isoformat())
    if isinstance(value, str):
        return tomlkit.string(_unicode(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a profile accepts no NaN or infinite number")
    item: Item = tomlkit.item(value)
    return item


def _unicode(text: str) -> str:
    """Replaces lone surrogates, which TOML cannot encode, by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _visible(text: str) -> str:
    """Escapes invisible characters in strings and quoted keys of TOML."""
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04X}", text)
