"""Results -> the facts that the profile could state, ranked by what each would decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from conformance.core.model import MissingFact, Result
from conformance.core.outcomes import Outcome
from conformance.profile.statements import exclusion_of_fact, statement_of_fact


def missing_facts(results: Iterable[Result]) -> tuple[MissingFact, ...]:
    """By key; those that keep the verdict open first, then by the number of results that wait for them."""
    by_fact: dict[str, list[Result]] = {}
    for result in results:
        if result.outcome is Outcome.UNSTATED:
            by_fact.setdefault(result.fact, []).append(result)
    found = (_missing_fact(key, unstated) for key, unstated in by_fact.items())
    return tuple(sorted(found, key=lambda fact: (not fact.keeps_open, -fact.results, fact.key)))


def _missing_fact(key: str, results: list[Result]) -> MissingFact:
    return MissingFact(
        key=key,
        reason=_reason(key, results),
        results=len(results),
        requirements=tuple(dict.fromkeys(result.requirement for result in results)),
        keeps_open=any(result.keeps_open for result in results),
        statement=statement_of_fact(key),
        exclusion=exclusion_of_fact(key),
    )


def _reason(key: str, results: list[Result]) -> str:
    """The most frequent reason for which the key is needed."""
    if not key:
        return ""
    reasons = Counter(result.general_message or f"the profile does not state {key}" for result in results)
    ((commonest, count),) = reasons.most_common(1)
    remaining = len(results) - count
    return commonest if not remaining else f"{commonest}, and {remaining:,} more for another reason"
