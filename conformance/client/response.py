"""The complete answer to one request, in memory: for checks and invariants, never written to a file."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from conformance.client.request import Request
from conformance.core import strict_json as strictjson
from conformance.core.model import STATUSES

GATEWAY: Final = frozenset({502, 503, 504})
"""Statuses that a gateway may answer for the target; such answers are retried before they are judged."""

LAST_ATTEMPT: Final = "never answered, while its control is"
"""The purpose of the last attempt at a call that was lost each time, right after its operation's control was answered:
an answer is due."""
ON_USED_CONNECTION: Final = "on the connection of refused calls"
"""The purpose of calls by which it is found whether the rest of one call is answered as the next one."""


class NoValue:
    """The value of a body that cannot be parsed as JSON."""

    def __repr__(self) -> str:
        return "NO_VALUE"

    def __bool__(self) -> bool:
        return False


NO_VALUE: Final = NoValue()


class AnswerRef(NamedTuple):
    """A reference to an answer, for counting: a check may get thousands."""

    id: str
    possibly_applied: bool


class Answer(msgspec.Struct, frozen=True, dict=True, weakref=True):
    """One exchange. `status` is None where no answer could be read, and `trouble` then says why."""

    id: str
    request: Request
    url: str
    sent_headers: tuple[tuple[str, str], ...]
    sent_body: bytes
    status: int | None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    truncated: bool = False
    is_discarded: bool = False
    """It was read to its end, and cut off because the run had no memory for all of it."""
    trouble: str = ""
    at: float = 0.0
    duration_s: float = 0.0
    purpose: str = ""
    nonce: str = ""
    """The DPoP nonce of its proof."""
    possibly_applied: bool = False
    """An earlier attempt met gateway trouble and the request is not repeatable: it may have taken effect before."""
    follows_loss: bool = False
    """An earlier attempt met gateway trouble, whether the request is repeatable or not."""

    def __repr__(self) -> str:
        """Without headers and bodies, which may hold secrets."""
        return f"Answer({self.id!r}, {self.url!r}, {self.status!r})"

    @property
    def ok(self) -> bool:
        return self.status == 200

    @property
    def has_declared_status(self) -> bool:
        return self.status in STATUSES

    @property
    def is_refused(self) -> bool:
        """Whether it was answered with any 4xx other than 429."""
        return self.status is not None and 400 <= self.status < 500 and self.status != 429

    @property
    def gateway_trouble(self) -> bool:
        return self.status is None or self.status in GATEWAY

    def header(self, name: str) -> str | None:
        """The first header of that name; names are compared case-insensitively."""
        lower = name.lower()
        return next((value for header_name, value in self.headers if header_name.lower() == lower), None)

    @property
    def fresh_nonce(self) -> str:
        """The nonce that the server supplies for further proofs (RFC 9449 section 8); empty without one."""
        nonce = self.header("DPoP-Nonce") or ""
        return nonce if len(nonce) < 1024 else ""

    @cached_property
    def _parse_result(self) -> tuple[Any, str, bool]:
        """The value, the strict parser's error, and whether the body exceeds a limit. Parsed once."""
        if self.truncated:
            return NO_VALUE, "it is cut off", True
        try:
            return strictjson.parse(self.body), "", False
        except strictjson.JsonLimitError:
            return NO_VALUE, "", True
        except strictjson.JsonError as error:
            strict_error = str(error)
        try:
            return strictjson.parse_leniently(self.body), strict_error, False
        except strictjson.JsonLimitError:
            return NO_VALUE, strict_error, True
        except strictjson.JsonError:
            return NO_VALUE, strict_error, False

    @property
    def strict_error(self) -> str:
        """Why the body is not RFC 8259 JSON; empty where it is, or where nothing is known."""
        return self._parse_result[1]

    @property
    def value(self) -> Any:
        """The JSON value as a lenient parser reads it, or NO_VALUE."""
        return self._parse_result[0]

    @property
    def is_unread(self) -> bool:
        """Whether the body exceeds the parser's limits of depth or size, or was cut off: nothing is known about it."""
        return self._parse_result[2]

    @property
    def first_character(self) -> str:
        """The first character of the body's value; it tells an object from an array."""
        return self.body.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1].decode("latin-1")

    @property
    def without_body(self) -> Answer:
        """The answer without its body, to save memory."""
        return msgspec.structs.replace(self, body=b"")

    @property
    def ref(self) -> AnswerRef:
        return AnswerRef(self.id, self.possibly_applied)

    @property
    def data(self) -> Any:
        """The envelope's `data`, or NO_VALUE."""
        return self.value.get("data", NO_VALUE) if isinstance(self.value, dict) else NO_VALUE

    @property
    def summary(self) -> str:
        """For a message: the status, or what went wrong."""
        return str(self.status) if self.status is not None else f"no answer ({self.trouble})"
