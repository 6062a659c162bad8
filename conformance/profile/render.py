"""Placeholders in strings: `{cart.id}` is replaced by its value, `{{` and `}}` are literal braces.

`{answer:/data/id}` is the value at a JSON pointer in an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

JsonValue = Any
Scope = Callable[[str], JsonValue] | Mapping[str, JsonValue]

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
ANSWER = "answer:"
"""The beginning of a placeholder for a value of an answer; a JSON pointer follows it."""
_NAME = re.compile(rf"[A-Za-z_][\w-]*(\.[\w-]+)*|{ANSWER}(/([^~/{{}}]|~[01])*)*")


class UnknownPlaceholder(KeyError):
    """A placeholder that the scope does not know; `name` is its dotted name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"unknown placeholder {{{self.name}}}"


class MalformedPlaceholder(ValueError):
    """A brace outside of a well-formed placeholder; `message` describes it without the surrounding text."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(f"{message} in {text!r}")
        self.message = message


class Piece(NamedTuple):
    """Literal text with its braces unescaped, or the dotted name of a placeholder."""

    text: str
    is_placeholder: bool


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple[Piece, ...]:
    """The pieces of a string. Raises MalformedPlaceholder on an unbalanced brace or an invalid name."""
    pieces: list[Piece] = []
    literal = ""
    position = 0
    for match in _TOKEN.finditer(text):
        literal += text[position : match.start()]
        position = match.end()
        token = match.group()
        if token in ("{{", "}}"):
            literal += token[0]
            continue
        pieces += [Piece(literal, False)] if literal else []
        literal = ""
        pieces.append(Piece(_name(token, text), True))
    literal += text[position:]
    return (*pieces, Piece(literal, False)) if literal else tuple(pieces)


def _name(token: str, text: str) -> str:
    name = token[1:-1]
    if len(token) < 2:
        raise MalformedPlaceholder(f"unbalanced {token}", text)
    if not _NAME.fullmatch(name):
        raise MalformedPlaceholder(f"malformed placeholder {token}", text)
    return name


def render(value: JsonValue, scope: Scope) -> JsonValue:
    """Replaces every placeholder of `value` at any depth of objects and arrays, except in names of members.

    A string that is only one placeholder becomes its value, of any type. In a longer string a value that is not a
    string is written as JSON. Raises UnknownPlaceholder, MalformedPlaceholder.
    """
    if isinstance(value, str):
        return _render_text(value, scope)
    if isinstance(value, Mapping):
        return {name: render(item, scope) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [render(item, scope) for item in value]
    return value


def _render_text(text: str, scope: Scope) -> JsonValue:
    pieces = parse(text)
    if len(pieces) == 1 and pieces[0].is_placeholder:
        return _look_up(pieces[0].text, scope)
    return "".join(_as_text(_look_up(p.text, scope)) if p.is_placeholder else p.text for p in pieces)


def _look_up(name: str, scope: Scope) -> JsonValue:
    try:
        return scope[name] if isinstance(scope, Mapping) else scope(name)
    except UnknownPlaceholder:
        raise
    except KeyError as error:
        raise UnknownPlaceholder(name) from error


def render_text(name: str, scope: Scope) -> str:
    """The value of one placeholder, as text in a longer string. Raises UnknownPlaceholder."""
    return _as_text(_look_up(name, scope))


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def placeholders(value: JsonValue) -> frozenset[str]:
    """The dotted names of all placeholders in `value`. Raises MalformedPlaceholder."""
    if isinstance(value, str):
        return frozenset(piece.text for piece in parse(value) if piece.is_placeholder)
    if isinstance(value, Mapping):
        return frozenset[str]().union(*map(placeholders, value.values()))
    if isinstance(value, (list, tuple)):
        return frozenset[str]().union(*map(placeholders, value))
    return frozenset()


def escape(value: JsonValue) -> JsonValue:
    """The template that renders to `value` itself."""
    if isinstance(value, str):
        return value.replace("{", "{{").replace("}", "}}")
    if isinstance(value, Mapping):
        return {name: escape(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [escape(item) for item in value]
    return value


def render_known(text: str, known: Mapping[str, str]) -> str:
    """Fills in the placeholders in `known`; the result is a template for the others. Raises MalformedPlaceholder."""

    def restore(piece: Piece) -> str:
        if not piece.is_placeholder:
            return str(escape(piece.text))
        return str(escape(known[piece.text])) if piece.text in known else f"{{{piece.text}}}"

    return "".join(map(restore, parse(text)))
