"""Results -> outcomes of requirements, states of waivers, verdicts (design, Run, verdict, exit code)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from msgspec import structs

from conformance.core.model import OperationInfo, Requirement, RequirementRow, Result, Tier, Waiver
from conformance.core.outcomes import BAD_OUTCOMES, OPEN_OUTCOMES, WAIVED, WORST_FIRST, Level, Outcome, Verdict
from conformance.judge.causes import violated_requirement
from conformance.judge.scope import by_tier, open_results, scope_of


def worst_outcome(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of a cell with several outcomes; untested where there are none."""
    found = set(outcomes)
    return next((outcome for outcome in WORST_FIRST if outcome in found), Outcome.UNTESTED)


def decisive_outcome(outcomes: Sequence[tuple[Outcome, bool]]) -> tuple[Outcome, bool]:
    """The outcome of a cell, and whether a waiver accepts it. Each outcome comes with whether one does.

    A failure or gap that no waiver accepts decides first, then one that a waiver accepts.
    """
    unaccepted = worst_outcome(outcome for outcome, accepted in outcomes if not accepted)
    waived = [outcome for outcome, accepted in outcomes if accepted]
    if waived and (len(waived) == len(outcomes) or unaccepted not in (*BAD_OUTCOMES, *OPEN_OUTCOMES)):
        return worst_outcome(waived), True
    return unaccepted, False


def requirement_rows(requirements: Iterable[Requirement], results: Iterable[Result]) -> tuple[RequirementRow, ...]:
    """The matrix: one row for each requirement that has a result."""
    cells: dict[str, dict[str, list[tuple[Outcome, bool]]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        cells[result.requirement][result.operation].append((result.outcome, result.waived_by is not None))
    rows = []
    for requirement in requirements:
        if requirement.id not in cells:
            continue
        decided = {operation: decisive_outcome(outcomes) for operation, outcomes in cells[requirement.id].items()}
        rows.append(
            RequirementRow(
                id=requirement.id,
                level=requirement.level,
                section=requirement.section,
                statement=requirement.statement,
                outcome=decisive_outcome(list(decided.values()))[0],
                operations={operation: outcome for operation, (outcome, _) in decided.items()},
                waived=tuple(operation for operation, (_, accepted) in decided.items() if accepted),
            )
        )
    return tuple(rows)


OPERATION_REQUIREMENT: Final = "STA-2"
"""Success is 200: a waiver of it on an operation accepts that the operation was never answered 200."""


def waiver_accepts(waiver: Waiver, result: Result, unproven: Collection[str] = ()) -> bool:
    """Whether an unexpired waiver accepts this failure or gap. `unproven`: operations without a proven control."""
    if result.outcome is Outcome.FAILED:
        if waiver.signature and waiver.signature == result.cause_signature:  # also where the cause explains another one
            return names_result(waiver, structs.replace(result, requirement=violated_requirement(result.cause)))
        return names_result(waiver, result) and waiver.signature in ("", result.signature)
    if waiver.signature or not _is_gap(result):
        return False
    of_the_operation = _names_operation(waiver, result.operation) and result.operation in unproven
    return of_the_operation or names_result(waiver, result)


def _is_gap(result: Result) -> bool:
    return result.level is Level.REQUIRED and (result.outcome in OPEN_OUTCOMES or result.further)


def _names_operation(waiver: Waiver, operation: str) -> bool:
    return waiver.requirement == OPERATION_REQUIREMENT and bool(operation) and waiver.operation == operation


def names_result(waiver: Waiver, result: Result) -> bool:
    """Whether requirement, operation and case of a waiver are those of a result."""
    return (
        waiver.requirement == result.requirement
        and waiver.operation in ("", result.operation)
        and waiver.case in ("", result.case)
    )


def with_states(
    waivers: Iterable[Waiver], results: Sequence[Result], today: str, unproven: Collection[str] = ()
) -> tuple[Waiver, ...]:
    """The waivers, each with its state. `today` is an ISO date."""
    found = []
    for waiver in waivers:
        if waiver.until < today:
            state = "expired"
        elif any(waiver_accepts(waiver, result, unproven) for result in results):
            state = "active"
        elif any(result.outcome is Outcome.FAILED and names_result(waiver, result) for result in results):
            state = "mismatch"
        else:
            state = "unneeded" if any(names_result(waiver, result) for result in results) else "unmatched"
        found.append(replace(waiver, state=state))
    return tuple(found)


def with_waivers(
    results: Iterable[Result], waivers: Sequence[Waiver], unproven: Collection[str] = ()
) -> tuple[Result, ...]:
    """The results, each with the index of the active waiver that accepts it, if any."""
    active = [(place, waiver) for place, waiver in enumerate(waivers) if waiver.state == "active"]

    def assign_waiver(result: Result) -> Result:
        if result.outcome is Outcome.PASSED and result.waived_by is None:
            return result
        found = next((place for place, waiver in active if waiver_accepts(waiver, result, unproven)), None)
        return result if found == result.waived_by else structs.replace(result, waived_by=found)

    return tuple(map(assign_waiver, results))


def failures(results: Iterable[Result]) -> list[Result]:
    """The failures that no waiver accepts."""
    return [result for result in results if result.outcome is Outcome.FAILED and result.waived_by is None]


def unaccepted_operations(unproven: Iterable[str], waivers: Iterable[Waiver]) -> list[str]:
    """The operations without a proven control that no active waiver names, of whatever cause."""
    active = [waiver for waiver in waivers if waiver.state == "active" and not waiver.signature]
    return [name for name in unproven if not any(_names_operation(waiver, name) for waiver in active)]


def verdict_of(
    results: Sequence[Result],
    waivers: Iterable[Waiver] = (),
    *,
    whole: bool,
    unproven: Iterable[str] = (),
    tiers: Mapping[str, Tier] | None = None,
) -> Verdict:
    """The verdict on results whose waivers are matched: the only place where it is decided.

    `whole`: every check that the profile calls for was completed. `unproven`: the operations without a proven
    control. `tiers`: for a verdict on all operations, which is conformant only where each tier is.
    """
    if any(result.outcome is Outcome.BROKEN for result in results):
        return Verdict.BROKEN
    if failures(results):
        return Verdict.NONCONFORMANT
    is_open = open_results(results) or unaccepted_operations(unproven, waivers)
    open_tiers = any(tier.verdict is not Verdict.CONFORMANT for tier in (tiers or {}).values())
    if not whole or is_open or open_tiers or not any(r.outcome is Outcome.PASSED for r in results):
        return Verdict.INCOMPLETE
    return Verdict.CONFORMANT


def counts_of(results: Iterable[Result]) -> dict[str, int]:
    """Each result once: under `waived` where a waiver accepts it, else under its outcome."""
    found = Counter(result.counted_as for result in results)
    return {name: found[name] for name in (*(outcome.value for outcome in Outcome), WAIVED)}


def tiers_of(
    results: Sequence[Result],
    requirements: Sequence[Requirement],
    operations: Sequence[OperationInfo],
    waivers: Sequence[Waiver],
    proven: Collection[str],
    *,
    whole: bool,
    depth: str = "standard",
    unverified: bool = False,
) -> dict[str, Tier]:
    """The verdict of each stability label alone, with its scope."""
    tiers = {}
    for name, tier_results in by_tier(results, operations).items():
        scope = scope_of(
            tier_results,
            requirements,
            [operation for operation in operations if operation.stability == name],
            proven,
            depth,
            unverified=unverified,
        )
        verdict = verdict_of(tier_results, waivers, whole=whole, unproven=scope.unproven)
        tiers[name] = Tier(verdict, counts_of(tier_results), scope)
    return tiers
