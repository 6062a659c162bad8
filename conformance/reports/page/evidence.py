"""The JSON data of the page's script: results, and the exchanges that support them.

Bodies are embedded only for problematic results and within a budget, so that the page stays small. Texts that many
results share are written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from markupsafe import Markup

from conformance.core.model import Exchange, Result, Run
from conformance.core.outcomes import BAD_OUTCOMES, Outcome
from conformance.reports.page.exchanges import comparison, exchange_view
from conformance.reports.shaping import grouping
from conformance.reports.shaping.bounded_run import TEXT_LIMIT
from conformance.reports.shaping.marks import marks
from conformance.reports.shaping.text import cut, encode_json, milliseconds, one_line, visible

BODY_LIMIT = 3_000
"""Characters of one body."""
MAX_EXCHANGES = 4
"""Exchanges shown of one result: the last ones, the decisive one among them."""
RESULT_BUDGET = 600_000
"""Characters of complete results; later ones are shortened."""
BUDGET = 400_000
"""Characters of exchanges with bodies; later ones are only named."""
LINE_BUDGET = 120_000


def data(run: Run, results: Iterable[tuple[str, Result]], share: float) -> Markup:
    """The JSON of the page's data element.

    `results` by their identity, `others` as lists with indices of `texts`, `exchanges` by id, `clauses` by requirement.
    `share` scales what is embedded, from 1 down to 0.
    """
    results = list(results)
    table_rows = [(name, result) for name, result in results if is_served(result)]
    others = [(name, result) for name, result in results if not is_served(result)]
    exchanges_by_id = grouping.by_id(run)
    parts: dict[str, Any] = {
        "exchanges": _exchanges([result for _, result in [*table_rows, *others]], share, exchanges_by_id),
        "clauses": {row.id: [row.statement, f"{row.level} · {row.section}"] for row in run.requirements},
        "again": _common_command(run.results),
        **_others(others, share),
    }
    members = ",".join(f'"{name}":{_inert(value)}' for name, value in parts.items())
    return Markup(f'{{"results":{_results(table_rows, share, exchanges_by_id)},{members}}}')


def _common_command(results: Iterable[Result]) -> str:
    """The part of the commands that all results share: everything before ` --only`."""
    return next((r.reproduce.partition(" --only ")[0] for r in results if " --only '" in r.reproduce), "")


def is_served(result: Result) -> bool:
    """Whether the markup has its row; the script adds the others, which are many and much alike."""
    return result.outcome in (*BAD_OUTCOMES, Outcome.WARNED)


OTHER_MEMBERS = ("outcome", "check", "requirement", "operation", "message", "level", "cause", "fact", "case")


def _others(results: Iterable[tuple[str, Result]], share: float) -> dict[str, Any]:
    """The other results: id, places of the members in `texts`, time, decisive exchange, notes."""
    places: dict[str, int] = {}
    limit, rows = int(20 + 380 * share), []

    @cache
    def place_of(text: str) -> int:
        return places.setdefault(one_line(text, limit), len(places))

    for name, result in results:
        indices = [place_of(getattr(result, member)) for member in OTHER_MEMBERS]
        cited = "".join(result.exchanges[-1:]) if share >= 1 else ""
        notes = [one_line(note, limit) for note in result.notes[:4]] if share >= 1 else []
        rows.append([name, indices, milliseconds(result.duration_ms), cited, *notes])
    return {"others": rows, "texts": list(places)}


def _results(results: Iterable[tuple[str, Result]], share: float, exchanges_by_id: Mapping[str, Exchange]) -> str:
    """The results as JSON text, complete within the budget and shortened after it."""
    remaining, parts = RESULT_BUDGET * share, []
    longest, shortest = int(TEXT_LIMIT * share), 20 + int(40 * share)
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
    value["often"] = grouping.how_often(result)
    if result.outcome in BAD_OUTCOMES:
        cited = grouping.find_exchanges(result.exchanges, exchanges_by_id)
        value["compared"] = comparison(result, cited, min(BODY_LIMIT, longest)) if longest > BODY_LIMIT else []
    value |= {
        "exchanges": list(result.exchanges[-MAX_EXCHANGES:]),
        "more": max(0, len(result.exchanges) - MAX_EXCHANGES),
    }
    return {name: item for name, item in value.items() if item}


def _exchanges(results: list[Result], share: float, exchanges_by_id: Mapping[str, Exchange]) -> dict[str, Any]:
    found, remaining = dict[str, Any](), BUDGET * share
    decided_by = {result.exchanges[-1]: result for result in reversed(results) if result.exchanges}
    for name in _cited_ids(results, exchanges_by_id, with_bodies=True):
        exchange = exchanges_by_id[name]
        decided = marks(decided_by[name], exchange) if name in decided_by else None
        value = exchange_view(exchange, int(BODY_LIMIT * share), decided)
        remaining -= len(_inert(value))
        if remaining < 0:
            break
        found[name] = value
    remaining = LINE_BUDGET * share
    for name in _cited_ids(results, exchanges_by_id, with_bodies=False):
        if name not in found and remaining > 0:
            line = grouping.exchange_line(exchanges_by_id[name])
            remaining -= len(line)
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
