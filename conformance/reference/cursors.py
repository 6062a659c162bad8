"""Cursors of a search: each names the position at which the next page begins."""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from conformance.reference.call import Answer, Call, JsonObject, JsonValue

if TYPE_CHECKING:
    from conformance.reference.policy import SearchRules

Write = Callable[[Call, int], JsonValue]
"""(call, position) -> the cursor of the page that begins there."""
Read = Callable[[Call, str], int | None]
"""(call, cursor) -> the position; None for a cursor that was never issued."""


@dataclass(frozen=True, slots=True)
class Cursors:
    place: str
    """A JSON pointer in the answer."""
    parameter: str
    write: Write
    read: Read
    at_end: JsonValue = None
    """What the last page has in place of a cursor."""
    is_absent_at_end: bool = True
    """Whether the last page has nothing there."""
    looks_ahead: bool = True
    """Whether a full page is known to be the last one; otherwise its cursor leads to an empty page."""

    def add_to(self, call: Call, answer: Answer, start: int, size: int, total: int) -> Answer:
        """The answer with the cursor of the page after the one that begins at `start`."""
        has_next = start + size < total if self.looks_ahead else start + size <= total
        if not has_next and self.is_absent_at_end:
            return answer
        cursor = self.write(call, start + size) if has_next else self.at_end
        return Answer(_put(answer.value, self.place.split("/")[1:], cursor), answer.status, answer.headers)


def parameter_of(rules: SearchRules) -> str:
    """The query parameter that takes a cursor; empty without cursors."""
    return rules.cursors.parameter if rules.cursors else ""


def _put(value: JsonObject, names: list[str], cursor: JsonValue) -> JsonObject:
    first, *rest = names
    return {**value, first: _put(value.get(first, {}), rest, cursor) if rest else cursor}


def write_text(_call: Call, position: int) -> str:
    """In base64, with every character that a URL must encode."""
    return b64encode(b"\xfb\xef\xff" + b"next:%d" % position).decode()


def read_text(_call: Call, cursor: str) -> int | None:
    try:
        text = b64decode(cursor, validate=True).removeprefix(b"\xfb\xef\xff")
    except (binascii.Error, ValueError):
        return None
    return read_number(_call, text[5:].decode("latin-1")) if text.startswith(b"next:") else None


def write_number(_call: Call, position: int) -> int:
    return position


def read_number(_call: Call, cursor: str) -> int | None:
    return int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) <= 9 else None


def write_bound(call: Call, position: int) -> str:
    """New in each answer, and good for the rest of its query alone."""
    return f"{position}.{call.request_id}.{_digest(call)}"


def read_bound(call: Call, cursor: str) -> int | None:
    position, _, rest = cursor.partition(".")
    return read_number(call, position) if rest.rpartition(".")[2] == _digest(call) else None


def _digest(call: Call) -> str:
    """Of the query without what names a page."""
    without = ("page", parameter_of(call.policy.search))
    pairs = [pair for pair in parse_qsl(call.request.query.decode("latin-1")) if pair[0] not in without]
    return hashlib.sha256(repr(sorted(pairs)).encode()).hexdigest()[:12]
