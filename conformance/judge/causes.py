"""Results -> results with their causes, and the causes: what one defect explains has one cause, the same in every run.

Failures of one requirement that deviate in one way have one cause: a defect shows on many operations, and to several
checks. A cause's signature names the requirement, the deviation and the checks that found it, so that a waiver of it
excuses no failure that another check finds later.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from conformance.core.model import Cause, Requirement, Result
from conformance.core.outcomes import BAD_OUTCOMES, OPEN_OUTCOMES, Outcome
from conformance.profile.statements import waiver_of_cause

_EXPLAINED = (*BAD_OUTCOMES, Outcome.WARNED)
_STATUS = re.compile(r"(?:status:)?([1-5]\d\d)")
_EXPECTS_STATUS = re.compile(r"\b[1-5]\d\d\b|\b4xx\b|refus|declared")
_CHANCE = ("check_generated::", "check_walks::", "check_concurrency::")
"""Checks whose requests, or the order of them, are random: two runs with different seeds may differ in them."""
_EFFECT = "effect:"
_WIDESPREAD = 3
"""A defect that a check finds on this many operations is one of all: on which of them it shows may be chance."""
_INVARIANT = "invariant::"
_NO_ANSWER = "no answer"
_ANOTHER_VALUE = "another value"


def deviation(result: Result) -> str:
    """What was observed in place of what must hold: a status, the kind of a malformed answer, or another value.

    A check may name a kind of its own: `not replayed`.

    Where a call must be answered 200, each 4xx is a refusal: which one it is depends on the state of the resource.
    It is free of ids, numbers and texts of the target, so that it is the same in every run.
    """
    if match := _STATUS.fullmatch(result.kind or result.observed):
        is_refusal = result.expected.startswith("200") and match[1].startswith("4")
        return "refused" if is_refusal else f"answered {match[1]}"
    if result.kind or result.check.startswith(_INVARIANT):
        return (result.kind or result.observed).partition(":")[0] or "an odd answer"
    return _NO_ANSWER if result.observed.startswith(_NO_ANSWER) else _ANOTHER_VALUE


def with_causes(results: Iterable[Result]) -> tuple[Result, ...]:
    """Each failure and warning with its cause, and each open result that rests on a failure with that one's."""
    stated = tuple(results)
    judged = tuple(map(_with_own_cause, stated))
    explained = _with_effects(stated, judged)
    causes = _causes_of_failures(explained)
    signatures = _signatures(result for result, before in zip(explained, judged, strict=True) if result is before)
    return tuple(_with_signature(_with_dependence(result, causes), signatures) for result in explained)


def _with_effects(results: Sequence[Result], judged: Sequence[Result]) -> tuple[Result, ...]:
    """Each failure that its check explains by another failure has the cause of that one, if it is there.

    The other one shows the defect on that operation in every run; this one by chance, or by its consequences alone. A
    warning has a cause of its own unless the other one fails on several operations: what a standard asks of one
    operation may be what is wrong there.
    """
    causes: dict[str, dict[str, str]] = {}
    for result in judged:
        if result.outcome is Outcome.FAILED:
            for name in (result.requirement, result.check):
                causes.setdefault(name, {}).setdefault(result.operation, result.cause)
    return tuple(
        replace(result, cause=cause) if (cause := _effect(before, causes)) else result
        for before, result in zip(results, judged, strict=True)
    )


def _effect(result: Result, causes: Mapping[str, Mapping[str, str]]) -> str:
    """The cause behind `effect:NAME:OPERATION`, of a requirement's failures or of a check's; empty if there is none."""
    if not result.cause.startswith(_EFFECT):
        return ""
    name, _, operation = result.cause.removeprefix(_EFFECT).rpartition(":")
    found = causes.get(name, {})
    if "::" in name and len(found) >= _WIDESPREAD:
        return found.get(operation, "") or min(found.values())
    return found.get(operation, "") if result.outcome is Outcome.FAILED else ""


def _with_own_cause(result: Result) -> Result:
    if (result.cause and not result.cause.startswith(_EFFECT)) or result.outcome not in _EXPLAINED:
        return result
    defect = result.check if result.outcome is Outcome.BROKEN else deviation(result)
    suffix = ", a warning" if result.outcome is Outcome.WARNED else ""
    return replace(result, cause=f"{result.requirement} {defect}{suffix}")


def _with_dependence(result: Result, causes: Mapping[str, str]) -> Result:
    if result.outcome in OPEN_OUTCOMES and result.cause in causes:
        return replace(result, cause=causes[result.cause])
    return result


def _with_signature(result: Result, signatures: Mapping[str, str]) -> Result:
    if result.outcome in _EXPLAINED and result.cause in signatures:
        return replace(result, cause_signature=signatures[result.cause])
    return result


def _causes_of_failures(results: Iterable[Result]) -> Mapping[str, str]:
    """The cause that a check gives an open result -> the cause of the failure that shows it."""
    failures = [result for result in results if result.outcome in BAD_OUTCOMES]
    causes = {result.cause: result.cause for result in failures}
    for result in failures:
        causes.setdefault(f"check:{result.check}", result.cause)
        if result.requirement == "STA-2":  # "success is 200": what a control proves of its operation
            causes.setdefault(f"control:{result.operation}", result.cause)
    return causes


def _signatures(results: Iterable[Result]) -> Mapping[str, str]:
    """By cause: 12 hexadecimal digits. `results` are those that another failure does not explain."""
    checks: dict[str, set[str]] = {}
    for result in results:
        if result.outcome in _EXPLAINED:
            checks.setdefault(result.cause, set()).add(result.check)
    return {cause: _signature(cause, found) for cause, found in checks.items()}


def _signature(cause: str, checks: Iterable[str]) -> str:
    certain = sorted(check for check in checks if not check.startswith(_CHANCE))
    return hashlib.sha256("\0".join((cause, *certain)).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def causes_of(results: Iterable[Result], requirements: Iterable[Requirement]) -> tuple[Cause, ...]:
    """The causes of failures and warnings: unwaived failures first, then by the results that they block and explain."""
    statements = {requirement.id: requirement.statement for requirement in requirements}
    explained: dict[tuple[str, int | None], list[Result]] = {}
    blocked: dict[str, int] = {}
    for result in results:
        if result.outcome in _EXPLAINED:
            explained.setdefault((result.cause, result.waived_by), []).append(result)
        elif result.outcome in OPEN_OUTCOMES:
            blocked[result.cause] = blocked.get(result.cause, 0) + 1
    found = [_cause(members, statements, blocked.get(name, 0)) for (name, _), members in explained.items()]
    return tuple(sorted(found, key=_rank))


def _rank(cause: Cause) -> tuple[object, ...]:
    return (cause.waived_by is not None, cause.outcome is Outcome.WARNED, -cause.blocked, -cause.results, cause.id)


def _is_collateral(result: Result) -> tuple[bool, bool, bool]:
    """A sort key: failures of the violated requirement come first, results of randomised checks last."""
    is_foreign = result.requirement != violated_requirement(result.cause)
    return is_foreign, result.outcome not in BAD_OUTCOMES, result.check.startswith(_CHANCE)


def violated_requirement(cause: str) -> str:
    return cause.partition(" ")[0]


def _cause(members: Sequence[Result], statements: Mapping[str, str], blocked: int) -> Cause:
    members = sorted(members, key=_is_collateral)
    first = members[0]
    statement = statements.get(first.requirement, "")
    is_of_status = _STATUS.fullmatch(first.observed) and (not first.expected or _EXPECTS_STATUS.search(first.expected))
    names_kind = is_of_status or (first.kind and not first.check.startswith(_INVARIANT))
    observed = deviation(first) if names_kind else first.general_message or deviation(first)
    return Cause(
        id=first.cause,
        signature=first.cause_signature,
        requirement=first.requirement,
        title=f"{statement or first.check} Instead: {observed}.",
        outcome=first.outcome,
        level=first.level,
        operations=tuple(dict.fromkeys(result.operation for result in members if result.operation)),
        checks=tuple(dict.fromkeys(result.check for result in members)),
        results=len(members),
        blocked=blocked,
        waived_by=first.waived_by,
        waiver=waiver_of_cause(first.requirement, first.cause_signature) if first.outcome is Outcome.FAILED else "",
    )
