"""A body as lines for people: JSON is indented, and each line has the place of the value that begins on it.

Only white space changes; numbers, escapes and repeated members do not. The part that remains of a truncated body is
indented too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from conformance.core.model import Message

MAX_LINES: Final = 1_500
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_INDENT: Final = "  "
_CLOSING: Final = {"{": "}", "[": "]"}


class Line(NamedTuple):
    """One line, and the JSON pointer of the value that begins or ends on it; empty for the whole body."""

    text: str
    place: str = ""


class _OutOfPlace(Exception):
    """The parts are not JSON."""


@dataclass
class _Open:
    """An object or array that is being read."""

    bracket: str
    place: str
    member: str = ""
    index: int = 0
    awaits_name: bool = True

    @property
    def next_place(self) -> str:
        name = self.member if self.bracket == "{" else str(self.index)
        return f"{self.place}/{name.replace('~', '~0').replace('/', '~1')}"


@dataclass
class _Layout:
    lines: list[Line] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    text: str = ""
    place: str = ""

    def end_line(self) -> None:
        if self.text.strip():
            self.lines.append(Line(self.text, self.place))
        self.text = _INDENT * len(self.stack)
        self.place = self.stack[-1].place if self.stack else ""

    def add(self, part: str) -> None:
        if "\n" in part or "\r" in part:
            raise _OutOfPlace
        if part in "{[":
            self._begin_value()
            self.text += part
            self.stack.append(_Open(part, self.place))
            self.end_line()
        elif part in "}]":
            self._close(part)
        elif part == ",":
            self._separate()
        elif part == ":":
            self.text += ": "
        else:
            self._add_scalar(part)

    def _begin_value(self) -> None:
        if self.stack:
            self.place = self.stack[-1].next_place

    def _close(self, part: str) -> None:
        if not self.stack or _CLOSING[self.stack[-1].bracket] != part:
            raise _OutOfPlace
        bracket = self.stack.pop().bracket
        is_empty = not self.text.strip() and self.lines and self.lines[-1].text.endswith(bracket)
        if is_empty:
            self.text, self.place = self.lines.pop()
            self.text += part
            return
        self.end_line()
        self.text += part

    def _separate(self) -> None:
        if not self.stack:
            raise _OutOfPlace
        self.text += ","
        self.end_line()
        self.stack[-1].index += 1
        self.stack[-1].awaits_name = True

    def _add_scalar(self, part: str) -> None:
        if self.stack and self.stack[-1].bracket == "{" and self.stack[-1].awaits_name:
            self.stack[-1].member, self.stack[-1].awaits_name = _name(part), False
        self._begin_value()
        self.text += part


def lines_of(message: Message) -> tuple[Line, ...]:
    """The lines of a message's body; none for an empty one."""
    body = message.body
    if not body:
        return ()
    if body.lstrip()[:1] in ("{", "[") and (message.truncated or _is_json(body)):
        try:
            return tuple(_first_lines(_layout_lines(body)))
        except _OutOfPlace:
            pass
    return tuple(_first_lines([Line(text) for text in body.splitlines()]))


def _layout_lines(body: str) -> list[Line]:
    layout = _Layout()
    for found in _TOKEN.finditer(body):
        layout.add(found[0])
        if len(layout.lines) > MAX_LINES:
            break
    layout.end_line()
    return layout.lines


def _first_lines(lines: list[Line]) -> Iterator[Line]:
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield Line("…")


def _is_json(body: str) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _name(part: str) -> str:
    try:
        return str(json.loads(part))
    except ValueError:
        return part.strip('"')
