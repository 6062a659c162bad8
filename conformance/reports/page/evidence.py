"""The part of the page that is data for its script: results, and the exchanges that a reader would open.

Bodies are embedded only where something is wrong, and all of it within a budget, so that the page stays quick.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from conformance.model import Exchange, Message, Result, Run
from conformance.reports.shaping import grouping
from conformance.reports.shaping.curl import curl, variables
from conformance.reports.shaping.text import cut, mapped, milliseconds, utf8, visible

BODY_LIMIT = 4_000
"""Characters of one body."""
HEADER_LIMIT, HEADERS = 400, 40
CITED = 4
"""Exchanges shown of one result: the last ones, the decisive one among them."""
BUDGET = 2_500_000
"""Characters of exchanges with bodies; what comes later is named only."""
LINE_BUDGET = 600_000


def shown(exchange: Exchange, body_limit: int = BODY_LIMIT) -> dict[str, Any]:
    """One exchange as page and script show it."""
    exchange = _cut(exchange, body_limit)
    answer = exchange.trouble or "no answer"
    return {
        "id": exchange.id,
        "line": grouping.exchange_line(exchange),
        "purpose": exchange.purpose,
        "method": exchange.method,
        "url": exchange.url,
        "status": str(exchange.status) if exchange.status is not None else f"no answer: {answer}",
        "took": milliseconds(exchange.duration_ms),
        "credential": exchange.credential,
        "retry": exchange.retry_of,
        "request": _message(exchange.request),
        "response": _message(exchange.response),
        "findings": [f"{f.requirement} {f.code}: {cut(f.message, 400)}" for f in exchange.findings[:10]],
        "curl": curl(exchange),
        "variables": variables(exchange),
    }


def _cut(exchange: Exchange, limit: int) -> Exchange:
    return replace(
        exchange,
        url=cut(exchange.url, 2_000),
        trouble=cut(exchange.trouble, 400),
        request=_cut_message(exchange.request, limit),
        response=_cut_message(exchange.response, limit),
    )


def _cut_message(message: Message, limit: int) -> Message:
    headers = tuple((cut(name, 100), cut(value, HEADER_LIMIT)) for name, value in message.headers[:HEADERS])
    short = message.truncated or len(message.body) > limit
    return Message(headers, message.body[:limit], message.body_bytes, short)


def _message(message: Message) -> dict[str, Any]:
    return {
        "headers": [f"{name}: {value}" for name, value in message.headers],
        "body": message.body,
        "size": f"cut, {message.body_bytes:,} bytes in all" if message.truncated else "",
    }


def data(run: Run, results: Iterable[tuple[str, Result]]) -> Markup:
    """The JSON of the page's data element: `results` by their identity, `exchanges` by id, `clauses` by requirement."""
    results = list(results)
    value = {
        "results": {name: _told(result) for name, result in results},
        "exchanges": _exchanges(run, [result for _, result in results]),
        "clauses": {row.id: [row.statement, f"{row.level} · {row.section}"] for row in run.requirements},
    }
    # Marked safe: inside a script element only "<" could end it, and none is left.
    text = utf8(json.dumps(mapped(value, visible), ensure_ascii=False, separators=(",", ":")))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _told(result: Result) -> dict[str, Any]:
    value = {
        "check": result.check,
        "requirement": result.requirement,
        "operation": result.operation,
        "case": result.case,
        "outcome": result.outcome.value,
        "message": result.message,
        "expected": result.expected,
        "observed": result.observed,
        "cause": result.cause,
        "fact": result.fact,
        "signature": result.signature,
        "reproduce": result.reproduce,
        "level": result.level.value,
        "notes": list(result.notes),
        "exchanges": list(result.exchanges[-CITED:]),
        "more": max(0, len(result.exchanges) - CITED),
    }
    return {name: item for name, item in value.items() if item}


def _exchanges(run: Run, results: list[Result]) -> dict[str, Any]:
    known, found, left = grouping.by_id(run), dict[str, Any](), BUDGET
    for name in _cited(results, known, told=True):
        value = shown(known[name])
        left -= len(json.dumps(value, ensure_ascii=False))
        if left < 0:
            break
        found[name] = value
    left = LINE_BUDGET
    for name in _cited(results, known, told=False):
        if name not in found and left > 0:
            line = grouping.exchange_line(known[name])
            left -= len(line)
            found[name] = {"id": name, "line": line}
    return found


def _cited(results: list[Result], known: Mapping[str, Exchange], *, told: bool) -> list[str]:
    """Ids of exchanges, the decisive ones of all results before any other."""
    wanted = [
        [name for name in r.exchanges[-CITED:] if name in known]
        for r in results
        if not told or r.outcome in grouping.TOLD
    ]
    decisive = [names[-1] for names in wanted if names]
    return list(dict.fromkeys(decisive + [name for names in wanted for name in names]))
