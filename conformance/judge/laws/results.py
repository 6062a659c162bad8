"""Recorded exchanges -> results of the laws, one for each law and operation that it concerns."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from conformance.core.law_facts import LawFacts
from conformance.core.model import Exchange, Result
from conformance.core.outcomes import Level, Outcome
from conformance.judge.laws.judgement import Judgement, Law
from conformance.judge.laws.registry import LAWS
from conformance.judge.laws.traffic import Traffic

PREFIX: Final = "law::"
_MOST_EXAMPLES: Final = 5


def law_results(exchanges: Sequence[Exchange], facts: LawFacts) -> tuple[Result, ...]:
    """One result for each law and each operation that it concerns.

    `failed`, or `warned` for what is only recommended; `passed` where at least one call or pair of calls decided;
    `unstated` with the missing fact; else `untested` with what to send.
    """
    traffic = Traffic(exchanges, facts)
    return tuple(result for law in LAWS for result in _results(law, traffic))


def _results(law: Law, traffic: Traffic) -> Iterator[Result]:
    found: dict[str, _Tally] = defaultdict(_Tally)
    missing = law.needs(traffic.facts)
    for judgement in () if missing else law.judge(traffic):
        found[judgement.operation].add(judgement)
    for operation, rule in traffic.facts.operations.items():
        if law.applies(rule) or operation in found:
            yield _result(law, operation, found[operation], missing, traffic)


class _Tally:
    """What a law says of one operation. Of what keeps it the last is held: a recording may have a million."""

    def __init__(self) -> None:
        self.violations: list[Judgement] = []
        self.confirmed = 0
        self.last: Judgement | None = None

    def add(self, judgement: Judgement) -> None:
        if judgement.message:
            self.violations.append(judgement)
        else:
            self.confirmed += 1
            self.last = judgement


def _result(law: Law, operation: str, found: _Tally, missing: str, traffic: Traffic) -> Result:
    name = PREFIX + law.requirement
    if missing:
        message = f"{missing} is needed: state it"
        return Result(name, law.requirement, operation, "", Outcome.UNSTATED, message, level=law.level, fact=missing)
    if found.violations:
        return _violation(law, name, operation, found.violations, traffic)
    if found.last is None:
        message = f"the traffic does not decide it: {law.send}"
        return Result(name, law.requirement, operation, "", Outcome.UNTESTED, message, level=law.level)
    return Result(
        check=name,
        requirement=law.requirement,
        operation=operation,
        case="",
        outcome=Outcome.PASSED,
        message=f"{found.confirmed} times",
        exchanges=traffic.ids(*found.last.calls),
        level=law.level,
    )


def _violation(law: Law, name: str, operation: str, violations: Sequence[Judgement], traffic: Traffic) -> Result:
    first = violations[0]
    level = law.violation_level or law.level
    others = [judgement.calls[-1] for judgement in violations[1:_MOST_EXAMPLES]]
    suffix = f" ({len(violations)} times)" if len(violations) > 1 else ""
    signature = hashlib.sha256(f"{name}|{operation}|{first.expected}".encode()).hexdigest()[:12]
    return Result(
        check=name,
        requirement=law.requirement,
        operation=operation,
        case="",
        outcome=Outcome.WARNED if level is Level.RECOMMENDED else Outcome.FAILED,
        message=first.message + suffix,
        expected=first.expected,
        observed=first.observed,
        exchanges=traffic.ids(*others, *first.calls),
        level=level,
        signature=signature,
    )
