"""Turns an answer into the redacted, bounded evidence that is written: Answer -> Exchange -> journal."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from conformance.client.answer import Answer
from conformance.client.journal import Journal
from conformance.client.secrets import WHOLE_HEADERS, Secrets, tells
from conformance.model import Exchange, Finding, Message, to_json

BODY_LIMIT: Final = 8192
HEADER_LIMIT: Final = 2048
HEADER_COUNT: Final = 64

TOLD: Final = ("url", "request", "response", "trouble")
"""The members of an exchange that hold a target's words, or words to it."""

Judge = Callable[[Answer], tuple[tuple[str, ...], tuple[Finding, ...]]]
"""The invariants: which of them looked at an answer, and what they saw."""

current_check: ContextVar[str] = ContextVar("current_check", default="")
"""The check on whose behalf something is sent."""


class Recorder:
    """Writes each exchange once, after the invariants looked at it in full."""

    def __init__(
        self, journal: Journal, secrets: Secrets, judge: Judge, also: Callable[[Answer], None] = lambda _: None
    ) -> None:
        self._journal = journal
        self._secrets = secrets
        self._judge = judge
        self._also = also
        self.count = 0

    def record(self, answer: Answer, retry_of: str = "") -> Exchange:
        judged, findings = self._judge(answer)
        clean = self._secrets.clean
        exchange = Exchange(
            id=answer.id,
            operation=answer.request.operation.id,
            method=answer.request.method or answer.request.operation.method,
            url=clean(answer.url)[:HEADER_LIMIT],
            request=self._message(answer.sent_headers, answer.sent_body, answer.request.credential),
            status=answer.status,
            response=self._message(_hidden(answer.headers), answer.body, truncated=answer.truncated),
            at=round(answer.at, 4),
            duration_ms=round(answer.duration_s * 1000, 3),
            credential=answer.request.credential,
            trouble=clean(answer.trouble)[:HEADER_LIMIT] if answer.trouble else "",
            check=current_check.get(),
            purpose=answer.purpose,
            judged=judged,
            findings=tuple(Finding(f.requirement, f.code, clean(f.message)[:HEADER_LIMIT], f.level) for f in findings),
            retry_of=retry_of,
        )
        self._journal.append("exchange", to_json(exchange))
        self.count += 1
        self._also(answer)
        return exchange

    def _message(
        self, headers: tuple[tuple[str, str], ...], body: bytes, credential: str = "", truncated: bool = False
    ) -> Message:
        text = self._body(body)
        cut = len(text) > BODY_LIMIT or len(body) > BODY_LIMIT
        shown = tuple(
            (self._secrets.clean_word(name)[:HEADER_LIMIT], self._header(name, value, credential))
            for name, value in headers[:HEADER_COUNT]
        )
        return Message(shown, text[:BODY_LIMIT], len(body), truncated or cut)

    def _body(self, body: bytes) -> str:
        """A little more than what is written, cleaned: a secret that is cut in two would not be known as one."""
        margin = 4 * max(self._secrets.longest, 256)
        text = self._secrets.clean(body[: BODY_LIMIT + margin].decode("utf-8", "backslashreplace"))
        return text if len(body) <= BODY_LIMIT + margin else text[: max(0, len(text) - margin)]

    def _header(self, name: str, value: str, credential: str) -> str:
        if name.lower() in WHOLE_HEADERS:
            return f"«credential:{credential}»" if credential and name.lower() == "authorization" else "«redacted»"
        return self._secrets.clean_word(value)[:HEADER_LIMIT]


def _hidden(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """A target's headers without the values that are secrets by their name, such as X-Auth-Token."""
    return tuple((name, "«redacted»" if tells(name) else value) for name, value in headers)
