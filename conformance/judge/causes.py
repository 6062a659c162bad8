"""Results -> results with their causes: what one defect explains has one cause, in every run the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from conformance.core.model import BAD_OUTCOMES, OPEN_OUTCOMES, Outcome, Result


def with_causes(results: Iterable[Result]) -> tuple[Result, ...]:
    """Each failure and warning with its cause, and each open result that rests on a failure with that one's."""
    with_own_cause = tuple(map(_with_own_cause, results))
    causes = _causes_of_failures(with_own_cause)
    return tuple(
        replace(result, cause=causes[result.cause])
        if result.outcome in OPEN_OUTCOMES and result.cause in causes
        else result
        for result in with_own_cause
    )


def _with_own_cause(result: Result) -> Result:
    if result.cause or result.outcome not in (*BAD_OUTCOMES, Outcome.WARNED):
        return result
    return replace(result, cause=f"{result.requirement} {result.check}")


def _causes_of_failures(results: Iterable[Result]) -> Mapping[str, str]:
    """The cause that a check gives an open result -> the cause of the failure that shows it."""
    failures = [result for result in results if result.outcome in BAD_OUTCOMES]
    causes = {result.cause: result.cause for result in failures}
    for result in failures:
        causes.setdefault(f"check:{result.check}", result.cause)
        if result.requirement == "STA-2":  # "success is 200": what a control proves of its operation
            causes.setdefault(f"control:{result.operation}", result.cause)
    return causes
