"""The operation x status matrix: the answers seen, and for each empty cell of the 140 the reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from conformance.contract import Operation
from conformance.core.model import STATUSES, Exchange, Result
from conformance.core.outcomes import OPEN_OUTCOMES, Outcome

_PROVOKED_BY: Mapping[int, tuple[str, ...]] = {
    200: ("STA-2",),
    400: ("BODY-1", "BODY-2", "BODY-4", "SRCH-1"),
    401: ("AUTH-1", "AUTH-4", "OA-6", "OA-2"),
    403: ("SCO-1",),
    404: ("NF-1", "PUB-3"),
    409: ("IDEM-4", "CONF-1"),
    429: ("RATE-1",),
}
"""The requirements whose checks provoke a status."""


_SEND: Mapping[int, str] = {
    200: "a valid request",
    400: "a request that violates the contract, such as one without a required member",
    401: "a request without a key",
    403: "a request with a key that lacks the scope",
    404: "a request for an id that does not exist",
    409: "an idempotency key again with another payload, or a request that the state does not allow",
    429: "more requests than the limit allows",
}
"""What brings about a status, for traffic in which it was not seen."""


def coverage(exchanges: Iterable[Exchange], operations: Iterable[str]) -> dict[str, dict[str, int]]:
    """The number of answers by operation and status; `none` counts requests without an answer."""
    counts_by_operation: dict[str, Counter[str]] = {operation: Counter() for operation in operations}
    for exchange in exchanges:
        if exchange.operation in counts_by_operation:
            counts_by_operation[exchange.operation][
                str(exchange.status) if exchange.status is not None else "none"
            ] += 1
    return {operation: dict(sorted(counts.items())) for operation, counts in counts_by_operation.items()}


def unreachable(operation: Operation) -> dict[str, str]:
    """The declared statuses that no caller can provoke by the interface, with the reason."""
    reasons = {}
    if not operation.has_body and not operation.query_parameters:
        reasons["400"] = "it takes no body and no query: no request to it can violate the contract"
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
    counts_by_operation: Mapping[str, Mapping[str, int]],
    structural_reasons: Mapping[str, Mapping[str, str]],
    results: Sequence[Result],
    *,
    observed: bool = False,
) -> dict[str, dict[str, str]]:
    """The reason of each empty cell: from the interface, or from the outcome of the checks that provoke it.

    `observed`: the run sent nothing, so that the reason says what to send.
    """
    by_cell: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        by_cell[result.operation, result.requirement].append(result)
    reasons_by_operation: dict[str, dict[str, str]] = {}
    for operation, counts in counts_by_operation.items():
        reasons_by_operation[operation] = {}
        for status in STATUSES:
            if counts.get(str(status)):
                continue
            structural = structural_reasons.get(operation, {}).get(str(status))
            if observed:
                structural = structural or f"not seen in the traffic; send {_SEND[status]}"
            reasons_by_operation[operation][str(status)] = structural or _from_results(operation, status, by_cell)
    return reasons_by_operation


def _from_results(operation: str, status: int, by_cell: Mapping[tuple[str, str], list[Result]]) -> str:
    provoking = [r for requirement in _PROVOKED_BY[status] for r in by_cell.get((operation, requirement), ())]
    for outcome in (Outcome.FAILED, *OPEN_OUTCOMES, Outcome.INAPPLICABLE):
        for result in provoking:
            if result.outcome is outcome:
                return f"{result.requirement} {outcome.value}: {result.message or 'no message'}"
    if provoking:
        return f"{provoking[0].requirement} was satisfied with another answer"
    return "no check that provokes it was selected"
