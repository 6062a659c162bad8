"""An exchange as lines of plain text, for a terminal or a job page.

`>` marks the request, `<` the answer; in the decisive exchange `▶` begins the status line, and the decisive words stand
between `▶` and `◀`.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.core.model import Exchange, Message, Result, Run
from conformance.reports.shaping.curl import curl, in_words, variables
from conformance.reports.shaping.grouping import evidence
from conformance.reports.shaping.layout import lines_of
from conformance.reports.shaping.marks import Marks, marks, pieces
from conformance.reports.shaping.text import clean, cut, milliseconds, one_line

CURL = 3_000
"""Characters of a curl line that are shown."""


def deciding(run: Run, result: Result) -> Exchange | None:
    """The decisive exchange, the last one of a result."""
    found = evidence(run, result)
    return found[-1] if found else None


def whole(exchange: Exchange, found: Marks | None, limit: int) -> Iterator[str]:
    """Request and answer line by line, each body cut to `limit` characters; `found` is None for other exchanges."""
    yield clean(f"> {exchange.method} {cut(exchange.url, 600)}")
    yield from _message(exchange.request, ">", Marks(), limit)
    yield clean(f"{'<' if found is None else '▶'} {_answer(exchange)}")
    yield from _message(exchange.response, "<", found or Marks(), limit)
    for finding in exchange.findings:
        yield clean(f"! {finding.requirement} {one_line(finding.message, 300)}")


def short(exchange: Exchange, result: Result, limit: int = 160) -> Iterator[str]:
    """The same in two lines, or four with bodies."""
    yield clean(f"> {exchange.method} {cut(exchange.url, 300)}")
    if exchange.request.body:
        yield clean(f">   {one_line(exchange.request.body, limit)}")
    yield clean(f"▶ {_answer(exchange)}")
    if exchange.response.body:
        yield clean(f"<   {mark_words(one_line(exchange.response.body, limit), marks(result, exchange).words)}")


def command(exchange: Exchange) -> str:
    """The curl line, after the variables that it reads; the reader fills in their values."""
    assignments = " ".join(f"{name}=…" for name in variables(exchange))
    return clean(f"{f'{assignments} ' if assignments else ''}{one_line(curl(exchange), CURL)}")


def mark_words(text: str, words: tuple[str, ...]) -> str:
    return "".join(f"▶{piece}◀" if is_mark_line else piece for piece, is_mark_line in pieces(text, words))


def _answer(exchange: Exchange) -> str:
    status_text = f"{exchange.status}" if exchange.status is not None else f"no answer: {exchange.trouble}"
    return f"{one_line(status_text, 300)} after {milliseconds(exchange.duration_ms)}"


def _message(message: Message, sign: str, found: Marks, limit: int) -> Iterator[str]:
    for name, value in message.headers:
        text = f"{name}: {in_words(one_line(value, 200))}"
        yield clean(f"{sign} {_mark_line(text, marked=found.has_header(name, value))}")
    lines = lines_of(message)
    for line in lines:
        if limit <= 0:
            yield f"{sign}   …"
            return
        text = cut(line.text, limit)
        limit -= len(text) + 1
        yield clean(f"{sign}   {_mark_line(text, marked=found.has_line(line))}")


def _mark_line(text: str, *, marked: bool) -> str:
    return f"{text[: len(text) - len(text.lstrip())]}▶{text.strip()}◀" if marked and text.strip() else text
