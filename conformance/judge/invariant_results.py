"""Exchanges -> results of the invariants, one for each requirement and operation they apply to.

A violation that a failed check already shows, in the very exchange it failed for, is that check's: the same kind of
violation on that operation is then not counted a second time.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conformance.core.model import STATUSES, Exchange, Finding, Level, Outcome, Requirement, Result
from conformance.judge.invariants import SHAPE_CODE, UNREAD_CODE

INVARIANTS = ("STA-1", "STA-2", "ENV-1", "ENV-2", "ENV-3", "ENV-4", "ERR-1", "ERR-2", "RATE-2")
_SHOWN = 5
_PROVOKE = "rate_limit.provoke"
_OF_SUCCESS = ("STA-2", "ENV-2", "ENV-3", "ENV-4")

Seen = tuple[Exchange, Finding]


@dataclass(frozen=True)
class Evidence:
    """All that the invariants' results are made from, by operation."""

    exchanges: Mapping[str, Sequence[Exchange]]
    results: Mapping[str, Sequence[Result]]
    explained: Mapping[tuple[str, str, str], Result]
    """(operation, requirement, code) -> the failed check that shows it already."""
    exclusions: Mapping[str, str] = field(default_factory=dict)
    """The profile's: dotted key -> reason."""
    provokes: bool = False
    """Whether the profile lets a limit be provoked."""
    answer_schemas: Mapping[str, str] = field(default_factory=dict)
    """operationId -> the interface's name of the schema of its 200."""

    @classmethod
    def of(
        cls,
        exchanges: Iterable[Exchange],
        results: Iterable[Result],
        exclusions: Mapping[str, str] | None = None,
        *,
        provokes: bool = False,
        answer_schemas: Mapping[str, str] | None = None,
    ) -> Evidence:
        by_operation: dict[str, list[Exchange]] = defaultdict(list)
        violating: dict[str, Exchange] = {}
        for exchange in exchanges:
            by_operation[exchange.operation].append(exchange)
            if exchange.findings:
                violating[exchange.id] = exchange
        grouped: dict[str, list[Result]] = defaultdict(list)
        explained: dict[tuple[str, str, str], Result] = {}
        for result in results:
            grouped[result.operation].append(result)
            decisive = violating.get(result.exchanges[-1]) if result.exchanges else None
            if decisive is not None and result.outcome is Outcome.FAILED:
                for finding in decisive.findings:
                    if finding.requirement != result.requirement:
                        explained[decisive.operation, finding.requirement, finding.code] = result
        return cls(by_operation, grouped, explained, exclusions or {}, provokes, answer_schemas or {})


def invariant_results(
    requirements: Mapping[str, Requirement], evidence: Evidence, *, only_seen: bool = False
) -> list[Result]:
    """One result for each invariant and each operation that it applies to.

    `only_seen`: of a filtered run just those that looked at something; the rest was not asked for.
    """
    drift = _drifting_shapes(evidence)
    results = []
    for name in INVARIANTS:
        requirement = requirements.get(name)
        for operation in requirement.operations if requirement else ():
            assert requirement is not None
            if only_seen and not any(name in exchange.judged for exchange in evidence.exchanges.get(operation, ())):
                continue
            blank = Result(f"invariant::{name}", name, operation, "", Outcome.UNTESTED, level=requirement.level)
            result = _judge(blank, evidence)
            if name == "ERR-1" and result.outcome is Outcome.PASSED and operation in drift:
                result = _warned(result, drift[operation])
            results.append(result)
    return results


def _judge(blank: Result, evidence: Evidence) -> Result:
    exchanges = evidence.exchanges.get(blank.operation, ())
    looked = [exchange for exchange in exchanges if blank.requirement in exchange.judged]
    if not looked:
        return _unseen(blank, exchanges, evidence)
    seen = [
        (exchange, finding)
        for exchange in looked
        for finding in exchange.findings
        if finding.requirement == blank.requirement and finding.code != SHAPE_CODE
    ]
    own = [s for s in seen if (blank.operation, blank.requirement, s[1].code) not in evidence.explained]
    telling = [s for s in own if s[1].code != UNREAD_CODE]
    if telling:
        return _violation(blank, telling)
    if own:
        exchange, finding = own[0]
        return replace(blank, outcome=Outcome.INCONCLUSIVE, message=finding.message, exchanges=(exchange.id,))
    if seen:
        other = evidence.explained[blank.operation, blank.requirement, seen[0][1].code]
        message = f"what it saw is what {other.requirement} reports: {seen[0][1].message}"
        return replace(blank, outcome=Outcome.INCONCLUSIVE, message=message, cause=f"check:{other.check}")
    return replace(blank, outcome=Outcome.PASSED, exchanges=(looked[-1].id,), message=f"{len(looked)} answers")


def is_binding(finding: Finding) -> bool:
    """Whether a finding makes its row fail, where no failed check shows the same already."""
    return finding.level in (Level.REQUIRED, Level.DECLARED) and finding.code != SHAPE_CODE


def _violation(blank: Result, seen: Sequence[Seen]) -> Result:
    binding = [s for s in seen if is_binding(s[1])]
    shown = binding or list(seen)
    exchange, finding = shown[0]
    kinds = Counter(s[1].code for s in shown)
    more = f" ({len(shown)} answers in all, {len(kinds)} kinds)" if len(shown) > 1 else ""
    signature = hashlib.sha256(f"{blank.requirement}|{blank.operation}|{sorted(kinds)}".encode()).hexdigest()[:12]
    return replace(
        blank,
        outcome=Outcome.FAILED if binding else Outcome.WARNED,
        level=finding.level if not binding else blank.level,
        message=finding.message + more,
        observed=finding.code,
        exchanges=(*(s[0].id for s in shown[1:_SHOWN]), exchange.id),
        signature=signature,
    )


def _unseen(blank: Result, exchanges: Sequence[Exchange], evidence: Evidence) -> Result:
    results = evidence.results.get(blank.operation, ())
    if blank.requirement == "ENV-4" and any(map(_read, exchanges)):
        name = evidence.answer_schemas.get(blank.operation, "")
        return _lacking(blank, evidence, f"schemas.{name}", f"a schema of the answer is needed: state schemas.{name}")
    if blank.requirement == "RATE-2":
        return _no_429(blank, evidence, "no 429 was seen")
    if not exchanges:
        return _nothing_sent(blank, results)
    if blank.requirement == "ERR-1" and not any(map(_unread_error, exchanges)):
        return _no_429(blank, evidence, "no error was seen")
    what = "no 200" if blank.requirement in _OF_SUCCESS else "no answer"
    if blank.requirement == "ERR-1" or (what == "no 200" and any(e.status == 200 for e in exchanges)):
        what = "no body that a reader with limits takes"
    return replace(blank, outcome=Outcome.INCONCLUSIVE, message=f"{what} was seen", cause=f"control:{blank.operation}")


def _nothing_sent(blank: Result, results: Sequence[Result]) -> Result:
    """Untested, or what all checks of the operation say: that a fact is missing, or that it does not exist."""
    said = next((r for r in results if r.outcome is Outcome.UNSTATED), results[0] if results else None)
    if said is None or any(r.outcome not in (Outcome.UNSTATED, Outcome.INAPPLICABLE) for r in results):
        return replace(blank, message="nothing was sent")
    return replace(
        blank,
        outcome=said.outcome,
        message=said.message,
        fact=said.fact,
        exclusion=said.exclusion,
        further=said.further,
    )


def _no_429(blank: Result, evidence: Evidence, what: str) -> Result:
    """What a 429 would have shown: whether one may be provoked is the profile's to state."""
    if evidence.provokes:
        return replace(blank, outcome=Outcome.INCONCLUSIVE, message=what, cause="rate limit")
    return _lacking(blank, evidence, _PROVOKE, f"{what}: state {_PROVOKE} = true")


def _lacking(blank: Result, evidence: Evidence, fact: str, message: str) -> Result:
    """Unstated, or inapplicable where the profile excludes the fact or its table."""
    table, _, name = fact.partition(".")
    for key in (fact, f"{table}.names.{name}", table):
        if reason := evidence.exclusions.get(key):
            message = f"excluded by the profile ({key}): {reason}"
            return replace(blank, outcome=Outcome.INAPPLICABLE, message=message, fact=key, exclusion=reason)
    return replace(blank, outcome=Outcome.UNSTATED, message=message, fact=fact)


def _read(exchange: Exchange) -> bool:
    """A 200 whose body was no more than a reader takes: ENV-1 looks at each of those."""
    return exchange.status == 200 and "ENV-1" in exchange.judged


def _unread_error(exchange: Exchange) -> bool:
    """An error with a body beyond what a reader takes: of all that was judged, ERR-1 alone could not look."""
    return exchange.status in STATUSES and "STA-1" in exchange.judged and exchange.status != 200


def _drifting_shapes(evidence: Evidence) -> dict[str, tuple[Exchange, str]]:
    """Operations whose errors share no member with the commonest error of the run, and one such exchange."""
    shapes: Counter[str] = Counter()
    by_operation: dict[str, dict[str, Exchange]] = defaultdict(dict)
    for operation, exchanges in evidence.exchanges.items():
        for exchange in exchanges:
            for finding in exchange.findings:
                if finding.code == SHAPE_CODE:
                    shapes[finding.message] += 1
                    by_operation[operation].setdefault(finding.message, exchange)
    if len(shapes) < 2:
        return {}
    common = _names(shapes.most_common(1)[0][0])
    return {
        operation: (exchange, shape)
        for operation, found in by_operation.items()
        for shape, exchange in found.items()
        if not common & _names(shape)
    }


def _names(shape: str) -> set[str]:
    """The members of a shape. A redacted one is no JSON any more, and then counts as one of its own."""
    try:
        return set(json.loads(shape))
    except ValueError:
        return {shape}


def _warned(result: Result, drift: tuple[Exchange, str]) -> Result:
    exchange, shape = drift
    return replace(
        result,
        outcome=Outcome.WARNED,
        message=f"an error of another shape than the others: {shape}",
        exchanges=(exchange.id,),
        level=Level.RECOMMENDED,
        signature=hashlib.sha256(f"shape|{result.operation}".encode()).hexdigest()[:12],
    )
