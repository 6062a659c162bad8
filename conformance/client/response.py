"""What came back for one request, in full and in memory: what checks and invariants look at, never what is written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

from conformance.client.request import Request
from conformance.core import strict_json as strictjson
from conformance.core.model import STATUSES

GATEWAY: Final = frozenset({502, 503, 504})
"""What stands between may answer these for the target; they are retried before anybody judges them."""


class NoValue:
    """The body is no JSON by any reading."""

    def __repr__(self) -> str:
        return "NO_VALUE"

    def __bool__(self) -> bool:
        return False


NO_VALUE: Final = NoValue()


class Counted(NamedTuple):
    """An answer for whoever only counts and names answers: a check may get thousands."""

    id: str
    doubtful: bool


@dataclass(frozen=True)
class Answer:
    """One exchange as it happened. `status` is None where no answer could be read, and then `trouble` says why."""

    id: str
    request: Request
    url: str
    sent_headers: tuple[tuple[str, str], ...] = field(repr=False)
    sent_body: bytes = field(repr=False)
    status: int | None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    truncated: bool = False
    trouble: str = ""
    at: float = 0.0
    duration_s: float = 0.0
    purpose: str = ""
    nonce: str = ""
    """The DPoP nonce that its proof was made with."""
    doubtful: bool = False
    """An earlier answer to it was lost, and it is none that may be repeated: it may have taken effect before."""

    @property
    def ok(self) -> bool:
        return self.status == 200

    @property
    def declared(self) -> bool:
        return self.status in STATUSES

    @property
    def refused(self) -> bool:
        """Turned down, by whatever 4xx that is no rate limit."""
        return self.status is not None and 400 <= self.status < 500 and self.status != 429

    @property
    def gateway_trouble(self) -> bool:
        return self.status is None or self.status in GATEWAY

    def header(self, name: str) -> str | None:
        """The first header of that name, in whatever case."""
        lower = name.lower()
        return next((value for known, value in self.headers if known.lower() == lower), None)

    @cached_property
    def _reading(self) -> tuple[Any, str, bool]:
        """The value, why it is none by the letter, and whether it is beyond what is read. Read once, if it can be."""
        if self.truncated:
            return NO_VALUE, "it is cut off", False
        try:
            return strictjson.parse(self.body), "", False
        except strictjson.Unread:
            return NO_VALUE, "", True
        except strictjson.JsonError as error:
            strict_error = str(error)
        try:
            return strictjson.parse_leniently(self.body), strict_error, False
        except strictjson.Unread:
            return NO_VALUE, strict_error, True
        except strictjson.JsonError:
            return NO_VALUE, strict_error, False

    @property
    def strict_error(self) -> str:
        """Why the body is no RFC 8259 text; empty where it is one, or where nothing is known."""
        return self._reading[1]

    @property
    def value(self) -> Any:
        """The JSON value that a forgiving reader sees, or NO_VALUE."""
        return self._reading[0]

    @property
    def unread(self) -> bool:
        """Nested so deeply, or of so many values, that nothing is known of the body, not even that it is no JSON."""
        return self._reading[2]

    @property
    def begins(self) -> str:
        """The first character of the body's value: what it must be an object, or an array, by."""
        return self.body.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1].decode("latin-1")

    @property
    def slim(self) -> Answer:
        """The same without its body."""
        return replace(self, body=b"")

    @property
    def counted(self) -> Counted:
        return Counted(self.id, self.doubtful)

    @property
    def data(self) -> Any:
        """The envelope's `data`, or NO_VALUE."""
        return self.value.get("data", NO_VALUE) if isinstance(self.value, dict) else NO_VALUE

    @property
    def summary(self) -> str:
        """For a message: the status, or what went wrong."""
        return str(self.status) if self.status is not None else f"no answer ({self.trouble})"
