"""Results -> the facts that the profile could state, ranked by what each would decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from conformance.core.model import MissingFact, Result
from conformance.core.outcomes import Outcome
from conformance.profile.statements import exclusion_of_fact, statement_of_fact

_MAX_REASONS = 6


def missing_facts(results: Iterable[Result]) -> tuple[MissingFact, ...]:
    """By key; those that keep the verdict open first, then by the number of results that wait for them.

    A key with a value (`rate_limit.provoke = true`) and the same key without one are one fact.
    """
    by_path: dict[str, list[Result]] = {}
    for result in results:
        if result.outcome is Outcome.UNSTATED:
            by_path.setdefault(result.fact.partition(" = ")[0], []).append(result)
    found = (_missing_fact(unstated) for unstated in by_path.values())
    return tuple(sorted(found, key=lambda fact: (not fact.keeps_open, -fact.results, fact.key)))


def _missing_fact(results: list[Result]) -> MissingFact:
    key = max((result.fact for result in results), key=len)
    reasons = _reasons(key, results)
    return MissingFact(
        key=key,
        reason=_summary(reasons, len(results)),
        results=len(results),
        requirements=tuple(dict.fromkeys(result.requirement for result in results)),
        keeps_open=any(result.keeps_open for result in results),
        statement=statement_of_fact(key),
        exclusion=exclusion_of_fact(key),
        reasons=tuple(reason for reason, _ in reasons[:_MAX_REASONS]),
    )


def _reasons(key: str, results: list[Result]) -> list[tuple[str, int]]:
    """The reasons for which the key is needed, each with its number of results, the most frequent first."""
    if not key:
        return []
    return Counter(result.general_message or f"the profile does not state {key}" for result in results).most_common()


def _summary(reasons: list[tuple[str, int]], results: int) -> str:
    if not reasons:
        return ""
    commonest, count = reasons[0]
    return commonest if count == results else f"{commonest}, and {results - count:,} of the results for other reasons"
