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
_TABLE_ORDER: Final = (
    "variables",
    "tls",
    "limits",
    "authorization",
    "credentials",
    "idempotency",
    "bodies",
    "errors",
    "fixtures",
    "operations",
    "schemas",
    "identity",
    "search",
    "transitions",
    "tenancy",
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
_NESTED_LEVELS: Final = {"credentials": 1, "operations": 1, "effects": 1, "fixtures": 2}
"""Tables of tables, with the number of levels of names."""


@dataclass
class Draft:
    """The content of a profile. `facts` is the document as `tomllib` returns it."""

    facts: dict[str, Any] = field(default_factory=dict)
    user_facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the user, which probe results never replace."""
    source: str = ""
    """Their source, for the comments."""
    evidence: dict[Key, str] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    """Observations without a key in the profile, by table."""
    todos: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """(line of TOML to complete or empty, the missing fact), by table."""

    def __post_init__(self) -> None:
        self.facts = _merge(self.facts, self.user_facts)

    def is_stated(self, *key: str) -> bool:
        """Whether the user stated the key."""
        return _has_key(self.user_facts, key)

    def has(self, *key: str) -> bool:
        return _has_key(self.facts, key)

    def get(self, *key: str) -> Any:
        """The value of the key, or None."""
        value: Any = self.facts
        for name in key:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def state(self, key: Key, value: Any, evidence: str) -> None:
        """Sets a fact. If the user stated another value, that one stays and the observed value becomes a note."""
        if self.is_stated(*key):
            if self.get(*key) != value:
                self.note(key[0], f"{'.'.join(key)} keeps your value; observed: {format_value(value)} ({evidence})")
            return
        if _has_placeholder(value):
            self.note(key[0], f"{'.'.join(key)} was not stated: the observed value contains a placeholder")
            return
        table = self.facts
        for name in key[:-1]:
            table = table.setdefault(name, {})
        table[key[-1]] = value
        self.evidence[key] = evidence

    def retract(self, key: Key) -> None:
        """Removes a fact, unless the user stated it."""
        if self.is_stated(*key) or not self.has(*key):
            return
        table = self.facts
        for name in key[:-1]:
            table = table[name]
        del table[key[-1]]
        self.evidence.pop(key, None)

    def note(self, table: str, text: str) -> None:
        entries = self.notes.setdefault(table, [])
        if text not in entries:
            entries.append(text)

    def todo(self, table: str, line: str, reason: str) -> None:
        entries = self.todos.setdefault(table, [])
        if (line, reason) not in entries:
            entries.append((line, reason))

    def redact(self, secrets: Secrets, credentials: Secrets) -> None:
        """Redacts all secrets before serialization, so that the text stays valid TOML.

        In facts of the user only credentials are redacted: secrets of their fixtures, such as tickets, are needed.
        """
        self.facts = _merge(secrets.redact_json(self.facts), credentials.redact_json(dict(self.user_facts)))
        self.evidence = {key: secrets.clean(reason) for key, reason in self.evidence.items()}
        self.notes = {table: list(map(secrets.clean, notes)) for table, notes in self.notes.items()}
        self.todos = {
            t: [(secrets.clean(a), secrets.clean(b)) for a, b in entries] for t, entries in self.todos.items()
        }

    @property
    def todo_count(self) -> int:
        return sum(map(len, self.todos.values()))

    def to_toml(self, head: Iterable[str]) -> str:
        """The profile as TOML. `head` contains the comment lines at the top."""
        lines = [format_comment(line) if line else "#" for line in head]
        lines += ["", *self._key_lines((), {n: v for n, v in self.facts.items() if n not in _TABLE_ORDER})]
        for table in _TABLE_ORDER:
            lines += list(self._table_lines(table))
        return "\n".join(lines) + "\n"

    def _table_lines(self, table: str) -> Iterator[str]:
        value, notes, todos = self.facts.get(table), self.notes.get(table, ()), self.todos.get(table, ())
        if not value and not notes and not todos:
            return
        yield ""
        yield from (format_comment(note) for note in notes)
        if isinstance(value, list):
            yield from self._array_lines((table,), value)
        elif table in _NESTED_LEVELS:
            yield from self._nested_lines((table,), value or {}, _NESTED_LEVELS[table])
        elif value is not None:
            yield from self._header_and_lines((table,), value)
        elif todos:
            yield f"# [{format_key(table)}]"
        for line, reason in todos:
            yield format_comment(f"{line}  # TODO {reason}" if line else f"TODO {reason}")

    def _array_lines(self, key: Key, entries: list[Mapping[str, Any]]) -> Iterator[str]:
        yield format_comment(self._evidence_of(key))
        for entry in entries:
            yield f"[[{'.'.join(map(format_key, key))}]]"
            yield from (f"{format_key(name)} = {format_value(value)}" for name, value in entry.items())
            yield ""

    def _nested_lines(self, key: Key, value: Mapping[str, Any], depth: int) -> Iterator[str]:
        for index, (name, subtable) in enumerate(value.items()):
            yield from ("",) if index else ()
            if depth > 1:
                yield from self._nested_lines((*key, name), subtable, depth - 1)
                continue
            if isinstance(subtable, list):  # several signs of one operation
                yield from self._array_lines((*key, name), subtable)
                continue
            yield from self._header_and_lines((*key, name), subtable)

    def _header_and_lines(self, key: Key, table: Mapping[str, Any]) -> Iterator[str]:
        """A header and its lines; a table of the user has one comment above the header."""
        probed_keys = {(*key, name) for name in table} & self.evidence.keys()
        yield from () if probed_keys else (format_comment(self._evidence_of(key)),)
        yield f"[{'.'.join(map(format_key, key))}]"
        yield from self._key_lines(key, table, bare=not probed_keys)

    def _key_lines(self, key: Key, table: Mapping[str, Any], *, bare: bool = False) -> Iterator[str]:
        """Yields `key = value  # evidence`, with the evidence on the line above if the line is too long."""
        for name, value in table.items():
            line = f"{format_key(name)} = {format_value(value)}"
            comment = format_comment(self._evidence_of((*key, name)))
            if bare:
                yield line
            elif len(line) + len(comment) + 2 <= _WIDTH:
                yield f"{line}  {comment}"
            else:
                yield from (comment, line)

    def _evidence_of(self, key: Key) -> str:
        if key in self.evidence:
            return self.evidence[key]
        return f"stated in {self.source}" if self.source else "stated"


def _has_placeholder(value: Any) -> bool:
    """Whether an observed value contains a placeholder that a profile would expand."""
    return any(word in str(value) for word in ("{env.", "{var."))


def _has_key(value: Any, key: Key) -> bool:
    for name in key:
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return True


def _merge(facts: Mapping[str, Any], user_facts: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(facts)
    for name, value in user_facts.items():
        current = merged.get(name)
        are_tables = isinstance(value, Mapping) and isinstance(current, Mapping)
        merged[name] = _merge(current, value) if are_tables else _copy_tables(value)  # type: ignore[arg-type]
    return merged


def _copy_tables(value: Any) -> Any:
    """A copy with new tables, which can be changed."""
    return {name: _copy_tables(item) for name, item in value.items()} if isinstance(value, Mapping) else value


def format_key(name: str) -> str:
    """A TOML key, bare if possible."""
    return _escape_invisible(tomlkit.key(_replace_surrogates(name)).as_string())


def format_value(value: Any) -> str:
    """A TOML value on one line. Raises ValueError on null, NaN and infinity."""
    return _escape_invisible(_toml_item(value).as_string())


def format_comment(text: str) -> str:
    """A TOML comment of one line."""
    return tomlkit.comment(" ".join(_INVISIBLE.sub(" ", _replace_surrogates(text)).split())).as_string().rstrip()


def _toml_item(value: Any) -> Item:
    """Like `tomlkit.item`, but with inline tables in their original order."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for name, item_value in value.items():
            table.append(tomlkit.key(_replace_surrogates(name)), _toml_item(item_value))
        return table
    if isinstance(value, (list, tuple)):
        array = tomlkit.array()
        array.extend(map(_toml_item, value))
        return array
    if isinstance(value, (date, time)):
        return tomlkit.string(value.isoformat())
    if isinstance(value, str):
        return tomlkit.string(_replace_surrogates(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a profile accepts no NaN or infinite number")
    item: Item = tomlkit.item(value)
    return item


def _replace_surrogates(text: str) -> str:
    """Replaces lone surrogates, which TOML cannot encode, by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _escape_invisible(text: str) -> str:
    """Escapes invisible characters in strings and quoted keys of TOML."""
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04X}", text)
