"""An exchange as lines of plain text, for whoever reads a terminal or a job page.

`>` is what was sent, `<` what came back; in the exchange that decided, `▶` begins the line of the status, and the words
that decided stand between `▶` and `◀`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance.core.model import Exchange, Message, Result, Run
from conformance.reports.shaping.curl import curl, variables
from conformance.reports.shaping.grouping import evidence
from conformance.reports.shaping.marks import marks, pieces
from conformance.reports.shaping.text import clean, cut, milliseconds, one_line

CURL = 3_000
"""Characters of a curl line that are shown."""


def deciding(run: Run, result: Result) -> Exchange | None:
    """The exchange that decided, the last of what a result rests on."""
    found = evidence(run, result)
    return found[-1] if found else None


def whole(exchange: Exchange, words: tuple[str, ...] | None, limit: int) -> Iterator[str]:
    """Request and answer line by line, each body cut to `limit` characters; `words` None: it did not decide."""
    yield clean(f"> {exchange.method} {cut(exchange.url, 600)}")
    yield from _message(exchange.request, ">", (), limit)
    yield clean(f"{'<' if words is None else '▶'} {_answer(exchange)}")
    yield from _message(exchange.response, "<", words or (), limit)
    for finding in exchange.findings:
        yield clean(f"! {finding.requirement} {one_line(finding.message, 300)}")


def short(exchange: Exchange, result: Result, limit: int = 160) -> Iterator[str]:
    """The same in two lines, or four with bodies."""
    yield clean(f"> {exchange.method} {cut(exchange.url, 300)}")
    if exchange.request.body:
        yield clean(f">   {one_line(exchange.request.body, limit)}")
    yield clean(f"▶ {_answer(exchange)}")
    if exchange.response.body:
        yield clean(f"<   {marked(one_line(exchange.response.body, limit), marks(result, exchange))}")


def command(exchange: Exchange) -> str:
    """The curl line, with the variables that it reads before it, their values left to the reader."""
    needed = " ".join(f"{name}=…" for name in variables(exchange))
    return clean(f"{f'{needed} ' if needed else ''}{one_line(curl(exchange), CURL)}")


def marked(text: str, words: tuple[str, ...]) -> str:
    return "".join(f"▶{piece}◀" if decided else piece for piece, decided in pieces(text, words))


def _answer(exchange: Exchange) -> str:
    told = f"{exchange.status}" if exchange.status is not None else f"no answer: {exchange.trouble}"
    return f"{one_line(told, 300)} after {milliseconds(exchange.duration_ms)}"


def _message(message: Message, mark: str, words: tuple[str, ...], limit: int) -> Iterator[str]:
    for name, value in message.headers:
        yield clean(f"{mark} {marked(f'{name}: {one_line(value, 200)}', words)}")
    for line in cut(_pretty(message.body), limit).splitlines():
        yield clean(f"{mark}   {marked(line, words)}")


def _pretty(body: str) -> str:
    try:
        return json.dumps(json.loads(body), ensure_ascii=False, indent=1) if body else ""
    except (ValueError, RecursionError):
        return body
