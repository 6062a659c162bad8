"""The JSON data of the page's script: results, and the exchanges that support them.

Bodies are embedded only for problematic results and within a budget, so that the page stays small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from conformance.core.model import Exchange, Message, Result, Run
from conformance.core.outcomes import BAD_OUTCOMES
from conformance.reports.shaping import grouping
from conformance.reports.shaping.curl import curl, variables
from conformance.reports.shaping.marks import marks
from conformance.reports.shaping.text import cut, encode_json, milliseconds, visible

BODY_LIMIT = 4_000
"""Characters of one body."""
HEADER_LIMIT, HEADERS = 400, 40
MAX_EXCHANGES = 4
"""Exchanges shown of one result: the last ones, the decisive one among them."""
RESULT_BUDGET = 2_000_000
"""Characters of complete results; later ones are shortened."""
BUDGET = 2_000_000
"""Characters of exchanges with bodies; later ones are only named."""
LINE_BUDGET = 500_000


def exchange_view(exchange: Exchange, body_limit: int) -> dict[str, Any]:
    """One exchange as page and script show it."""
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
        "credential": exchange.credential,
        "retry": exchange.retry_of,
        "request": _message(exchange.request),
        "response": _message(exchange.response),
        "findings": [f"{f.requirement} {f.code}: {cut(f.message, 400)}" for f in exchange.findings[:10]],
        "curl": curl(exchange),
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


def _message(message: Message) -> dict[str, Any]:
    return {
        "headers": [f"{name}: {value}" for name, value in message.headers],
        "body": message.body,
        "size": f"cut, {message.body_bytes:,} bytes in all" if message.truncated else "",
    }


def data(run: Run, results: Iterable[tuple[str, Result]], share: float) -> Markup:
    """The JSON of the page's data element: `results` by their identity, `exchanges` by id, `clauses` by requirement.

    `share` scales what is embedded, from 1 down to 0.
    """
    results = list(results)
    clauses = {row.id: [row.statement, f"{row.level} · {row.section}"] for row in run.requirements}
    exchanges = _exchanges(run, [result for _, result in results], share)
    results_json = _results(results, share, grouping.by_id(run))
    return Markup(f'{{"results":{results_json},"exchanges":{_inert(exchanges)},"clauses":{_inert(clauses)}}}')


def _results(results: Iterable[tuple[str, Result]], share: float, exchanges_by_id: Mapping[str, Exchange]) -> str:
    """The results as JSON text, complete within the budget and shortened after it."""
    remaining, parts = RESULT_BUDGET * share, []
    longest, shortest = int(grouping.TEXT_LIMIT * share), 20 + int(40 * share)
    for name, result in results:
        text = _inert(_result_view(result, longest if remaining > 0 else shortest, exchanges_by_id))
        remaining -= len(text)
        parts.append(f"{_inert(name)}:{text}")
    return "{" + ",".join(parts) + "}"


def _inert(value: Any) -> str:
    text = encode_json(value, visible)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _result_view(result: Result, longest: int, exchanges_by_id: Mapping[str, Exchange]) -> dict[str, Any]:
    texts: dict[str, Any] = {name: cut(getattr(result, name), longest) for name in ("message", "expected", "observed")}
    names = ("check", "requirement", "operation", "case", "cause", "fact", "signature", "reproduce")
    value = texts | {name: cut(getattr(result, name), max(20, longest // 4)) for name in names}
    value |= {"outcome": result.counted_as, "level": result.level.value}
    value |= {"notes": [cut(note, max(20, longest // 4)) for note in result.notes[: 1 + longest // 400]]}
    if result.outcome in BAD_OUTCOMES and result.exchanges and result.exchanges[-1] in exchanges_by_id:
        value["marks"] = list(marks(result, exchanges_by_id[result.exchanges[-1]]))
    value |= {
        "exchanges": list(result.exchanges[-MAX_EXCHANGES:]),
        "more": max(0, len(result.exchanges) - MAX_EXCHANGES),
    }
    return {name: item for name, item in value.items() if item}


def _exchanges(run: Run, results: list[Result], share: float) -> dict[str, Any]:
    exchanges_by_id, found, remaining = grouping.by_id(run), dict[str, Any](), BUDGET * share
    for name in _cited_ids(results, exchanges_by_id, with_bodies=True):
        value = exchange_view(exchanges_by_id[name], int(BODY_LIMIT * share))
        remaining -= len(_inert(value))
        if remaining < 0:
            break
        found[name] = value
    remaining = LINE_BUDGET * share
    for name in _cited_ids(results, exchanges_by_id, with_bodies=False):
        if name not in found and remaining > 0:
            line = grouping.exchange_line(exchanges_by_id[name])
            remaining -= len(_inert(line))
            found[name] = {"id": name, "line": line}
    return found


def _cited_ids(results: list[Result], exchanges_by_id: Mapping[str, Exchange], *, with_bodies: bool) -> list[str]:
    """Ids of exchanges, the decisive ones of all results before any other."""
    ids_by_result = [
        [name for name in r.exchanges[-MAX_EXCHANGES:] if name in exchanges_by_id]
        for r in results
        if not with_bodies or r.outcome in grouping.EVIDENCE_OUTCOMES
    ]
    decisive = [names[-1] for names in ids_by_result if names]
    return list(dict.fromkeys(decisive + [name for names in ids_by_result for name in names]))
