"""Exchanges -> results of the invariants, one for each requirement and operation they apply to.

A violation in the very exchange for which a check failed belongs to that check: the same kind of violation on that
operation is not counted a second time, unless most answers of the operation have it, those of other checks too.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from msgspec.structs import replace

from conformance.core.model import STATUSES, Exchange, Finding, Requirement, Result
from conformance.core.outcomes import JUDGED_OUTCOMES, Level, Outcome
from conformance.judge.expectations import expectation
from conformance.judge.invariants import DISCARDED_CODE, SHAPE_CODE, UNREAD_CODE
from conformance.profile.exclusions import exclusion_keys

INVARIANTS = ("STA-1", "STA-2", "ENV-1", "ENV-2", "ENV-3", "ENV-4", "ERR-1", "ERR-2", "RATE-2", "ANS-1", "ANS-2")
BESIDE_CHECKS = ("PUB-1",)
"""Requirements that have checks of their own, and a row here only where the calls of any check were judged by them."""
_MAX_EXAMPLES = 5
_PROVOKE = "rate_limit.provoke"
_STATED_BY = {"ANS-1": "answers.fresh_headers", "ANS-2": "answers.further_members"}
_NEEDED = {
    "answers.fresh_headers": "a header that is new in each answer",
    "answers.further_members": "whether answers may have members beyond their schemas",
}
SHOWN_BY: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("STA-2", "ENV-1", "ENV-2", "ENV-3", "ENV-4"), ("VER-1",)),
    **dict.fromkeys(("STA-1", "ERR-2", "ANS-1", "ANS-2"), ("VER-1", "AUTH-3", "BODY-1", "SRCH-1")),
    "ERR-1": ("AUTH-3", "BODY-1", "SRCH-1"),
    "RATE-2": ("RATE-1",),
}
"""Invariant -> requirements whose checks get answers that it judges, with few requests: `-k STA-2` selects them."""
_OF_SUCCESS = ("STA-2", "ENV-2", "ENV-3", "ENV-4")

Occurrence = tuple[Exchange, Finding]


@dataclass(frozen=True)
class Evidence:
    """The input of the invariants' results, by operation."""

    exchanges: Mapping[str, Sequence[Exchange]]
    """Those with findings, and of those that differ in nothing the judge looks at the last one."""
    judged_counts: Mapping[tuple[str, str], int]
    """(operation, invariant) -> the number of answers that it judged."""
    results: Mapping[str, Sequence[Result]]
    reported_by: Mapping[tuple[str, str, str], Result]
    """(operation, requirement, code) -> the failed check that reports it already."""
    exclusions: Mapping[str, str] = field(default_factory=dict)
    """The profile's: dotted key -> reason."""
    provokes: bool = False
    """Whether the profile permits to provoke the rate limit."""
    answer_schemas: Mapping[str, str] = field(default_factory=dict)
    """operationId -> the interface's name of the schema of its 200."""
    further_members: str = ""
    """The profile's `answers.further_members`."""
    requests: Mapping[str, int] = field(default_factory=dict)
    """The number of requests that each check sent, by the check's id with operation and case."""
    failed: frozenset[str] = frozenset()
    """The checks that failed, by the same ids."""

    @classmethod
    def of(
        cls,
        exchanges: Iterable[Exchange],
        results: Iterable[Result],
        exclusions: Mapping[str, str] | None = None,
        *,
        provokes: bool = False,
        answer_schemas: Mapping[str, str] | None = None,
        further_members: str = "",
    ) -> Evidence:
        examples: dict[Hashable, tuple[int, Exchange]] = {}
        kinds: Counter[tuple[str, tuple[str, ...]]] = Counter()
        violating: dict[str, Exchange] = {}
        requests: Counter[str] = Counter()
        check_results = list(results)
        cited = {result.exchanges[-1] for result in check_results if result.exchanges}
        for number, exchange in enumerate(exchanges):
            is_violating = any(finding.code != SHAPE_CODE for finding in exchange.findings)
            kind = (exchange.operation, exchange.status, exchange.judged, exchange.findings)
            examples[exchange.id if is_violating else kind] = number, exchange
            kinds[exchange.operation, exchange.judged] += 1
            requests[exchange.check] += 1
            if exchange.findings and exchange.id in cited:
                violating[exchange.id] = exchange
        by_operation = _by_operation(example for _, example in sorted(examples.values(), key=itemgetter(0)))
        results_by_operation: dict[str, list[Result]] = defaultdict(list)
        reported_by: dict[tuple[str, str, str], Result] = {}
        for result in check_results:
            results_by_operation[result.operation].append(result)
            decisive = violating.get(result.exchanges[-1]) if result.exchanges else None
            if decisive is not None and result.outcome is Outcome.FAILED:
                for finding in decisive.findings:
                    if finding.requirement != result.requirement:
                        reported_by[decisive.operation, finding.requirement, finding.code] = result
        return cls(
            by_operation,
            _judged_counts(kinds),
            results_by_operation,
            reported_by,
            exclusions or {},
            provokes,
            answer_schemas or {},
            further_members,
            requests,
            frozenset(_check_id(result) for result in check_results if result.outcome is Outcome.FAILED),
        )


def _by_operation(exchanges: Iterable[Exchange]) -> dict[str, list[Exchange]]:
    found: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        found[exchange.operation].append(exchange)
    return found


def _judged_counts(kinds: Mapping[tuple[str, tuple[str, ...]], int]) -> Counter[tuple[str, str]]:
    """(operation, invariant) -> answers. `kinds`: (operation, the invariants that judged it) -> answers."""
    counts: Counter[tuple[str, str]] = Counter()
    for (operation, judged), count in kinds.items():
        for name in judged:
            counts[operation, name] += count
    return counts


def invariant_results(
    requirements: Mapping[str, Requirement], evidence: Evidence, *, only_judged: bool = False
) -> list[Result]:
    """One result for each invariant and each operation that it applies to.

    `only_judged`: for a filtered run, only invariants that judged at least one exchange.
    """
    drift = _drifting_shapes(evidence)
    results = []
    for name in INVARIANTS:
        requirement = requirements.get(name)
        for operation in requirement.operations if requirement else ():
            assert requirement is not None
            if only_judged and not evidence.judged_counts.get((operation, name)):
                continue
            blank = Result(f"invariant::{name}", name, operation, "", Outcome.UNTESTED, level=requirement.level)
            result = _judge(blank, evidence)
            if name == "ERR-1" and result.outcome is Outcome.PASSED and operation in drift:
                result = _warn(result, drift[operation])
            results.append(result)
    return [*results, *_of_other_calls(requirements, evidence)]


def _of_other_calls(requirements: Mapping[str, Requirement], evidence: Evidence) -> Iterator[Result]:
    for name in BESIDE_CHECKS:
        if requirement := requirements.get(name):
            for operation in requirement.operations:
                if evidence.judged_counts.get((operation, name)):
                    blank = Result(f"invariant::{name}", name, operation, "", Outcome.UNTESTED, level=requirement.level)
                    yield _judge(blank, evidence)


def _judge(blank: Result, evidence: Evidence) -> Result:
    exchanges = evidence.exchanges.get(blank.operation, ())
    judged_exchanges = [exchange for exchange in exchanges if blank.requirement in exchange.judged]
    if not judged_exchanges:
        return _no_evidence(blank, exchanges, evidence)
    occurrences = [
        (exchange, finding)
        for exchange in judged_exchanges
        for finding in exchange.findings
        if finding.requirement == blank.requirement and finding.code != SHAPE_CODE
    ]
    count = evidence.judged_counts[blank.operation, blank.requirement]
    explained = {
        code
        for code in {finding.code for _, finding in occurrences}
        if (blank.operation, blank.requirement, code) in evidence.reported_by
        and not _is_common(code, occurrences, count, evidence.failed)
    }
    unexplained = [s for s in occurrences if s[1].code not in explained]
    readable = [s for s in unexplained if s[1].code not in (UNREAD_CODE, DISCARDED_CODE)]
    if len(occurrences) < count and all(finding.code == DISCARDED_CODE for _, finding in unexplained):
        unexplained = []  # the other answers were read
        occurrences = [s for s in occurrences if s[1].code != DISCARDED_CODE]
    blank = replace(blank, answers=count)
    if readable:
        return _violation(blank, readable, evidence)
    if unexplained:
        exchange, finding = unexplained[0]
        return replace(blank, outcome=Outcome.INCONCLUSIVE, message=finding.message, exchanges=(exchange.id,))
    if occurrences:
        check_result = evidence.reported_by[blank.operation, blank.requirement, occurrences[0][1].code]
        message = f"reported by {check_result.requirement} already:  {occurrences[0][1].message}"
        return replace(blank, outcome=Outcome.INCONCLUSIVE, message=message, cause=f"check:{check_result.check}")
    return replace(blank, outcome=Outcome.PASSED, exchanges=(judged_exchanges[-1].id,), message=f"{count} answers")


def _is_common(code: str, occurrences: Sequence[Occurrence], answers: int, failed: frozenset[str]) -> bool:
    """Whether more than half of the answers have a violation of this kind, and not those of failed checks alone."""
    found = {exchange.id: exchange.check for exchange, finding in occurrences if finding.code == code}
    return 2 * len(found) > answers and not failed.issuperset(found.values())


def is_binding(finding: Finding) -> bool:
    """Whether a finding makes its row fail, unless a failed check reports it already."""
    return finding.level in (Level.REQUIRED, Level.DECLARED) and finding.code != SHAPE_CODE


def _violation(blank: Result, occurrences: Sequence[Occurrence], evidence: Evidence) -> Result:
    binding = [s for s in occurrences if is_binding(s[1])]
    reported = binding or list(occurrences)
    exchange, finding = reported[0]
    kinds = Counter(s[1].code for s in reported)
    signature = hashlib.sha256(f"{blank.requirement}|{blank.operation}|{sorted(kinds)}".encode()).hexdigest()[:12]
    return replace(
        blank,
        outcome=Outcome.FAILED if binding else Outcome.WARNED,
        level=finding.level if not binding else blank.level,
        message=finding.message,
        kind=finding.code,
        expected=expectation(finding, evidence.answer_schemas.get(blank.operation, "")),
        observed=finding.code.removeprefix("status:") if finding.code.startswith("status:") else finding.message,
        violations=len({s[0].id for s in reported}),
        exchanges=(*(s[0].id for s in reported[1:_MAX_EXAMPLES]), exchange.id),
        signature=signature,
        notes=_other_kinds(reported, kinds),
        reproduce=_cheapest_command(blank, reported, evidence),
    )


def _other_kinds(reported: Sequence[Occurrence], kinds: Counter[str]) -> tuple[str, ...]:
    """Where the answers violate it in several ways: the number of answers, and an example, of each."""
    messages = {finding.code: finding.message for _, finding in reversed(reported)}
    found = [f"{count:,} x {messages[code]}" for code, count in kinds.most_common(_MAX_EXAMPLES)]
    return tuple(found) if len(kinds) > 1 else ()


def _cheapest_command(blank: Result, reported: Sequence[Occurrence], evidence: Evidence) -> str:
    """The command that repeats the check with the fewest requests of those that showed it.

    Where only controls showed it, any check of the operation does, since it proves the control first.
    """
    seen = {exchange.check for exchange, _ in reported}
    commands = {_check_id(result): result.reproduce for result in evidence.results.get(blank.operation, ())}
    costs = [(name not in seen, evidence.requests[name], name) for name in commands if evidence.requests.get(name)]
    return commands[min(costs)[2]] if costs else ""


def _check_id(result: Result) -> str:
    """The `check` of the exchanges of a result."""
    return f"{result.check}[{result.operation}{f'-{result.case}' if result.case else ''}]"


def _no_evidence(blank: Result, exchanges: Sequence[Exchange], evidence: Evidence) -> Result:
    results = evidence.results.get(blank.operation, ())
    if not exchanges and any(key in evidence.exclusions for key in exclusion_keys(blank.operation)):
        return _missing_fact(blank, evidence, f"operations.{blank.operation}", "")
    if blank.requirement == "ENV-4" and any(map(_is_readable, exchanges)):
        return _missing_schema(blank, evidence)
    if blank.requirement in _STATED_BY and any("STA-1" in exchange.judged for exchange in exchanges):
        return _unstated_answers(blank, evidence)
    if blank.requirement == "RATE-2":
        return _no_429(blank, evidence, "no 429 was seen")
    if not exchanges:
        return _nothing_sent(blank, results)
    if blank.requirement == "ERR-1" and not any(map(_unread_error, exchanges)):
        return _no_429(blank, evidence, "no error was seen")
    observation = "no 200" if blank.requirement in _OF_SUCCESS else "no answer"
    if blank.requirement == "ERR-1" or (observation == "no 200" and any(e.status == 200 for e in exchanges)):
        observation = "no body within the limits of the parser"
    return replace(
        blank, outcome=Outcome.INCONCLUSIVE, message=f"{observation} was seen", cause=f"control:{blank.operation}"
    )


def _missing_schema(blank: Result, evidence: Evidence) -> Result:
    name = evidence.answer_schemas.get(blank.operation, "")
    return _missing_fact(blank, evidence, f"schemas.{name}", f"a schema of the answer is needed: state schemas.{name}")


def _unstated_answers(blank: Result, evidence: Evidence) -> Result:
    """Where there were answers, and the profile does not say what to judge them by."""
    fact = _STATED_BY[blank.requirement]
    if blank.requirement == "ANS-2" and evidence.further_members == "never":
        return _missing_schema(blank, evidence)
    if blank.requirement == "ANS-2" and evidence.further_members:
        return replace(blank, outcome=Outcome.INAPPLICABLE, message=f"further members are allowed ({fact})", fact=fact)
    return _missing_fact(blank, evidence, fact, f"{_NEEDED[fact]} is needed: state {fact}")


def _nothing_sent(blank: Result, results: Sequence[Result]) -> Result:
    """Untested, or the common outcome of the operation's checks: a missing fact, or inapplicable.

    A check that was judged by requests of other operations says nothing of why this one got none.
    """
    results = [r for r in results if r.outcome not in JUDGED_OUTCOMES]
    unstated = [r for r in results if r.outcome is Outcome.UNSTATED]
    # what most checks need is what the good request needs; one check alone may need more than that
    fact, _ = next(iter(Counter(r.fact for r in unstated).most_common(1)), ("", 0))
    representative = next((r for r in unstated if r.fact == fact), results[0] if results else None)
    if hindered := next((r for r in results if r.outcome is Outcome.INCONCLUSIVE and r.message), None):
        return replace(blank, message=hindered.message, cause=hindered.cause)
    if representative is None or any(r.outcome not in (Outcome.UNSTATED, Outcome.INAPPLICABLE) for r in results):
        return replace(blank, message="nothing was sent")
    return replace(
        blank,
        outcome=representative.outcome,
        message=representative.message,
        fact=representative.fact,
        exclusion=representative.exclusion,
        further=representative.further,
    )


def _no_429(blank: Result, evidence: Evidence, observation: str) -> Result:
    """The result where no 429 was seen: the profile states whether one may be provoked.

    Where RATE-1 is inapplicable, so is what rests on a 429.
    """
    for result in evidence.results.get(blank.operation, ()):
        if result.requirement == "RATE-1" and result.outcome is Outcome.INAPPLICABLE and not result.exclusion:
            return replace(blank, outcome=Outcome.INAPPLICABLE, message=result.message)
    if evidence.provokes:
        return replace(blank, outcome=Outcome.INCONCLUSIVE, message=observation, cause="rate limit")
    return _missing_fact(blank, evidence, _PROVOKE, f"{observation}: state {_PROVOKE} = true")


def _missing_fact(blank: Result, evidence: Evidence, fact: str, message: str) -> Result:
    """Unstated, or inapplicable where the profile excludes the fact, its table or the operation."""
    table, _, name = fact.partition(".")
    for key in (fact, f"{table}.names.{name}", table, *exclusion_keys(blank.operation)):
        if reason := evidence.exclusions.get(key):
            message = f"excluded by the profile ({key}): {reason}"
            return replace(blank, outcome=Outcome.INAPPLICABLE, message=message, fact=key, exclusion=reason)
    return replace(blank, outcome=Outcome.UNSTATED, message=message, fact=fact)


def _is_readable(exchange: Exchange) -> bool:
    """A 200 with a body within the parser's limits: ENV-1 judges each of those."""
    return exchange.status == 200 and "ENV-1" in exchange.judged


def _unread_error(exchange: Exchange) -> bool:
    """An error whose body exceeds the parser's limits: only ERR-1 could not judge it."""
    return exchange.status in STATUSES and "STA-1" in exchange.judged and exchange.status != 200


def _drifting_shapes(evidence: Evidence) -> dict[str, tuple[Exchange, str]]:
    """Operations whose errors share no member with the most common error of the run, with an example."""
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
    """The members of a shape. A redacted shape is not JSON, and counts as a single member."""
    try:
        return set(json.loads(shape))
    except ValueError:
        return {shape}


def _warn(result: Result, drift: tuple[Exchange, str]) -> Result:
    exchange, shape = drift
    return replace(
        result,
        outcome=Outcome.WARNED,
        message=f"an error whose shape differs from the others: {shape}",
        exchanges=(exchange.id,),
        level=Level.RECOMMENDED,
        signature=hashlib.sha256(f"shape|{result.operation}".encode()).hexdigest()[:12],
    )
