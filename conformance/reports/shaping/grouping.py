"""Results grouped for people: one entry for one cause, with the clause it violates.

Every format uses these functions, so that all reports agree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from conformance.core.messages import PREFIX_ADVICE, plural, without_operation
from conformance.core.model import Cause, Exchange, RequirementRow, Result, Run, Waiver
from conformance.core.outcomes import BAD_OUTCOMES, OPEN_OUTCOMES, WAIVED, Level, Outcome, Verdict
from conformance.journal.exchange_store import exchanges_by_id
from conformance.reports.shaping import traffic
from conformance.reports.shaping.text import clean, cut, milliseconds, one_line

EVIDENCE_OUTCOMES = frozenset({*BAD_OUTCOMES, Outcome.WARNED, Outcome.INCONCLUSIVE})
"""Outcomes whose exchanges are shown as evidence."""
SYMBOLS: Mapping[str, str] = {
    Outcome.PASSED: "✓",
    Outcome.FAILED: "✕",
    Outcome.WARNED: "▲",
    Outcome.INCONCLUSIVE: "?",
    Outcome.INAPPLICABLE: "–",
    Outcome.UNTESTED: "○",
    Outcome.UNSTATED: "□",
    Outcome.BROKEN: "!",
    WAIVED: "◇",
}
VERDICT_SYMBOLS: Mapping[Verdict, str] = {
    Verdict.CONFORMANT: "✓",
    Verdict.NONCONFORMANT: "✕",
    Verdict.INCOMPLETE: "?",
    Verdict.BROKEN: "!",
}
VERDICT_MEANING: Mapping[Verdict, str] = {
    Verdict.CONFORMANT: "Nothing failed that is not waived, and what is required was judged or is excluded.",
    Verdict.NONCONFORMANT: "The target violates a required or declared requirement.",
    Verdict.INCOMPLETE: "Nothing failed, but something required was not judged.",
    Verdict.BROKEN: "The suite itself erred; this says nothing about the target.",
}
OUTCOMES: tuple[str, ...] = (
    Outcome.FAILED,
    Outcome.BROKEN,
    WAIVED,
    Outcome.WARNED,
    Outcome.INCONCLUSIVE,
    Outcome.UNTESTED,
    Outcome.UNSTATED,
    Outcome.INAPPLICABLE,
    Outcome.PASSED,
)
"""The names under which results are counted, in display order."""


@dataclass(frozen=True, slots=True)
class Group:
    """Results of one cause: those that fail by it, and those that could not be judged because of it."""

    cause: Cause
    clauses: tuple[RequirementRow, ...]
    results: tuple[Result, ...]
    dependents: tuple[Result, ...] = ()
    waiver: Waiver | None = None

    @property
    def title(self) -> str:
        return self.cause.title

    @property
    def operations(self) -> tuple[str, ...]:
        return self.cause.operations

    @property
    def level(self) -> Level:
        """The level by which it counts: a stated fact may bind what its requirement only recommends."""
        return self.results[0].level


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Checks that were not judged for one reason."""

    reason: str
    results: tuple[Result, ...]

    @property
    def requirements(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(r.requirement for r in self.results))

    @property
    def keeps_open(self) -> bool:
        return any(result.keeps_open for result in self.results)

    @property
    def excluded(self) -> bool:
        return bool(self.results[0].exclusion)


def clauses(run: Run) -> dict[str, RequirementRow]:
    return {row.id: row for row in run.requirements}


def waiver_of(run: Run, result: Result) -> Waiver | None:
    """The active waiver that accepts this failure or gap, if one does."""
    return run.waivers[result.waived_by] if result.waived_by is not None else None


def waiver_text(waiver: Waiver) -> str:
    """`waived until 2026-01-31 by team-edge (EDGE-41): the gateway answers for the shop`."""
    return f"waived until {waiver.until} by {waiver.owner} ({waiver.issue}): {waiver.reason}"


def results_by_waiver(run: Run) -> tuple[tuple[Waiver, tuple[Result, ...]], ...]:
    """The active waivers, each with the results that it accepts."""
    accepted: dict[int, list[Result]] = {}
    for result in run.results:
        if result.waived_by is not None:
            accepted.setdefault(result.waived_by, []).append(result)
    return tuple((run.waivers[index], tuple(members)) for index, members in sorted(accepted.items()))


def failures(run: Run) -> tuple[Group, ...]:
    """Failed and broken results, one group for each cause of the run, in its order."""
    return _groups(run, (Outcome.FAILED, Outcome.BROKEN))


def _groups(run: Run, outcomes: Collection[Outcome]) -> tuple[Group, ...]:
    members: dict[tuple[str, int | None], list[Result]] = {}
    dependents: dict[str, list[Result]] = {}
    for result in run.results:
        if result.outcome in outcomes:
            members.setdefault((result.cause, result.waived_by), []).append(result)
        elif result.outcome in OPEN_OUTCOMES:
            dependents.setdefault(result.cause, []).append(result)
    rows = clauses(run)
    return tuple(
        Group(
            cause=cause,
            clauses=(rows[cause.requirement],) if cause.requirement in rows else (),
            results=_as_its_checks_rank(members[cause.id, cause.waived_by], cause),
            dependents=tuple(dependents.get(cause.id, ())),
            waiver=waiver_of(run, members[cause.id, cause.waived_by][0]),
        )
        for cause in run.causes
        if (cause.id, cause.waived_by) in members
    )


def _as_its_checks_rank(results: Iterable[Result], cause: Cause) -> tuple[Result, ...]:
    """Results of the cause's own requirement first, as the judge ranks its checks: they show it best."""
    rank = {check: number for number, check in enumerate(cause.checks)}
    return tuple(sorted(results, key=lambda result: rank.get(result.check, len(rank))))


def alike(results: Iterable[Result]) -> list[list[Result]]:
    """Groups results with the same texts, so that they are shown once for all operations."""
    found: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        texts = (general(result.message, result), general(result.expected, result), general(result.observed, result))
        found.setdefault(texts, []).append(result)
    return list(found.values())


def how_often(result: Result) -> str:
    """`3 of 40 answers`, for an invariant's violation; empty for other results."""
    return f"{result.violations:,} of {plural(result.answers, 'answer')}" if result.violations else ""


def places(batch: Iterable[Result], max_cases: int = 8) -> list[tuple[str, str]]:
    """The operations (or checks) of a batch, each with its cases in one line."""
    found: dict[str, list[str]] = {}
    for result in batch:
        found.setdefault(result.operation or result.check, []).append(result.case)
    return [(name, _cases([case for case in cases if case], max_cases)) for name, cases in found.items()]


def _cases(cases: list[str], max_cases: int) -> str:
    suffix = f" and {len(cases) - max_cases} more" if len(cases) > max_cases else ""
    return ", ".join(cut(case, 60) for case in cases[:max_cases]) + suffix


def warnings(run: Run) -> tuple[Group, ...]:
    """Warnings, one group for each cause: demanded by a standard only."""
    return _groups(run, (Outcome.WARNED,))


def shortfalls(run: Run) -> tuple[Shortfall, ...]:
    """Inconclusive and untested results by cause, without those that a failure explains or a waiver accepts."""
    resting_ids = {id(r) for group in failures(run) for r in group.dependents}
    found: dict[tuple[str, str], list[Result]] = {}
    for result in run.results:
        is_open = result.outcome in (Outcome.INCONCLUSIVE, Outcome.UNTESTED) and result.waived_by is None
        if is_open and id(result) not in resting_ids:
            cause, message = general(result.cause, result), general(result.message, result)
            found.setdefault((cause, message), []).append(result)
    return tuple(
        Shortfall(message or cause or members[0].outcome.value, tuple(members))
        for (cause, message), members in sorted(found.items(), key=lambda item: -len(item[1]))
    )


def general(text: str, result: Result) -> str:
    """The text without the operation's name: `quotePublicCart was refused` becomes `the operation was refused`."""
    return without_operation(text, result.operation)


THIN = 10
"""At least this many missing facts make a profile a thin one."""


def thin_profile_hint(run: Run) -> str:
    """Which commands find out what a thin profile does not state; empty for another profile."""
    if len(run.missing) < THIN:
        return ""
    return (
        f"The profile does not state {plural(len(run.missing), 'fact')}. `conformance probe` finds out what the target "
        "shows by itself, and `conformance init` asks for what only a person knows."
    )


def inapplicable(run: Run) -> tuple[Shortfall, ...]:
    """Inapplicable results by reason: exclusions of the profile first."""
    found: dict[tuple[str, str], list[Result]] = {}
    for result in run.results:
        if result.outcome is Outcome.INAPPLICABLE:
            message = result.message if result.exclusion else general(result.message, result)
            found.setdefault((result.fact if result.exclusion else "", message), []).append(result)
    return tuple(
        Shortfall(message or "not for this target", tuple(members))
        for (_, message), members in sorted(found.items(), key=lambda item: (not item[0][0], -len(item[1])))
    )


def evidence(run: Run, result: Result, exchanges_by_id: Mapping[str, Exchange] | None = None) -> tuple[Exchange, ...]:
    """The exchanges of a result, the decisive one last; those missing in the journal are omitted."""
    exchanges_by_id = by_id(run) if exchanges_by_id is None else exchanges_by_id
    return find_exchanges(result.exchanges, exchanges_by_id)


def find_exchanges(names: Iterable[str], exchanges_by_id: Mapping[str, Exchange]) -> tuple[Exchange, ...]:
    """The exchanges of these names; those missing in the journal are omitted."""
    return tuple(exchanges_by_id[name] for name in names if name in exchanges_by_id)


def evidence_by(run: Run) -> Callable[[Result], str]:
    """A function that returns one line for each exchange of a result, for logs; empty for passed results."""
    exchanges_by_id = by_id(run)

    def lines(result: Result) -> str:
        if result.outcome is Outcome.PASSED:
            return ""
        return "\n".join(exchange_line(exchange) for exchange in evidence(run, result, exchanges_by_id))

    return lines


def exchange_line(exchange: Exchange) -> str:
    """`x17 control: POST https://… -> 200 (12 ms)`."""
    purpose = f" {cut(exchange.purpose, 100)}:" if exchange.purpose else ""
    answer = str(exchange.status)
    if exchange.status is None:
        answer = f"no answer, {cut(exchange.trouble, 300) or 'cause unknown'}"
    request = f"{cut(exchange.method, 20)} {cut(exchange.url, 300)}"
    return f"{cut(exchange.id, 60)}{purpose} {request} -> {answer} ({milliseconds(exchange.duration_ms)})"


def by_id(run: Run) -> Mapping[str, Exchange]:
    """The run's exchanges by their names."""
    return exchanges_by_id(run.exchanges)


def limits(run: Run) -> list[str]:
    """Why the run is incomplete; empty for a complete one."""
    found = [text] if (text := traffic.statement(run)) else []
    statuses = {status for counts in run.coverage.values() for status, count in counts.items() if count}
    if statuses == {"404"}:
        found.append(f"Every answer was 404: {PREFIX_ADVICE}")
    if run.filtered:
        found.append("Some checks were deselected: a filtered run certifies nothing.")
    if run.interrupted:
        found.append(f"Cut short: {one_line(clean(run.interrupted), 300)}. What did not run is not judged.")
    elif not run.complete:
        found.append("The run did not reach its end.")
    elif run.observed is None:
        found += _reasons_of_unjudged_operations(run)
    return found


def _reasons_of_unjudged_operations(run: Run) -> Iterator[str]:
    """What could not be judged at all: the profile excludes it or lacks its facts, or the run was to change nothing."""
    unsent = {result.operation for result in run.results if result.cause == "read-only"}
    unstated = {result.operation for result in run.results if result.outcome is Outcome.UNSTATED}
    excluded = {result.operation for result in run.results if result.exclusion}
    unjudged = _unjudged_operations(run)
    reasons = {
        "a read-only run does not call": [name for name in unjudged if name in unsent],
        "the profile does not say how to call": [name for name in unjudged if name in unstated - unsent],
        "the profile excludes": [name for name in unjudged if name in excluded - unstated - unsent],
    }
    for reason, names in reasons.items():
        if names:
            count = plural(len(names), "operation")
            yield f"Nothing could be judged on {count}: {reason} {_format_names(names)}."


def _unjudged_operations(run: Run) -> list[str]:
    """The operations that no check could judge, for lack of facts; for a filtered run, among those selected."""
    judged = {
        r.operation for r in run.results if r.outcome not in (Outcome.UNSTATED, Outcome.INAPPLICABLE, Outcome.UNTESTED)
    }
    selected = {r.operation for r in run.results if not r.check.startswith("invariant::")}
    names = [shortfall.id for shortfall in run.operations if shortfall.id in selected or not run.filtered]
    return [operation for operation in names if operation not in judged]


def _format_names(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def left_behind(run: Run) -> str:
    """`12 cart, 3 webhook`: resources that the run created and did not remove."""
    remaining: dict[str, int] = {}
    for groups in run.created:
        remaining[groups.kind] = remaining.get(groups.kind, 0) + len(groups.left)
    return ", ".join(f"{count:,} {cut(kind, 40)}" for kind, count in remaining.items() if count)


def resume_note(run: Run) -> str:
    """How often the run was interrupted and resumed; empty for one that was not."""
    return f"resumed {plural(run.parts - 1, 'time')}" if run.parts > 1 else ""


def waiting_text(run: Run) -> str:
    """The waits of the run and their reasons; empty where there were none."""
    traffic = run.traffic
    if not traffic.retries and traffic.waited_s < 1:
        return ""
    causes = [plural(traffic.limited, "429")] if traffic.limited else []
    causes += [plural(traffic.lost, "lost answer")] if traffic.lost else []
    parts = [f"waited {traffic.waited_clock_s:.1f} s for {' and '.join(causes) or 'the rate'}"]
    parts += [plural(traffic.retries, "retry", "retries")] if traffic.retries else []
    parts += [f"at most {traffic.most_in_flight} in flight"] if traffic.most_in_flight else []
    parts += [f"slowed down to {traffic.slowest_rate:.1f} requests a second"] if traffic.slowest_rate else []
    return ", ".join(parts)


def seconds(run: Run) -> float | None:
    """How long the run took; None where its times cannot be read."""
    try:
        return (datetime.fromisoformat(run.finished_at) - datetime.fromisoformat(run.started_at)).total_seconds()
    except (ValueError, TypeError):
        return None


def epoch_ms(moment: str) -> int:
    """Milliseconds since 1970 of an ISO time; 0 where it cannot be read."""
    try:
        return int(datetime.fromisoformat(moment).timestamp() * 1000)
    except ValueError:
        return 0
