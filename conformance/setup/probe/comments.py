"""The comments of a TOML text by the keys that they are about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import tomlkit
from tomlkit.items import AoT, Comment, Null, Table, Whitespace

Key = tuple[str | int, ...]
"""Names of tables and keys; an index in an array of tables."""
_END: Final[Key] = ("",)
"""The key of comments at the end of the file: no table has this name."""
_TOKENS: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"""|' r"'''.*?'''|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|" r"(#[^\n]*)", re.DOTALL
)
"""Strings, in which `#` begins no comment, and comments."""


@dataclass(frozen=True)
class CommentLine:
    """One comment, with its `#`. `is_behind`: it stands on the line of its key or header."""

    key: Key
    """Empty: at the top of the file, before a blank line. `("",)`: at its end."""
    text: str
    is_behind: bool = False


@dataclass
class Comments:
    """Comments, each of which is taken once."""

    lines: list[CommentLine] = field(default_factory=list)

    def take(self, selects: Callable[[CommentLine], bool]) -> list[str]:
        """Removes and returns the texts of the selected comments, in their order."""
        selected = [line for line in self.lines if selects(line)]
        self.lines = [line for line in self.lines if not selects(line)]
        return [line.text for line in selected]

    def take_above(self, key: Key) -> list[str]:
        """Those that stand above a header, or above a header of one of its parents."""
        return self.take(lambda line: not line.is_behind and line.key == key[: len(line.key)] and bool(line.key))

    def take_behind(self, key: Key) -> str:
        return " ".join(self.take(lambda line: line.is_behind and line.key == key))

    def take_within(self, key: Key) -> list[str]:
        """Those about a key or about what its value holds, unless they stand behind the key itself."""
        return self.take(lambda line: line.key[: len(key)] == key and not (line.is_behind and line.key == key))

    def take_rest(self) -> list[str]:
        return self.take(lambda _: True)


def read_comments(text: str) -> Comments:
    """The comments of a valid TOML text. A comment line is about the key or header that follows it."""
    lines: list[CommentLine] = []
    above: list[str] = []
    for key, item in _items(tomlkit.parse(text).body, ()):
        if isinstance(item, Whitespace):
            if not lines and above and "\n" in item.as_string():
                lines += [CommentLine((), comment) for comment in above]
                above = []
            continue
        if isinstance(item, Comment):
            above.append(item.trivia.comment)
            continue
        lines += [CommentLine(key, comment) for comment in above]
        above = []
        if not isinstance(item, (Table, AoT)):
            inner = (match[1] for match in _TOKENS.finditer(item.as_string()) if match[1])
            lines += [CommentLine(key, comment.rstrip()) for comment in inner]
        if item.trivia.comment:
            lines.append(CommentLine(key, item.trivia.comment, is_behind=True))
    return Comments([*lines, *(CommentLine(_END, comment) for comment in above)])


def _items(body: list[Any], prefix: Key) -> Iterator[tuple[Key, Any]]:
    """Keys, headers, comments and blank lines in their order in the file."""
    for name, item in body:
        if isinstance(item, Null):
            continue
        key = (*prefix, name.key) if name is not None else prefix
        if isinstance(item, AoT):
            for index, table in enumerate(item.body):
                yield (*key, index), table
                yield from _items(table.value.body, (*key, index))
        elif isinstance(item, Table):
            if not item.is_super_table():
                yield key, item
            yield from _items(item.value.body, key)
        else:
            yield key, item
