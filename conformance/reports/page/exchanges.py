"""An exchange, and two answers side by side, as page and script show them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from conformance.core.model import Exchange, Message, Result
from conformance.reports.shaping import grouping
from conformance.reports.shaping.curl import credential_of, curl, in_words, variables
from conformance.reports.shaping.layout import Line, lines_of
from conformance.reports.shaping.marks import Marks, marked_lines, marks
from conformance.reports.shaping.text import cut, milliseconds

HEADER_LIMIT, HEADERS = 400, 40
CURL_LIMIT = 6_000
MAX_COMPARED = 400
"""Lines of an answer that are compared."""


def exchange_view(exchange: Exchange, body_limit: int, found: Marks | None = None) -> dict[str, Any]:
    """One exchange; `found` are the marks of the decisive exchange."""
    line, words = curl(exchange), credential_of(exchange)
    exchange = _shorten(exchange, body_limit)
    answer = exchange.trouble or "no answer"
    return {
        "id": exchange.id,
        "line": grouping.exchange_line(exchange),
        "purpose": exchange.purpose,
        "method": exchange.method,
        "url": exchange.url,
        "status": str(exchange.status) if exchange.status is not None else f"no answer: {answer}",
        "took": milliseconds(exchange.duration_ms),
        "credential": words,
        "retry": exchange.retry_of,
        "request": _message(exchange.request, Marks()),
        "response": _message(exchange.response, found or Marks()),
        "findings": [f"{f.requirement}: {cut(f.message, 400)}" for f in exchange.findings[:10]],
        "curl": cut(line, max(CURL_LIMIT, body_limit)),
        "variables": variables(exchange),
    }


def _shorten(exchange: Exchange, limit: int) -> Exchange:
    return replace(
        exchange,
        url=cut(exchange.url, 2_000),
        trouble=cut(exchange.trouble, 400),
        request=_cut_message(exchange.request, limit),
        response=_cut_message(exchange.response, limit),
    )


def _cut_message(message: Message, limit: int) -> Message:
    longest, count = min(HEADER_LIMIT, limit), min(HEADERS, 4 + limit // 50)
    headers = tuple((cut(name, 100), cut(value, longest)) for name, value in message.headers[:count])
    short = message.truncated or len(message.body) > limit
    return Message(headers, message.body[:limit], message.body_bytes, short)


def _message(message: Message, found: Marks) -> dict[str, Any]:
    lines = lines_of(message)
    marked = [index for index, (name, value) in enumerate(message.headers) if found.has_header(name, value)]
    return {
        "headers": [f"{name}: {in_words(value)}" for name, value in message.headers],
        "headersMarked": marked,
        "body": [line.text for line in lines],
        "marked": marked_lines(lines, found),
        "size": f"cut, {message.body_bytes:,} bytes in all" if message.truncated else "",
    }


def replay_of(exchanges: Sequence[Exchange]) -> Exchange | None:
    """The first answer that the last exchange repeats: the same request, answered before; None where there is none."""
    if not exchanges or exchanges[-1].status is None:
        return None
    last = exchanges[-1]
    same = (
        exchange
        for exchange in exchanges[:-1]
        if (exchange.method, exchange.url, exchange.request.body) == (last.method, last.url, last.request.body)
        and exchange.status
    )
    return next(same, None)


def comparison(result: Result, exchanges: Sequence[Exchange], body_limit: int) -> list[dict[str, Any]]:
    """The first answer and the replay with the differing lines marked; empty where nothing was repeated.

    Where the statuses differ, they decided. Otherwise the result's own differences are marked; where it names none, all
    lines that differ.
    """
    first = replay_of(exchanges)
    if first is None:
        return []
    last = exchanges[-1]
    is_status = first.status != last.status
    sides = [lines_of(_cut_message(exchange.response, body_limit))[:MAX_COMPARED] for exchange in (first, last)]
    found = marks(result, last)
    marked = [[] if is_status else marked_lines(lines, found) for lines in sides]
    if not is_status and not any(marked):
        marked = [sorted(indices) for indices in _differing(*sides)]
    if not is_status and not any(marked):
        return []
    return [
        {
            "name": name,
            "id": exchange.id,
            "status": str(exchange.status),
            "body": [line.text for line in lines],
            "marked": at,
        }
        for name, exchange, lines, at in zip(
            ("First answer", _name_of(last)), (first, last), sides, marked, strict=True
        )
    ]


def _name_of(exchange: Exchange) -> str:
    return cut(exchange.purpose[:1].upper() + exchange.purpose[1:], 60) or "Repeated"


def _differing(first: Iterable[Line], second: Iterable[Line]) -> tuple[set[int], set[int]]:
    """The indices of the lines that are not in the other text."""
    texts = [[line.text.rstrip(",") for line in lines] for lines in (first, second)]
    matcher = difflib.SequenceMatcher(None, texts[0], texts[1], autojunk=False)
    changes = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    first_indices = {index for _, start, end, _, _ in changes for index in range(start, end)}
    return first_indices, {index for _, _, _, start, end in changes for index in range(start, end)}
