"""Exchanges that others sent -> results of what traffic can decide, and what to send for the rest.

Traffic decides the invariants, and the laws over several exchanges. A requirement that needs a request which no
client sends by accident (a forged proof) has no result here, and stays open in the scope of the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from conformance.core.law_facts import LawFacts
from conformance.core.model import Exchange, OperationInfo, Requirement, Result
from conformance.core.observed_traffic import ObservedTraffic, TrafficGap
from conformance.core.outcomes import JUDGED_OUTCOMES, Outcome
from conformance.journal.lines import TrafficCounted, TrafficSource
from conformance.judge.invariant_results import BESIDE_CHECKS, Evidence, invariant_results
from conformance.judge.laws.results import law_results

_ADVICE: Final = {
    "STA-1": "any request to it",
    "STA-2": "a request that it answers with success",
    "ENV-1": "a request that it answers with 200",
    "ENV-2": "a request that it answers with 200",
    "ENV-3": "a request that it answers with 200",
    "ENV-4": "a request that it answers with 200",
    "ERR-1": "a request that it refuses, such as one for an unknown id or without a key",
    "ERR-2": "any request to it",
    "RATE-2": "more requests than its limit allows, until it answers 429",
    "ANS-1": "any request to it",
    "ANS-2": "a request that it answers with 200",
}
_STATED: Final = (Outcome.UNSTATED, Outcome.INAPPLICABLE)


def traffic_results(
    requirements: Mapping[str, Requirement], evidence: Evidence, exchanges: Sequence[Exchange], facts: LawFacts | None
) -> list[Result]:
    """One result for each requirement and operation that traffic can decide. `exchanges` have their messages.

    A recording may lack Authorization headers: a law judges what a call without one was answered.
    """
    found = [result for result in invariant_results(requirements, evidence) if result.requirement not in BESIDE_CHECKS]
    invariants = [_with_advice(result) for result in found]
    return [*invariants, *(law_results(exchanges, facts) if facts else ())]


def _with_advice(result: Result) -> Result:
    """An open result of an invariant with what to send; facts that the profile lacks are named as in any run."""
    if result.outcome in JUDGED_OUTCOMES or (result.outcome in _STATED and result.requirement != "RATE-2"):
        return result
    advice = _ADVICE[result.requirement]
    if result.outcome is Outcome.INCONCLUSIVE and result.exchanges:
        return result
    return replace(
        result, outcome=Outcome.UNTESTED, fact="", exclusion="", message=f"not seen in the traffic; send {advice}"
    )


def observed_traffic(
    source: TrafficSource | None,
    counts: Iterable[TrafficCounted],
    results: Sequence[Result],
    operations: Iterable[OperationInfo],
) -> ObservedTraffic | None:
    """What the traffic could and did decide; None for a run that sent its requests itself."""
    if source is None:
        return None
    known = {operation.id for operation in operations}
    possible = [result for result in results if result.outcome is not Outcome.INAPPLICABLE]
    decided = {result.requirement for result in possible if result.outcome in JUDGED_OUTCOMES}
    foreign, unknown, skipped = 0, dict[str, int](), dict[str, int]()
    for count in counts:
        foreign += count.foreign
        for total, part in ((unknown, count.unknown), (skipped, count.skipped)):
            for name, number in part.items():
                total[name] = total.get(name, 0) + number
    return ObservedTraffic(
        sources=source.sources,
        bodies=source.bodies,
        foreign=foreign,
        unknown=unknown,
        skipped=skipped,
        decidable=tuple(dict.fromkeys(result.requirement for result in possible)),
        decided=tuple(name for name in dict.fromkeys(result.requirement for result in possible) if name in decided),
        gaps=tuple(
            TrafficGap(result.requirement, result.operation, result.message)
            for result in possible
            if result.outcome not in JUDGED_OUTCOMES and result.operation in known
        ),
    )
