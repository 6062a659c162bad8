"""The text of a profile: problems with their key and line."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance.core.errors import ProfileError

Key = tuple[str | int, ...]
_TOKEN = re.compile(
    r""""{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'|#[^\n]*|[^\s"'#\[\]{}]+|[\[\]{}\n]""",
    re.DOTALL,
)
"""A string, a comment, a word, a bracket or the end of a line."""
_OPENING, _CLOSING = frozenset("[{"), frozenset("]}")
_HEADER = re.compile(r"\s*(\[\[?)")
_MAX_LISTED = 12
_LINES_DEPTH = 2
_MAX_BYTES = 16_000_000
_MAX_LINES = 2_000
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SIDE = 600
"""Characters of either end of a long text."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem at `key`, and a hint what to do."""

    key: Key
    message: str
    hint: str = ""


def format_key(key: Key) -> str:
    """`credentials.full.scopes[0]`"""
    parts = (
        f"[{k}]" if isinstance(k, int) else f".{k if _BARE.fullmatch(k) else json.dumps(k, ensure_ascii=False)}"
        for k in key
    )
    return "".join(parts).removeprefix(".")


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A hint: the most similar candidate; empty without one."""
    folded = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[close[0]]}?" if close else ""


def nearest(name: str, candidates: Iterable[str]) -> str:
    """A hint: the most similar candidate, or else all of them if there are few."""
    known = list(candidates)
    listed = f"one of: {', '.join(known)}" if 0 < len(known) <= _MAX_LISTED else ""
    return did_you_mean(name, known) or listed


def raise_first(problems: Iterable[Problem], document: Mapping[str, Any], path: Path | None, text: str) -> None:
    """Raises the first of the problems, in the order of the file, as a ProfileError, if there is one."""
    found = list(problems)
    if not found:
        return
    lines = _lines(text)
    first = min(found, key=lambda p: (_line(lines, p.key), _position(document, p.key)))
    number = _line(lines, first.key)
    file = "" if path is None else f"{path}:{number}" if number else f"{path}"
    where = ": ".join(part for part in (file, format_key(first.key)) if part)
    raise ProfileError(_one_line(first.message), where=_one_line(where), hint=_one_line(first.hint))


def _one_line(text: str) -> str:
    """Printable, and without the middle of a very long value, whose place is named anyway."""
    if (excess := len(text) - 2 * _SIDE) > 0:
        text = f"{text[:_SIDE]}… ({excess:,} more characters) …{text[-_SIDE:]}"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def read_toml(path: Path, missing: str = "--profile takes the path of a TOML file") -> tuple[str, dict[str, Any]]:
    """The text and the document. Raises ProfileError where the file cannot be read or is not TOML."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ProfileError(f"has more than {_MAX_BYTES:,} bytes", where=str(path), hint=missing)
        text = data.decode("utf-8-sig").replace("\r\n", "\n")  # Windows writes both
    except UnicodeDecodeError as error:
        raise ProfileError("is not UTF-8", where=str(path)) from error
    except OSError as error:
        hint = missing if isinstance(error, FileNotFoundError) else ""
        raise ProfileError(f"cannot be read: {error.strerror}", where=str(path), hint=hint) from error
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, line = _split_toml_error(str(error))
        message += _overwritten_key(message, text, line)
        raise ProfileError(f"is not valid TOML: {message}", where=f"{path}:{line}" if line else str(path)) from error
    except ValueError as error:  # an integer of thousands of digits
        raise ProfileError("has a number that is too long", where=str(path)) from error
    except RecursionError as error:
        raise ProfileError("is nested too deeply", where=str(path)) from error


def _split_toml_error(message: str) -> tuple[str, str]:
    match = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", message, re.DOTALL)
    text, line = (match[1], match[2]) if match else (message, "")
    return text[:1].lower() + text[1:], line


def _overwritten_key(message: str, text: str, line: str) -> str:
    """Which key is stated twice, where the parser says no more than that a value is overwritten."""
    lines = text.split("\n")
    if message != "cannot overwrite a value" or not line or not 0 < int(line) <= len(lines):
        return ""
    match = re.match(r"""\s*((?:[A-Za-z0-9_.-]|"[^"]*"|'[^']*'|\s)+?)\s*=""", lines[int(line) - 1])
    return f": {match[1]} is stated twice" if match else ""


def _line(lines: Mapping[Key, int], key: Key) -> int:
    for length in range(len(key), 0, -1):
        if key[:length] in lines:
            return lines[key[:length]]
    return 0


def _position(document: Any, key: Key) -> tuple[int, ...]:
    position: list[int] = []
    for part in key:
        if isinstance(document, Mapping) and part in document:
            position.append(list(document).index(str(part)))
            document = document[part]
        elif isinstance(document, list) and isinstance(part, int):
            position.append(part)
            document = document[part]
    return tuple(position)


def key_lines(path: Path | None) -> dict[str, int]:
    """The line of each table of a profile and of the keys in it, `search.page_base`; empty if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8-sig") if path else ""
        return dict(_key_lines(text))
    except (OSError, ValueError):
        return {}


@lru_cache(maxsize=4)
def _key_lines(text: str) -> tuple[tuple[str, int], ...]:
    short = [(format_key(key), line) for key, line in _lines(text).items() if len(key) <= _LINES_DEPTH]
    return tuple(short[:_MAX_LINES])


def _lines(text: str) -> dict[Key, int]:
    """The line of each key, one-based."""
    found: dict[Key, int] = {}
    arrays: dict[Key, int] = {}
    table: Key = ()
    for number, statement in _statements(text):
        header = _HEADER.match(statement)
        names = _first_path(tomllib.loads(statement))
        if header:
            table = _table(names, arrays, is_array=header[1] == "[[")
            for depth in range(1, len(table) + 1):
                found.setdefault(table[:depth], number)
            continue
        for depth in range(1, len(names) + 1):
            found.setdefault(table + names[:depth], number)
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The headers and the pairs of a valid document, with their first lines. A value may have several lines."""
    start, number, begins_at, depth = 0, 1, 0, 0
    for token in _TOKEN.finditer(f"{text}\n"):
        kind = token[0]
        if kind == "\n" and not depth:
            if start:
                yield start, text[begins_at : token.end()]
            start, begins_at = 0, token.end()
        elif kind[0] not in "#\n":
            start = start or number
            depth += (kind in _OPENING) - (kind in _CLOSING)
        number += kind.count("\n")


def _first_path(value: Any) -> Key:
    path: Key = ()
    while isinstance(value, dict) and len(value) == 1:
        name, value = next(iter(value.items()))
        path += (name,)
    return path


def _table(names: Key, arrays: dict[Key, int], *, is_array: bool) -> Key:
    path: Key = ()
    for depth, name in enumerate(names, 1):
        path += (name,)
        if is_array and depth == len(names):
            arrays[path] = arrays.get(path, -1) + 1
        if path in arrays:
            path += (arrays[path],)
    return path
