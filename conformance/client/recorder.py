"""Turns an answer into the redacted, bounded evidence that is written: Answer -> Exchange -> journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Final, NamedTuple

from msgspec.structs import replace

from conformance.client.redaction.secrets import WHOLE_HEADERS, Secrets, is_secret_name, without_tail
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core.model import Exchange, Finding, Message
from conformance.journal.journal import Journal
from conformance.journal.lines import ExchangeRecorded

BODY_LIMIT: Final = 8192
HEADER_LIMIT: Final = 2048
HEADER_COUNT: Final = 64
HEADERS_LIMIT: Final = 8192
"""Characters of all names and values of a message's headers together."""

Judge = Callable[[Answer], tuple[tuple[str, ...], tuple[Finding, ...]]]
"""Returns the ids of the invariants that judged an answer, and their findings."""

current_check: ContextVar[str] = ContextVar("current_check", default="")
"""The id of the check that sends requests in this context."""


class Recorder:
    """Writes each exchange once, after the invariants judged the whole answer."""

    def __init__(
        self,
        journal: Journal,
        secrets: Secrets,
        judge: Judge,
        on_answer: Callable[[Answer], None] = lambda _: None,
        on_exchange: Callable[[Exchange], None] = lambda _: None,
        finish: Callable[[Exchange, Answer], Exchange] = lambda exchange, _: exchange,
    ) -> None:
        """`finish` changes an exchange that was cleaned of known secrets before it is written."""
        self._journal = journal
        self._secrets = secrets
        self._judge = judge
        self._on_answer = on_answer
        self._on_exchange = on_exchange
        self._finish = finish
        self.count = 0

    def record(self, answer: Answer, retry_of: str = "") -> Exchange:
        judged, findings = self._judge(answer)
        url, request, response = "", _EMPTY_DRAFT, _EMPTY_DRAFT
        if self._journal.evidence:
            url = answer.url
            request = self._draft_message(answer.sent_headers, answer.sent_body, answer.request)
            response = self._draft_message(self._redact(answer.headers), answer.body, truncated=answer.truncated)
        texts = [url] if url else []
        clean = self._secrets.cleaner([*texts, *request.texts(), *response.texts()], self._secrets.marks)
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
            trouble=self._secrets.excerpt(answer.trouble, HEADER_LIMIT, self._secrets.clean_truncated),
            check=current_check.get(),
            purpose=answer.purpose,
            judged=judged,
            findings=tuple(self._clean_finding(finding) for finding in findings),
            retry_of=retry_of,
        )
        exchange = self._finish(exchange, answer)
        self._journal.append(ExchangeRecorded(exchange))
        self.count += 1
        self._on_answer(answer)
        self._on_exchange(exchange)
        return exchange

    def _clean_finding(self, finding: Finding) -> Finding:
        """A code may name a member, and the target chooses its name."""
        code, message = (self._secrets.excerpt(text, HEADER_LIMIT) for text in (finding.code, finding.message))
        return Finding(finding.requirement, code, message, finding.level)

    def _draft_message(
        self,
        headers: tuple[tuple[str, str], ...],
        body: bytes,
        request: Request | None = None,
        truncated: bool = False,
    ) -> _Draft:
        """Includes a margin beyond the written part of the body: a secret cut in two would not be recognized."""
        margin = self._secrets.margin
        excess = len(headers) - HEADER_COUNT
        note = (("«cut»", f"{excess + 1:,} more headers", True),) if excess > 0 else ()
        first = headers[: HEADER_COUNT - len(note)]
        return _Draft(
            headers=(*note, *((name, *self._header_text(name, value, request)) for name, value in first)),
            body=body[: BODY_LIMIT + margin].decode("utf-8", "backslashreplace"),
            length=len(body),
            margin=margin if truncated or len(body) > BODY_LIMIT + margin else 0,
            truncated=truncated or len(body) > BODY_LIMIT,
        )

    def _header_text(self, name: str, value: str, request: Request | None) -> tuple[str, bool]:
        """What is written of a header's value, and whether it is a placeholder that needs no redaction."""
        lower_name = name.lower()
        if lower_name not in WHOLE_HEADERS or not value.strip():
            return value, False
        if request is None:
            return self._mark(value), True
        if evidence := request.evidence_texts.get((lower_name, value)):
            return evidence, False
        if request.credential and lower_name == "authorization":
            return f"«credential:{request.credential}»", True
        return self._mark(value, f"«redacted:{lower_name}»"), True

    def _redact(self, headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        """A target's headers without the values that are secrets by their name, such as X-Auth-Token."""
        return tuple((name, self._mark(value) if is_secret_name(name) else value) for name, value in headers)

    def _mark(self, value: str, placeholder: str = "«redacted»") -> str:
        marks = self._secrets.marks
        return marks.label(placeholder, value) if marks else placeholder


class _Draft(NamedTuple):
    """A message before redaction."""

    headers: tuple[tuple[str, str, bool], ...]
    """Name, value, and whether the value is a placeholder for one that is never written."""
    body: str
    length: int
    margin: int
    """Number of characters at the end that may be part of an incomplete secret."""
    truncated: bool

    def texts(self) -> Iterator[str]:
        yield self.body
        for name, value, is_placeholder in self.headers:
            yield name
            if not is_placeholder:
                yield value

    def message(self, clean: Callable[[str], str]) -> Message:
        headers = [
            (clean(name), value if is_placeholder else clean(value)) for name, value, is_placeholder in self.headers
        ]
        text = without_tail(clean(self.body), self.margin)
        return Message(_cut_headers(headers), text[:BODY_LIMIT], self.length, self.truncated or len(text) > BODY_LIMIT)


def _cut_headers(headers: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Headers within their bounds: the longest names and values are cut, as much as it takes, and say their length.

    The short ones, by which recorded traffic is judged, stay whole.
    """
    limit = _length_limit([len(text) for header in headers for text in header])
    return tuple((_cut(name, limit), _cut(value, limit)) for name, value in headers)


def _length_limit(lengths: Sequence[int]) -> int:
    """The number of characters, of each text, at which all texts together have at most HEADERS_LIMIT."""
    remaining = HEADERS_LIMIT
    for number, length in enumerate(sorted(lengths)):
        share = remaining // (len(lengths) - number)
        if length > share:
            return min(share, HEADER_LIMIT)
        remaining -= length
    return HEADER_LIMIT


def _cut(text: str, limit: int) -> str:
    """The note is in the form of a placeholder: what was cut is not compared with anything."""
    if len(text) <= limit:
        return text
    note = f"…«cut: {len(text):,} characters in all»"
    return text[: limit - len(note)] + note


_EMPTY_DRAFT: Final = _Draft((), "", 0, 0, False)


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
    findings = tuple(
        replace(finding, code=clean(finding.code), message=clean(finding.message)) for finding in exchange.findings
    )
    return replace(
        exchange,
        url=clean(exchange.url),
        request=request,
        response=response,
        trouble=clean(exchange.trouble),
        findings=findings,
    )
