"""Results -> the scope of a verdict: proven operations, judged requirements, gaps, exclusions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum

from conformance.core.model import Exchange, Exclusion, Gap, OperationInfo, Requirement, Result, Scope
from conformance.core.outcomes import JUDGED_OUTCOMES, OPEN_OUTCOMES, Level, Outcome, Stability

OBSERVED = "observed"
"""The purpose of an exchange that the suite did not send, and the word for a run of such exchanges."""
UNVERIFIED = "certificate not verified"
"""Stands in the summary of each scope, which no report leaves out."""
_CONTROL_PURPOSES = ("control", "control again", OBSERVED)


class _Cell(StrEnum):
    """The state of one requirement on one operation."""

    JUDGED = "judged"
    OPEN = "open"
    EXCLUDED = "excluded"
    ABSENT = "absent"
    """Nothing to judge, by the interface or by the profile."""


def proven_operations(exchanges: Iterable[Exchange]) -> frozenset[str]:
    """The operations whose control was answered 200."""
    return frozenset(e.operation for e in exchanges if e.status == 200 and e.purpose in _CONTROL_PURPOSES)


def scope_of(
    results: Sequence[Result],
    requirements: Iterable[Requirement],
    operations: Sequence[OperationInfo],
    proven: Collection[str],
    depth: str = "standard",
    *,
    unverified: bool = False,
) -> Scope:
    """The scope of a verdict on these operations. `results` are those of the operations, with their waivers.

    `depth`: of the run, or `observed` for a run that sent nothing. `unverified`: the target's certificate was not.
    """
    names = {operation.id for operation in operations}
    states = dict(_states(results, requirements, names))
    about = [name for name, state in states.items() if state is not _Cell.ABSENT]
    judged = tuple(name for name in about if states[name] is _Cell.JUDGED)
    good = tuple(operation.id for operation in operations if operation.id in proven)
    excluded = _exclusions(results)
    gaps = tuple(_gaps(results))
    waived = sum(result.waived_by is not None for result in results)
    return Scope(
        operations=len(operations),
        proven=good,
        unproven=tuple(operation.id for operation in operations if operation.id not in proven),
        requirements=len(about),
        judged=judged,
        open=gaps,
        exclusions=excluded,
        waived=waived,
        summary=", ".join(
            [
                f"{len(good)} of {_plural(len(operations), 'operation')}",
                f"{len(judged)} of {_plural(len(about), 'requirement')}",
                _plural(len(excluded), "exclusion"),
                *([f"{waived} waived"] if waived else []),
                *([f"{len(gaps)} open"] if gaps else []),
                *({"standard": [], OBSERVED: [OBSERVED]}.get(depth, [f"{depth} depth"])),
                *([UNVERIFIED] if unverified else []),
            ]
        ),
    )


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _states(
    results: Sequence[Result], requirements: Iterable[Requirement], operations: set[str]
) -> Iterable[tuple[str, _Cell]]:
    """Each requirement that is judged, with its state over all of its operations."""
    states: dict[str, set[_Cell]] = defaultdict(set)
    for (name, _), cell_results in _cells(results).items():
        states[name].add(_cell(cell_results))
    for requirement in requirements:
        if requirement.level is Level.OBSERVED or requirement.unchecked:
            continue
        if requirement.operations and not operations & set(requirement.operations):
            continue
        order = (_Cell.OPEN, _Cell.JUDGED, _Cell.EXCLUDED, _Cell.ABSENT)
        yield requirement.id, next((state for state in order if state in states[requirement.id]), _Cell.OPEN)


def _cells(results: Iterable[Result]) -> Mapping[tuple[str, str], list[Result]]:
    """The results by requirement and operation."""
    cells: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        cells[result.requirement, result.operation].append(result)
    return cells


def _cell(results: Sequence[Result]) -> _Cell:
    """One open result keeps the cell open. A cell with nothing but further cases was not judged."""
    if any(result.outcome in OPEN_OUTCOMES or result.outcome is Outcome.BROKEN for result in results):
        return _Cell.OPEN
    if any(result.outcome in JUDGED_OUTCOMES for result in results):
        return _Cell.JUDGED
    if any(result.exclusion for result in results):
        return _Cell.EXCLUDED
    return _Cell.OPEN if all(result.further for result in results) else _Cell.ABSENT


def results_of_further_cases(results: Iterable[Result]) -> list[Result]:
    """Results of required requirements whose cell has nothing but further cases."""
    return [
        cell_results[0]
        for cell_results in _cells(results).values()
        if cell_results[0].level is Level.REQUIRED
        and all(r.outcome is Outcome.INAPPLICABLE and r.further for r in cell_results)
    ]


def open_results(results: Sequence[Result]) -> list[Result]:
    """The results that keep a verdict open: required, not judged and not waived."""
    return [r for r in results if r.keeps_open] + [r for r in results_of_further_cases(results) if r.waived_by is None]


def _gaps(results: Sequence[Result]) -> Iterable[Gap]:
    """One gap for each requirement and operation."""
    by_place: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in open_results(results):
        by_place[result.requirement, result.operation].append(result)
    for place, found in by_place.items():
        yield Gap(*place, found[0].outcome, found[0].fact, reason=found[0].message, results=len(found))


def _exclusions(results: Iterable[Result]) -> tuple[Exclusion, ...]:
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for result in results:
        if result.exclusion:
            found[result.fact, result.exclusion].append(result.requirement)
    return tuple(
        Exclusion(fact, reason, tuple(dict.fromkeys(names)), len(names)) for (fact, reason), names in found.items()
    )


def by_tier(results: Sequence[Result], operations: Iterable[OperationInfo]) -> Mapping[str, list[Result]]:
    """The results by stability label; results without an operation count in both."""
    label = {operation.id: operation.stability for operation in operations}
    return {
        stability.value: [result for result in results if label.get(result.operation, stability) is stability]
        for stability in Stability
    }
