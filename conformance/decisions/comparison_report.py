"""A comparison as lines, JSON, Markdown and one HTML page. Text of the targets is escaped in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from msgspec import to_builtins

from conformance.core.messages import plural, without_operation
from conformance.core.outcomes import Outcome
from conformance.decisions.comparison import CONFORM, Comparison, Difference, Kind
from conformance.decisions.html_page import page
from conformance.reports.shaping.grouping import SYMBOLS
from conformance.reports.shaping.text import clean, dumps, map_strings, one_line, utf8
from conformance.reports.summary import code, escape

_MAX_LINES = 40
MAX_ROWS = 60
"""Rows of one kind of difference on the page."""
_GRAVE = (Kind.REGRESSED, Kind.OPEN)
_COUNTED = (*_GRAVE, Kind.FIXED, Kind.WAIVED)
"""Kinds that the head of the page counts for each run."""
_SHORT: Mapping[Kind, str] = {
    Kind.REGRESSED: "✕ regressed",
    Kind.OPEN: "? open",
    Kind.WAIVED: "◇ waived",
    Kind.FIXED: "✓ fixed",
    Kind.PROFILE: "– profile",
    Kind.STATUS: "≠ status",
    Kind.ERROR: "≠ error",
    Kind.MEMBERS: "≠ members",
    Kind.SCHEMA: "≠ types",
    Kind.HEADERS: "≠ headers",
    Kind.WARNED: "▲ warning",
    Kind.LATENCY: "⏱ latency",
}


def lines(comparison: Comparison, *, verbose: bool = False) -> Iterator[str]:
    """The differences for a terminal: their numbers, then the most severe first. `verbose`: all of them."""
    yield answer(comparison)
    for environment in comparison.environments:
        yield (
            f"{environment.letter}  {clean(environment.name)}: {environment.verdict} ({environment.scope}), "
            f"profile {environment.profile}, "
            f"{clean(environment.target)}, {environment.started_at}"
        )
    for text in comparison.incomparable:
        yield f"! not comparable: {text}"
    for problem in comparison.unread:
        yield f"! not read: {clean(problem)}"
    yield ""
    for kind, found in groupby(comparison.differences, key=lambda d: d.kind):
        differences = list(found)
        merged = _merge_letters(differences)
        merged_note = f" in {len(merged):,} lines" if len(merged) != len(differences) else ""
        yield f"{kind} ({len(differences):,}{merged_note}){'  — both conform' if CONFORM[kind] else ''}"
        limit = len(merged) if verbose else _MAX_LINES
        for text, letters in list(merged.items())[:limit]:
            yield f"  {','.join(letters)}  {text}"
        if (remaining := len(merged) - limit) > 0:
            yield f"  … and {remaining:,} more: --verbose shows all"


def _merge_letters(differences: Sequence[Difference]) -> dict[str, list[str]]:
    """The lines of differences, with the letters of all environments that share a line."""
    found: dict[str, list[str]] = {}
    for difference in differences:
        letters = found.setdefault(_line(difference), [])
        if difference.environment not in letters:
            letters.append(difference.environment)
    return found


def _line(difference: Difference) -> str:
    case = f" ({difference.case})" if difference.case else ""
    change = f" {difference.before or 'not run'} → {difference.after or 'not run'}:" if difference.requirement else ""
    place = " ".join(part for part in (difference.requirement, difference.operation or "the service") if part)
    return clean(one_line(f"{place}{case}:{change} {difference.text}", 300))


def answer(comparison: Comparison) -> str:
    """`2 regressed, 1 fixed`: the number of differences of each kind."""
    kinds = comparison.kinds()
    if not kinds:
        return f"no differences between {plural(len(comparison.environments), 'environment')}"
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def table(comparison: Comparison) -> list[dict[str, Any]]:
    """The matrix requirement x operation x environment: one row for each cell, with a flag for differences."""
    kinds: dict[tuple[str, str, str], Kind] = {}
    texts: dict[tuple[str, str, str], str] = {}
    for difference in reversed(comparison.differences):
        place = (difference.requirement, difference.operation, difference.environment)
        kinds[place], texts[place] = difference.kind, difference.text
    rows = []
    for (requirement, operation), outcomes in comparison.cells.items():
        cells = [
            {
                "outcome": outcome,
                "symbol": SYMBOLS[outcome] if outcome else "·",
                "kind": kinds.get((requirement, operation, environment.letter)),
                "short": _SHORT.get(kinds.get((requirement, operation, environment.letter)), ""),  # type: ignore[arg-type]
                "text": texts.get((requirement, operation, environment.letter), ""),
            }
            for environment, outcome in zip(comparison.environments, outcomes, strict=True)
        ]
        differs = len(set(outcomes)) > 1 or any(cell["kind"] for cell in cells)
        rows.append({"requirement": requirement, "operation": operation, "cells": cells, "differs": differs})
    return rows


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as a JSON value."""
    return {
        "schema_version": 1,
        "environments": [to_builtins(environment) for environment in comparison.environments],
        "incomparable": list(comparison.incomparable),
        "unread": list(comparison.unread),
        "counts": {kind.value: count for kind, count in comparison.kinds().items()},
        "differences": [
            {**to_builtins(difference), "both_conform": CONFORM[difference.kind]}
            for difference in comparison.differences
        ],
        "matrix": [
            {
                "requirement": requirement,
                "operation": operation,
                "outcomes": [outcome.value if isinstance(outcome, Outcome) else None for outcome in outcomes],
            }
            for (requirement, operation), outcomes in comparison.cells.items()
        ],
    }


def as_json(comparison: Comparison) -> str:
    return dumps(map_strings(document(comparison), utf8))


def markdown(comparison: Comparison) -> str:
    """For a pipeline's job page: the environments, then the rows that differ."""
    letters = [environment.letter for environment in comparison.environments]
    parts = [
        f"# Comparison: {escape(answer(comparison))}",
        "",
        "| | environment | verdict | scope | profile | target |",
        "|---|---|---|---|---|---|",
    ]
    parts += [
        f"| {e.letter} | {escape(e.name)} | {e.verdict} | {escape(e.scope)} | {escape(e.profile)} | {code(e.target)} |"
        for e in comparison.environments
    ]
    parts += ["", *(f"> **not comparable:** {escape(text)}" for text in comparison.incomparable)]
    parts += [f"> **not read:** {code(problem)}" for problem in comparison.unread]
    rows = [row for row in table(comparison) if row["differs"]]
    if rows:
        parts += ["", "| requirement | operation | " + " | ".join(letters) + " |", "|---|---|" + "---|" * len(letters)]
        for row in rows[:200]:
            cells = " | ".join(f"{cell['symbol']} {cell['short']}".strip() for cell in row["cells"])
            parts.append(f"| {escape(row['requirement'])} | {escape(row['operation'] or 'the service')} | {cells} |")
        parts += [f"\n… and {len(rows) - 200} more rows."] if len(rows) > 200 else []
    free = [kind for kind in comparison.differences if not kind.requirement]
    if free:
        parts += ["", "## Behaviour that the interface leaves free", ""]
        parts += [f"- {','.join(environments)} {kind}: {code(text)}" for kind, text, environments in _free(free)[:200]]
    return "\n".join(parts) + "\n"


def _free(differences: Sequence[Difference]) -> list[tuple[str, str, list[str]]]:
    found: dict[tuple[str, str], list[str]] = {}
    for difference in differences:
        found.setdefault((difference.kind.value, f"{difference.operation}: {difference.text}"), []).append(
            difference.environment
        )
    return [(kind, text, environments) for (kind, text), environments in found.items()]


def html(comparison: Comparison) -> str:
    """One page without network access, what regressed first."""
    rows = sorted(table(comparison), key=_severity)
    return page(
        "comparison.html.j2",
        comparison=comparison,
        rows=rows,
        differing=sum(row["differs"] for row in rows),
        free=_free([difference for difference in comparison.differences if not difference.requirement]),
        groups=groups(comparison),
        counts=_counts(comparison),
        summary=answer(comparison),
        grave=[kind.value for kind in _GRAVE],
        rows_of_a_kind=MAX_ROWS,
    )


@dataclass(frozen=True, slots=True)
class Row:
    """Equal differences: the requirements, environments and operations that have them, and how many they are."""

    requirements: tuple[str, ...]
    change: str
    text: str
    environments: tuple[str, ...]
    operations: tuple[str, ...]
    results: int


def groups(comparison: Comparison) -> list[tuple[Kind, list[Row]]]:
    """The differences of results by kind, the most severe first, with one row for those that differ in one way."""
    found: dict[Kind, dict[tuple[str, str], list[Difference]]] = {}
    for difference in comparison.differences:
        if difference.requirement:
            text = one_line(difference.cause or without_operation(difference.text, difference.operation), 400)
            change = f"{difference.before or 'nothing'} → {difference.after or 'nothing'}"
            rows = found.setdefault(difference.kind, {})
            rows.setdefault((change, text), []).append(difference)
    return [
        (kind, sorted((_row(*key, members) for key, members in found[kind].items()), key=lambda row: -row.results))
        for kind in Kind
        if kind in found
    ]


def _row(change: str, text: str, members: Sequence[Difference]) -> Row:
    requirements = dict.fromkeys(difference.violated or difference.requirement for difference in members)
    environments = dict.fromkeys(difference.environment for difference in members)
    operations = dict.fromkeys(difference.operation for difference in members if difference.operation)
    return Row(tuple(requirements), change, text, tuple(environments), tuple(operations), len(members))


def _counts(comparison: Comparison) -> dict[str, str]:
    """By an environment's letter: its differences that matter most, in words."""
    kinds = Counter((difference.environment, difference.kind) for difference in comparison.differences)
    found = {}
    for environment in comparison.environments[1:]:
        counts = [
            (kind, kinds[environment.letter, kind]) for kind in (Kind.REGRESSED, Kind.OPEN, Kind.FIXED, Kind.WAIVED)
        ]
        text = ", ".join(f"{count:,} {kind}" for kind, count in counts if count)
        found[environment.letter] = text or "no result regressed"
    return found


def _severity(row: Mapping[str, Any]) -> int:
    """The place of a row of the matrix: by its most severe difference."""
    order = list(Kind)
    return min((order.index(cell["kind"]) for cell in row["cells"] if cell["kind"]), default=len(order))
