"""Results -> results with their causes: what one defect explains has one cause, in every run the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from conformance.core.model import BAD, OPEN, Outcome, Result


def with_causes(results: Iterable[Result]) -> tuple[Result, ...]:
    """Each failure and warning with its cause, and each open result that rests on a failure with that one's."""
    named = tuple(map(_named, results))
    known = _known(named)
    return tuple(
        replace(result, cause=known[result.cause]) if result.outcome in OPEN and result.cause in known else result
        for result in named
    )


def _named(result: Result) -> Result:
    if result.cause or result.outcome not in (*BAD, Outcome.WARNED):
        return result
    return replace(result, cause=f"{result.requirement} {result.check}")


def _known(results: Iterable[Result]) -> Mapping[str, str]:
    """What checks name as the cause of an open result -> the cause of the failure that shows it."""
    known: dict[str, str] = {}
    bad = [result for result in results if result.outcome in BAD]
    known |= {result.cause: result.cause for result in bad}
    for result in bad:
        known.setdefault(f"check:{result.check}", result.cause)
        if result.requirement == "STA-2":  # "success is 200": what a control proves of its operation
            known.setdefault(f"control:{result.operation}", result.cause)
    return known
