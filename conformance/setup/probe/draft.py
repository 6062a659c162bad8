"""A drafted profile: facts with their evidence, notes, and TODOs for facts that the user must provide."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any, Final, TypeGuard

import tomlkit
from tomlkit.items import Item

from conformance.client.redaction.secrets import Secrets
from conformance.setup.probe.comments import CommentLine, Comments

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
    "answers",
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
    "cleanup",
    "webhooks",
    "rate_limit",
    "oauth",
    "revocation",
    "waivers",
)
"""The tables, in the order of `profiles/template.toml`."""
_INVISIBLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Control and formatting characters that TOML allows, but a terminal or an editor would interpret."""
_NESTED_LEVELS: Final = {"credentials": 1, "operations": 1, "effects": 1, "cleanup": 1, "fixtures": 2}
"""Tables of tables, with the number of levels of names."""


@dataclass
class Todo:
    """A fact that the user must provide."""

    line: str
    """The TOML to complete; empty: none."""
    reasons: list[str]
    operations: list[str]
    """The operations that need it."""

    @property
    def text(self) -> str:
        few = ", ".join(self.operations[:3])
        more = f" and {len(self.operations) - 3} more" if len(self.operations) > 3 else ""
        reason = "; ".join(self.reasons) + (f", for {few}{more}" if few else "")
        return f"{self.line}  # TODO {reason}" if self.line else f"TODO {reason}"


@dataclass
class Draft:
    """The content of a profile. `facts` is the document as `tomllib` returns it.

    Notes and TODOs belong to a table, or to one table in it, as `operations.checkoutPublicCart`.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    user_facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the user, which probe results never replace."""
    source: str = ""
    """Their source, for the comments."""
    other_sources: Mapping[Key, str] = field(default_factory=dict)
    """Facts of the user from another source -> that source."""
    comments: Comments = field(default_factory=Comments)
    """Comments of the user."""
    evidence: dict[Key, str] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    """Observations without a key in the profile, by table."""
    todos: dict[str, list[Todo]] = field(default_factory=dict)
    """By table."""

    def __post_init__(self) -> None:
        self.facts = merge_facts(self.facts, self.user_facts)

    def is_stated(self, *key: str) -> bool:
        """Whether the user stated the key."""
        return has_key(self.user_facts, key)

    def has(self, *key: str) -> bool:
        return has_key(self.facts, key)

    def get(self, *key: str) -> Any:
        """The value of the key, or None; also None where it is excluded."""
        value: Any = self.facts
        for name in key:
            value = value.get(name) if isinstance(value, Mapping) else None
        return None if _is_exclusion(value) else value

    def state(self, key: Key, value: Any, evidence: str) -> None:
        """Sets a fact. If the user stated another value, that one stays and the observed value becomes a note."""
        if self.is_stated(*key) and not self.is_excluded(*key):
            if self.get(*key) != value:
                self.note(key[0], f"{'.'.join(key)} keeps your value; observed: {format_value(value)} ({evidence})")
            return
        if self.is_excluded(*key):
            self.note(key[0], f"{'.'.join(key)} stays excluded; observed: {format_value(value)} ({evidence})")
            return
        if _has_placeholder(value):
            self.note(key[0], f"{'.'.join(key)} was not stated: the observed value contains a placeholder")
            return
        table = self.facts
        for name in key[:-1]:
            table = table.setdefault(name, {})
        table[key[-1]] = value
        self.evidence[key] = evidence

    def is_excluded(self, *key: str) -> bool:
        """Whether the user excluded the key, or a table that holds it."""
        return any(has_key(self.user_facts, (*key[:length], "none")) for length in range(1, len(key) + 1))

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

    def todo(self, table: str, line: str, reason: str, operation: str = "") -> None:
        """Adds a TODO. One with the same line is there once, with all reasons and operations."""
        entries = self.todos.setdefault(table, [])
        todo = next((entry for entry in entries if entry.line == line and (line or reason in entry.reasons)), None)
        if todo is None:
            todo = Todo(line, [], [])
            entries.append(todo)
        todo.reasons += [reason] if reason not in todo.reasons else []
        todo.operations += [operation] if operation and operation not in todo.operations else []

    def drop_todo(self, table: str, line: str) -> None:
        """Removes a TODO: the fact was found."""
        self.todos[table] = [todo for todo in self.todos.get(table, ()) if todo.line != line]
        if not self.todos[table]:
            del self.todos[table]

    def redact(self, secrets: Secrets, credentials: Secrets) -> None:
        """Redacts all secrets before serialization, so that the text stays valid TOML.

        In facts of the user only credentials are redacted: secrets of their fixtures, such as tickets, are needed.
        """
        self.facts = merge_facts(secrets.redact_json(self.facts), credentials.redact_json(dict(self.user_facts)))
        self.evidence = {key: secrets.clean(reason) for key, reason in self.evidence.items()}
        self.notes = {table: list(map(secrets.clean, notes)) for table, notes in self.notes.items()}
        for todo in (todo for entries in self.todos.values() for todo in entries):
            todo.line, todo.reasons = secrets.clean(todo.line), list(map(secrets.clean, todo.reasons))
        self.comments = Comments(
            [CommentLine(line.key, credentials.clean(line.text), line.is_behind) for line in self.comments.lines]
        )

    @property
    def todo_count(self) -> int:
        """The number of TODOs, those in the evidence of a fact included."""
        return sum(map(len, self.todos.values())) + len(
            {(key[:-1], text) for key, text in self.evidence.items() if text.startswith("TODO")}
        )

    def to_toml(self, head: Iterable[str]) -> str:
        """The profile as TOML. `head` contains the comment lines at the top."""
        comments = Comments(list(self.comments.lines))
        lines = [format_comment(line) if line else "#" for line in head]
        if own_head := comments.take(lambda line: not line.key):
            lines += ["", *map(_clean_comment, own_head)]
        plain = {name: value for name, value in self.facts.items() if name not in _TABLE_ORDER}
        lines += ["", *self._key_lines((), plain, comments)]
        for table in _TABLE_ORDER:
            lines += list(self._table_lines(table, comments))
        return "\n".join([*lines, *map(_clean_comment, comments.take_rest())]) + "\n"

    def _table_lines(self, table: str, comments: Comments) -> Iterator[str]:
        value = self.facts.get(table)
        names = {name for name in (*self.notes, *self.todos) if name.partition(".")[0] == table}
        if not value and not names:
            return
        yield ""
        yield from map(format_comment, self.notes.get(table, ()))
        if _is_table_array(value):
            yield from self._array_lines((table,), value, comments)
        elif table in _NESTED_LEVELS:
            yield from self._nested_lines((table,), value or {}, _NESTED_LEVELS[table], comments)
        elif value is not None:
            yield from self._header_and_lines((table,), value, comments)
        elif self.todos.get(table):
            yield f"# [{format_key(table)}]"
        if value and table in _NESTED_LEVELS and self.todos.get(table):
            yield ""  # they are not about the last table in it
        yield from (format_comment(todo.text) for todo in self.todos.get(table, ()))
        for name in sorted(names - {table}):
            if not self.has(*name.split(".")):
                yield from ("", f"# [{name}]", *self._remark_lines(name))

    def _remark_lines(self, table: str) -> Iterator[str]:
        """The notes and TODOs of a table within another one."""
        yield from map(format_comment, self.notes.get(table, ()))
        yield from (format_comment(todo.text) for todo in self.todos.get(table, ()))

    def _array_lines(self, key: Key, entries: list[Mapping[str, Any]], comments: Comments) -> Iterator[str]:
        yield format_comment(self._evidence_of(key))
        for index, entry in enumerate(entries):
            place: tuple[str | int, ...] = (*key, index)
            yield from map(_clean_comment, comments.take_above(place))
            yield _with_comment(f"[[{'.'.join(map(format_key, key))}]]", comments.take_behind(place))
            for name, value in entry.items():
                yield from map(_clean_comment, comments.take_within((*place, name)))
                line = f"{format_key(name)} = {format_value(value)}"
                yield _with_comment(line, comments.take_behind((*place, name)))
            yield ""

    def _nested_lines(self, key: Key, value: Mapping[str, Any], depth: int, comments: Comments) -> Iterator[str]:
        tables = {name: part for name, part in value.items() if isinstance(part, Mapping) or _is_table_array(part)}
        if facts := {name: part for name, part in value.items() if name not in tables}:  # none = "reason"
            yield from self._header_and_lines(key, facts, comments)
        for index, (name, part) in enumerate(tables.items()):
            yield from ("",) if index or facts else ()
            place = (*key, name)
            if isinstance(part, list):  # several signs of one operation
                yield from self._array_lines(place, part, comments)
            elif depth > 1:
                yield from self._nested_lines(place, part, depth - 1, comments)
            else:
                yield from self._header_and_lines(place, part, comments)
            yield from self._remark_lines(".".join(place))

    def _header_and_lines(self, key: Key, table: Mapping[str, Any], comments: Comments) -> Iterator[str]:
        """A header and its lines. Evidence of the whole table stands above the header, once."""
        shared = {self._evidence_of((*key, name)) for name in table}
        is_shared = len(shared) == 1 and not self.evidence.keys() & {(*key, name) for name in table}
        yield from map(_clean_comment, comments.take_above(key))
        if is_shared and any(shared):
            yield format_comment(shared.pop())
        yield _with_comment(f"[{'.'.join(map(format_key, key))}]", comments.take_behind(key))
        yield from self._key_lines(key, table, comments, has_evidence=not is_shared)

    def _key_lines(
        self, key: Key, table: Mapping[str, Any], comments: Comments, *, has_evidence: bool = True
    ) -> Iterator[str]:
        """Yields `key = value  # evidence`, with the comments above where the line would be too long."""
        for name, value in table.items():
            place = (*key, name)
            yield from map(_clean_comment, comments.take_within(place))
            line = f"{format_key(name)} = {format_value(value)}"
            evidence = self._evidence_of(place) if has_evidence else ""
            user_part = _clean_comment(comments.take_behind(place))
            remarks = [remark for remark in (user_part, format_comment(evidence) if evidence else "") if remark]
            if len("  ".join([line, *remarks])) <= _WIDTH:
                yield "  ".join([line, *remarks])
            else:
                yield from (*remarks, line)

    def _evidence_of(self, key: Key) -> str:
        """What a fact rests on: the user's word for what the user stated, and what was observed of the rest."""
        below = [text for place, text in self.evidence.items() if place[: len(key)] == key]
        observed = self.evidence.get(key) or "; ".join(dict.fromkeys(below))
        if not self.is_stated(*key):
            return observed
        user_part = _get(self.user_facts, key)
        is_part = isinstance(user_part, Mapping) and user_part != _get(self.facts, key)
        names = f"{', '.join(user_part)} " if is_part else ""
        return "; ".join(filter(None, (names + self._source_of(key), observed)))

    def _source_of(self, key: Key) -> str:
        """`stated in known.toml`"""
        for length in range(len(key), 0, -1):
            if source := self.other_sources.get(key[:length]):
                return source
        return f"stated in {self.source}" if self.source else "stated"


def _is_exclusion(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("none"), str)


def _has_placeholder(value: Any) -> bool:
    """Whether an observed value contains a placeholder that a profile would expand."""
    return any(word in str(value) for word in ("{env.", "{var."))


def _is_table_array(value: Any) -> TypeGuard[list[Mapping[str, Any]]]:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _get(value: Any, key: Key) -> Any:
    for name in key:
        value = value[name]
    return value


def has_key(value: Any, key: Key) -> bool:
    for name in key:
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return True


def merge_facts(facts: Mapping[str, Any], user_facts: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `facts` with those of the user, which come first where both state one."""
    merged = dict(facts)
    for name, value in user_facts.items():
        current = merged.get(name)
        are_tables = isinstance(value, Mapping) and isinstance(current, Mapping)
        merged[name] = merge_facts(current, value) if are_tables else _copy_tables(value)  # type: ignore[arg-type]
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


def _clean_comment(text: str) -> str:
    """A comment of the user on one line, its spaces unchanged."""
    return _INVISIBLE.sub(" ", _replace_surrogates(text)).rstrip()


def _with_comment(line: str, comment: str) -> str:
    return f"{line}  {comment}" if comment else line


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
