"""The values of the template, in the order of the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from conformance.core.model import STATUSES, Exchange, OperationInfo, RequirementRow, Result, Run
from conformance.core.outcomes import BAD_OUTCOMES, OPEN_OUTCOMES, Outcome, Stability
from conformance.reports.page.evidence import MAX_EXCHANGES
from conformance.reports.page.evidence import is_served as is_served
from conformance.reports.page.exchanges import comparison, exchange_view
from conformance.reports.shaping import grouping
from conformance.reports.shaping.bounded_run import bound_texts
from conformance.reports.shaping.grouping import OUTCOMES, Group
from conformance.reports.shaping.marks import marks
from conformance.reports.shaping.text import milliseconds

SERVED_BODY = 2_000
"""Characters of a body in the static part of the page."""
SERVED_GROUPS = 60
ROWS, FEWEST_ROWS = 4_000, 500
"""Rows of the results table, and where even shortened texts make the page too large."""
_STATUSES_LAW = "STA-1"
"""The requirement that an answer has a declared status, but for a few kinds of requests."""
PLOT_WIDTH = 320
MEANINGS: Mapping[int, str] = {
    200: "success",
    400: "bad request",
    401: "not authenticated",
    403: "lacks scope",
    404: "not found",
    409: "conflict",
    429: "rate limited",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the results table; `id` is its anchor without `r-`."""

    id: str
    result: Result
    waived: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a matrix: its text, its meaning, and the row it links to."""

    text: str
    meaning: str
    css: str
    row: str = ""


def rows(run: Run) -> list[Row]:
    """All results, the most severe first."""
    named_results = zip(bound_texts(run).names, run.results, strict=True)
    unsorted = [Row(name, result, grouping.waiver_of(run, result) is not None) for name, result in named_results]
    return sorted(unsorted, key=lambda row: OUTCOMES.index(row.result.counted_as))


def tiers(run: Run) -> list[dict[str, Any]]:
    """Verdict and counts of the whole and of each tier, with the spans of a bar 1000 wide."""
    found = [("whole interface", run.verdict, run.counts, run.scope)]
    found += [(f"{name} operations", tier.verdict, tier.counts, tier.scope) for name, tier in run.tiers.items()]
    return [
        {
            "name": name,
            "verdict": verdict,
            "counts": _counts(counts),
            "spans": _spans(counts),
            "scope": scope.summary,
        }
        for name, verdict, counts, scope in found
    ]


def _counts(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(outcome, counts[outcome]) for outcome in OUTCOMES if counts.get(outcome)]


def _spans(counts: Mapping[str, int]) -> list[tuple[str, float, float]]:
    total, start, spans = sum(counts.values()) or 1, 0.0, []
    for outcome, count in _counts(counts):
        width = 1000 * count / total
        spans.append((outcome, round(start, 1), round(max(width, 6), 1)))
        start += width
    return spans


def failures(run: Run, table: list[Row], share: float) -> list[dict[str, Any]]:
    """The groups of failures with what the template needs of each; `share` scales the evidence from 1 down to 0."""
    anchors = {id(row.result): row.id for row in table}
    exchanges_by_id = grouping.by_id(run)
    groups = grouping.failures(run)
    return [_failure(run, group, anchors, exchanges_by_id, share) for group in groups[:SERVED_GROUPS]] + [
        {"group": group, "id": anchors[id(group.results[0])], "label": group.results[0].counted_as, "served": False}
        for group in groups[SERVED_GROUPS:]
    ]


def _failure(
    run: Run, group: Group, anchors: dict[int, str], exchanges_by_id: Mapping[str, Exchange], share: float
) -> dict[str, Any]:
    batches = sorted(
        grouping.alike(group.results), key=lambda batch: (batch[0].requirement != group.cause.requirement, -len(batch))
    )
    first = next((r for batch in batches for r in batch if r.exchanges), group.results[0])
    cited = grouping.evidence(run, first, exchanges_by_id)[-MAX_EXCHANGES:]
    return {
        "group": group,
        "served": True,
        "id": anchors[id(group.results[0])],
        "label": group.results[0].counted_as,
        "batches": [[(r, anchors[id(r)]) for r in batch] for batch in batches],
        "dependents": [(r, anchors[id(r)]) for r in group.dependents],
        "evidence": [
            exchange_view(e, int(SERVED_BODY * share), marks(first, e) if e is cited[-1] else None) for e in cited
        ],
        "compared": comparison(first, grouping.evidence(run, first, exchanges_by_id), int(SERVED_BODY * share)),
        "shown_for": first,
        "reproduce": next((r.reproduce for r in (first, *group.results) if r.reproduce), ""),
    }


def filter_of(outcome: str, words: str) -> str:
    """The address of the results table filtered by outcome and words."""
    return f"#results?{urlencode({'outcome': outcome, 'q': words}, errors='replace')}"


def columns(run: Run) -> list[OperationInfo]:
    """The operations, stable ones first."""
    return sorted(run.operations, key=lambda operation: operation.stability is Stability.CANDIDATE)


def spans(operations: list[OperationInfo]) -> list[tuple[str, int]]:
    """The column groups of a matrix: tier and width."""
    found = [(tier.value, sum(o.stability is tier for o in operations)) for tier in Stability]
    return [(name, count) for name, count in found if count]


def matrix(run: Run, table: list[Row]) -> list[tuple[RequirementRow, list[Cell | None]]]:
    """Requirement by operation; the last column is for what concerns no single operation."""
    places: dict[tuple[str, str], str] = {}
    for row in table:
        places.setdefault((row.result.requirement, row.result.operation), row.id)
    names = [operation.id for operation in columns(run)] + [""]
    return [(row, [_requirement_cell(row, name, places) for name in names]) for row in run.requirements]


def _requirement_cell(row: RequirementRow, operation: str, places: Mapping[tuple[str, str], str]) -> Cell | None:
    outcome = row.operations.get(operation)
    if outcome is None:
        return None
    anchor = places.get((row.id, operation), "") if outcome in (*grouping.EVIDENCE_OUTCOMES, *OPEN_OUTCOMES) else ""
    label = row.cell(operation) or outcome
    meaning = f"{row.id}, {operation or 'no single operation'}: {label}" if anchor else label
    return Cell(grouping.SYMBOLS[label], meaning, f"o-{label}", anchor)


def statuses(run: Run) -> list[tuple[str, str]]:
    """The columns of the heat map with their meaning: the declared statuses, then undeclared ones."""
    declared = [str(status) for status in STATUSES]
    seen = {status for cells in run.coverage.values() for status, count in cells.items() if count}
    extra = sorted(seen - set(declared), key=lambda status: (status == "none", status))
    labels = [(str(status), MEANINGS[status]) for status in STATUSES]
    return labels + [(status, "no answer" if status == "none" else "undeclared") for status in extra]


def heat(run: Run) -> list[tuple[OperationInfo, list[Cell]]]:
    """Operation by status, shaded by the logarithm of the count."""
    max_count = max((count for cells in run.coverage.values() for count in cells.values()), default=1)
    return [(o, [_heat_cell(run, o.id, name, max_count) for name, _ in statuses(run)]) for o in columns(run)]


def _heat_cell(run: Run, operation: str, status: str, max_count: int) -> Cell:
    count = run.coverage.get(operation, {}).get(status, 0)
    declared = status in map(str, STATUSES)
    if count:
        shade = min(5, 1 + int(5 * math.log1p(count) / math.log1p(max(max_count, 1))))
        answers = "answer" if count == 1 else "answers"
        count_text = f"{count:,} {answers}" if status != "none" else f"{count:,} without an answer"
        if not declared and status != "none" and _has_passed(run, _STATUSES_LAW, operation):
            return Cell(f"{count:,}", f"{operation} {status}: {count_text}, which {_STATUSES_LAW} allows", f"h{shade}")
        return Cell(f"{count:,}", f"{operation} {status}: {count_text}", f"h{shade}" if declared else "odd")
    reason = run.coverage_reasons.get(operation, {}).get(status, "never seen")
    return Cell("·", f"{operation} {status}: {reason if declared else 'never seen'}", "none" if declared else "quiet")


def _has_passed(run: Run, requirement: str, operation: str) -> bool:
    rows = (row for row in run.requirements if row.id == requirement)
    return any(row.operations.get(operation) == Outcome.PASSED for row in rows)


def reasons(run: Run) -> list[tuple[str, dict[str, list[str]]]]:
    """The reasons of empty heat map cells: reason, and operations by status."""
    found: dict[str, dict[str, list[str]]] = {}
    for operation, cells in run.coverage_reasons.items():
        for status, reason in cells.items():
            if not run.coverage.get(operation, {}).get(status):
                found.setdefault(reason, {}).setdefault(status, []).append(operation)
    return sorted(found.items())


def latency(run: Run) -> dict[str, Any]:
    """A row per operation with marks on one logarithmic scale, and the ticks of that scale."""
    latency_rows = [(o.id, run.traffic.latency[o.id]) for o in run.operations if o.id in run.traffic.latency]
    if "" in run.traffic.latency:
        latency_rows.append(("", run.traffic.latency[""]))
    values = [value for _, row in latency_rows for value in (row.p50, row.p90, row.p99) if value > 0]
    low, high = min(values, default=1.0), max(values, default=10.0)
    floor, top = math.log10(low) - 0.05, math.log10(max(high, low * 1.5)) + 0.05

    def x(value: float) -> float:
        return round(PLOT_WIDTH * (math.log10(max(value, low)) - floor) / (top - floor), 1)

    ticks = [(x(t), milliseconds(t)) for t in _ticks(low, high)]
    plot_rows = [
        {"name": name or "all operations", "total": not name, "of": row, "marks": [x(row.p50), x(row.p90), x(row.p99)]}
        for name, row in latency_rows
        if row.count
    ]
    return {"rows": plot_rows, "ticks": ticks, "width": PLOT_WIDTH}


def _ticks(low: float, high: float) -> Iterable[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    wide = math.log10(high / low) > 2 if low > 0 else False
    found = [step * 10.0**decade for decade in decades for step in ((1,) if wide else (1, 2, 5))]
    return [tick for tick in found if low <= tick <= high]


def names(table: list[Row], member: str) -> list[str]:
    """The choices of a filter by `operation` or `requirement`."""
    return sorted({str(getattr(row.result, member)) for row in table})


def has_rest(run: Run) -> bool:
    """Whether something neither passed nor failed."""
    return any(result.outcome not in (Outcome.PASSED, *BAD_OUTCOMES) for result in run.results)


def by_place(batch: list[tuple[Result, str]]) -> list[tuple[str, list[tuple[Result, str]]]]:
    """Results with their anchors by operation, or by check where there is none."""
    found: dict[str, list[tuple[Result, str]]] = {}
    for result, anchor in batch:
        found.setdefault(result.operation or result.check, []).append((result, anchor))
    return list(found.items())
