"""Turns an answer into the redacted, bounded evidence that is written: Answer -> Exchange -> journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from typing import Final, NamedTuple

from conformance.client.redaction.secrets import WHOLE_HEADERS, Secrets, tells, without_tail
from conformance.client.response import Answer
from conformance.core.model import Exchange, Finding, Message
from conformance.journal.journal import Journal
from conformance.journal.lines import ExchangeRecorded

BODY_LIMIT: Final = 8192
HEADER_LIMIT: Final = 2048
HEADER_COUNT: Final = 64

Judge = Callable[[Answer], tuple[tuple[str, ...], tuple[Finding, ...]]]
"""The invariants: which of them looked at an answer, and what they saw."""

current_check: ContextVar[str] = ContextVar("current_check", default="")
"""The check on whose behalf something is sent."""


class Recorder:
    """Writes each exchange once, after the invariants looked at it in full."""

    def __init__(
        self,
        journal: Journal,
        secrets: Secrets,
        judge: Judge,
        also: Callable[[Answer], None] = lambda _: None,
        watch: Callable[[Exchange], None] = lambda _: None,
    ) -> None:
        self._journal = journal
        self._secrets = secrets
        self._judge = judge
        self._also = also
        self._watch = watch
        self.count = 0

    def record(self, answer: Answer, retry_of: str = "") -> Exchange:
        judged, findings = self._judge(answer)
        url, request, response = "", _UNSAID, _UNSAID
        if self._journal.evidence:
            url = answer.url
            request = self._drafted(answer.sent_headers, answer.sent_body, answer.request.credential)
            response = self._drafted(_hidden(answer.headers), answer.body, truncated=answer.truncated)
        told = [url, *(finding.message for finding in findings)]
        clean = self._secrets.cleaner([*filter(None, told), *request.texts(), *response.texts()])
        exchange = Exchange(
            id=answer.id,
            operation=answer.request.operation.id,
            method=answer.request.method or answer.request.operation.method,
            url=clean(url)[:HEADER_LIMIT],
            request=request.message(clean),
            status=answer.status,
            response=response.message(clean),
            at=round(answer.at, 4),
            duration_ms=round(answer.duration_s * 1000, 3),
            credential=answer.request.credential,
            trouble=self._secrets.excerpt(answer.trouble, HEADER_LIMIT, self._secrets.clean_torn),
            check=current_check.get(),
            purpose=answer.purpose,
            judged=judged,
            findings=tuple(
                Finding(f.requirement, f.code, self._secrets.excerpt(f.message, HEADER_LIMIT, clean), f.level)
                for f in findings
            ),
            retry_of=retry_of,
        )
        self._journal.append(ExchangeRecorded(exchange))
        self.count += 1
        self._also(answer)
        self._watch(exchange)
        return exchange

    def _drafted(
        self, headers: tuple[tuple[str, str], ...], body: bytes, credential: str = "", truncated: bool = False
    ) -> _Draft:
        """A little more of the body than is written: a secret that is cut in two would not be known as one."""
        margin = self._secrets.margin
        return _Draft(
            headers=tuple(
                (name, _whole(name, credential) or value, name.lower() in WHOLE_HEADERS)
                for name, value in headers[:HEADER_COUNT]
            ),
            body=body[: BODY_LIMIT + margin].decode("utf-8", "backslashreplace"),
            length=len(body),
            margin=margin if truncated or len(body) > BODY_LIMIT + margin else 0,
            truncated=truncated or len(body) > BODY_LIMIT,
        )


class _Draft(NamedTuple):
    """A message before secrets are taken out of it."""

    headers: tuple[tuple[str, str, bool], ...]
    """Name, value, and whether that stands in place of one which is never written."""
    body: str
    length: int
    margin: int
    """So much at the end may be part of a secret that is not seen."""
    truncated: bool

    def texts(self) -> Iterator[str]:
        yield self.body
        for name, value, written in self.headers:
            yield name
            if not written:
                yield value

    def message(self, clean: Callable[[str], str]) -> Message:
        shown = tuple(
            (clean(name)[:HEADER_LIMIT], value if written else clean(value)[:HEADER_LIMIT])
            for name, value, written in self.headers
        )
        text = without_tail(clean(self.body), self.margin)
        return Message(shown, text[:BODY_LIMIT], self.length, self.truncated or len(text) > BODY_LIMIT)


_UNSAID: Final = _Draft((), "", 0, 0, False)


def redact_exchange(exchange: Exchange, clean: Callable[[str], str]) -> Exchange:
    """An exchange with `clean` on everything in it that the target sent, or was sent."""
    request, response = (
        replace(
            message,
            headers=tuple((clean(name), clean(value)) for name, value in message.headers),
            body=clean(message.body),
        )
        for message in (exchange.request, exchange.response)
    )
    return replace(
        exchange, url=clean(exchange.url), request=request, response=response, trouble=clean(exchange.trouble)
    )


def _whole(name: str, credential: str) -> str:
    """What is written in place of a header's value that never is; empty for others."""
    if name.lower() not in WHOLE_HEADERS:
        return ""
    return f"«credential:{credential}»" if credential and name.lower() == "authorization" else "«redacted»"


def _hidden(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """A target's headers without the values that are secrets by their name, such as X-Auth-Token."""
    return tuple((name, "«redacted»" if tells(name) else value) for name, value in headers)
