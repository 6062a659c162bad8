"""The operation x status matrix: what was seen, and for each empty cell of the 140 why it is empty."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from conformance.contract import Operation
from conformance.core.model import OPEN, STATUSES, Exchange, Outcome, Result

_PROVOKED_BY: Mapping[int, tuple[str, ...]] = {
    200: ("STA-2",),
    400: ("BODY-1", "BODY-2", "BODY-4", "SRCH-1"),
    401: ("AUTH-1", "AUTH-4", "OA-6", "OA-2"),
    403: ("SCO-1",),
    404: ("NF-1", "PUB-3"),
    409: ("IDEM-4", "CONF-1"),
    429: ("RATE-1",),
}
"""Which requirements' checks bring about a status."""


def coverage(exchanges: Iterable[Exchange], operations: Iterable[str]) -> dict[str, dict[str, int]]:
    """How many answers of each status each operation gave; `none` counts requests without an answer."""
    seen: dict[str, Counter[str]] = {operation: Counter() for operation in operations}
    for exchange in exchanges:
        if exchange.operation in seen:
            seen[exchange.operation][str(exchange.status) if exchange.status is not None else "none"] += 1
    return {operation: dict(sorted(counts.items())) for operation, counts in seen.items()}


def unreachable(operation: Operation) -> dict[str, str]:
    """The declared statuses that nothing in the interface lets a caller bring about, and why."""
    reasons = {}
    if not operation.has_body and not operation.query_parameters:
        reasons["400"] = "it takes no body and no query: nothing that it is sent can miss the contract"
    if operation.auth == "none":
        reasons["401"] = "it is public: there is no authentication to fail"
    if not operation.scope:
        reasons["403"] = "it is public" if operation.auth == "none" else "it demands no scope"
    if not operation.path_parameters:
        reasons["404"] = "its path names no resource that could be missing"
    if not operation.idempotent:
        reasons["409"] = "it has neither an idempotency key nor a state to conflict with"
    return reasons


def reasons(
    seen: Mapping[str, Mapping[str, int]], unreached: Mapping[str, Mapping[str, str]], results: Sequence[Result]
) -> dict[str, dict[str, str]]:
    """Why each cell that stayed empty did: from the interface, or from what became of the checks that provoke it."""
    by_cell: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        by_cell[result.operation, result.requirement].append(result)
    told: dict[str, dict[str, str]] = {}
    for operation, counts in seen.items():
        told[operation] = {}
        for status in STATUSES:
            if counts.get(str(status)):
                continue
            structural = unreached.get(operation, {}).get(str(status))
            told[operation][str(status)] = structural or _from_results(operation, status, by_cell)
    return told


def _from_results(operation: str, status: int, by_cell: Mapping[tuple[str, str], list[Result]]) -> str:
    tried = [r for requirement in _PROVOKED_BY[status] for r in by_cell.get((operation, requirement), ())]
    for outcome in (Outcome.FAILED, *OPEN, Outcome.INAPPLICABLE):
        for result in tried:
            if result.outcome is outcome:
                return f"{result.requirement} {outcome.value}: {result.message or 'no message'}"
    if tried:
        return f"{tried[0].requirement} was satisfied with another answer"
    return "no check that provokes it was selected"
