"""Results -> outcomes of requirements, states of waivers, verdicts (design, Run, verdict, exit code)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from conformance.model import (
    WORST_FIRST,
    Level,
    OperationInfo,
    Outcome,
    Requirement,
    RequirementRow,
    Result,
    Stability,
    Tier,
    Verdict,
    Waiver,
)

EXIT_CODES: Mapping[Verdict, int] = {
    Verdict.CONFORMANT: 0,
    Verdict.NONCONFORMANT: 1,
    Verdict.INCOMPLETE: 3,
    Verdict.BROKEN: 5,
}
EXIT_INTERRUPTED = 130


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """What several outcomes of one cell come to; untested where there are none."""
    found = set(outcomes)
    return next((outcome for outcome in WORST_FIRST if outcome in found), Outcome.UNTESTED)


def requirement_rows(requirements: Iterable[Requirement], results: Iterable[Result]) -> tuple[RequirementRow, ...]:
    """The matrix, one row a requirement that has a result."""
    cells: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        cells[result.requirement][result.operation].append(result.outcome)
    rows = []
    for requirement in requirements:
        if requirement.id not in cells:
            continue
        operations = {operation: worst(outcomes) for operation, outcomes in cells[requirement.id].items()}
        rows.append(
            RequirementRow(
                id=requirement.id,
                level=requirement.level,
                section=requirement.section,
                statement=requirement.statement,
                outcome=worst(operations.values()),
                operations=operations,
            )
        )
    return tuple(rows)


def excuses(waiver: Waiver, result: Result) -> bool:
    """Whether a waiver, in force, is for this very failure."""
    return _names(waiver, result) and waiver.signature in ("", result.signature)


def _names(waiver: Waiver, result: Result) -> bool:
    return result.outcome is Outcome.FAILED and _about(waiver, result)


def _about(waiver: Waiver, result: Result) -> bool:
    return (
        waiver.requirement == result.requirement
        and waiver.operation in ("", result.operation)
        and waiver.case in ("", result.case)
    )


def with_states(waivers: Iterable[Waiver], results: Sequence[Result], today: str) -> tuple[Waiver, ...]:
    """The waivers, each told what became of it. `today` is an ISO date."""
    told = []
    for waiver in waivers:
        if waiver.until < today:
            state = "expired"
        elif any(excuses(waiver, result) for result in results):
            state = "active"
        elif any(_names(waiver, result) for result in results):
            state = "mismatch"
        else:
            state = "unneeded" if any(_about(waiver, result) for result in results) else "unmatched"
        told.append(replace(waiver, state=state))
    return tuple(told)


def unwaived(results: Iterable[Result], waivers: Iterable[Waiver]) -> list[Result]:
    """The failures that nothing excuses."""
    active = [waiver for waiver in waivers if waiver.state == "active"]
    return [r for r in results if r.outcome is Outcome.FAILED and not any(excuses(w, r) for w in active)]


def verdict_of(results: Sequence[Result], waivers: Iterable[Waiver], *, whole: bool) -> Verdict:
    """`whole`: every check that the profile calls for was run to its end."""
    if any(result.outcome is Outcome.BROKEN for result in results):
        return Verdict.BROKEN
    if unwaived(results, waivers):
        return Verdict.NONCONFORMANT
    open_ends = (Outcome.INCONCLUSIVE, Outcome.UNTESTED)
    undecided = any(r.level is Level.REQUIRED and r.outcome in open_ends for r in results)
    if not whole or undecided or not any(r.outcome is Outcome.PASSED for r in results):
        return Verdict.INCOMPLETE
    return Verdict.CONFORMANT


def overall(verdict: Verdict, tiers: Mapping[str, Tier]) -> Verdict:
    """The verdict of the whole, which is conformant only where each tier is: one of which nothing was judged is not."""
    if verdict is Verdict.CONFORMANT and any(tier.verdict is not Verdict.CONFORMANT for tier in tiers.values()):
        return Verdict.INCOMPLETE
    return verdict


def counts_of(results: Iterable[Result]) -> dict[str, int]:
    found = Counter(result.outcome for result in results)
    return {outcome.value: found[outcome] for outcome in Outcome}


def tiers_of(
    results: Sequence[Result], operations: Iterable[OperationInfo], waivers: Sequence[Waiver], *, whole: bool
) -> dict[str, Tier]:
    """The verdict of each stability label by itself. What concerns no single operation counts in both."""
    label = {operation.id: operation.stability for operation in operations}
    tiers = {}
    for stability in Stability:
        own = [result for result in results if label.get(result.operation, stability) is stability]
        tiers[stability.value] = Tier(verdict_of(own, waivers, whole=whole), counts_of(own))
    return tiers
