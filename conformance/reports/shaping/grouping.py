"""How results are told to a person: one entry for one cause, with the clause it violates.

Every format groups by these functions, so that the terminal, the page and the pipeline tell the same story.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from conformance.core.model import BAD, OPEN, Exchange, Outcome, RequirementRow, Result, Run, Verdict, Waiver
from conformance.journal.exchange_store import named
from conformance.reports.shaping.text import clean, cut, milliseconds, one_line, plural

TEXT_LIMIT = 8_000
"""Characters of one message, expectation or observation that any report repeats."""
_LIMITS = {"message": TEXT_LIMIT, "expected": TEXT_LIMIT, "observed": TEXT_LIMIT, "case": 1_000}
_LIMITS |= dict.fromkeys(("cause", "fact", "signature", "reproduce"), 2_000)
NOTES, NOTE_LIMIT = 50, 1_000
TOLD = frozenset({*BAD, Outcome.WARNED, Outcome.INCONCLUSIVE})
"""Outcomes whose exchanges are evidence that a reader would open."""
SYMBOLS: Mapping[Outcome, str] = {
    Outcome.PASSED: "✓",
    Outcome.FAILED: "✕",
    Outcome.WARNED: "▲",
    Outcome.INCONCLUSIVE: "?",
    Outcome.INAPPLICABLE: "–",
    Outcome.UNTESTED: "○",
    Outcome.UNSTATED: "□",
    Outcome.BROKEN: "!",
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
OUTCOMES = (
    Outcome.FAILED,
    Outcome.BROKEN,
    Outcome.WARNED,
    Outcome.INCONCLUSIVE,
    Outcome.UNTESTED,
    Outcome.UNSTATED,
    Outcome.INAPPLICABLE,
    Outcome.PASSED,
)
"""The order in which a reader wants them."""


@dataclass(frozen=True, slots=True)
class Group:
    """Results of one cause: those that show it, and those that could not be judged because of it."""

    key: str
    title: str
    clauses: tuple[RequirementRow, ...]
    results: tuple[Result, ...]
    resting: tuple[Result, ...] = ()
    waiver: Waiver | None = None

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(r.operation for r in self.results if r.operation))


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Checks that reached no verdict for one reason, and what would change that."""

    reason: str
    results: tuple[Result, ...]
    remedy: str = ""

    @property
    def requirements(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(r.requirement for r in self.results))

    @property
    def keeps_open(self) -> bool:
        return any(result.keeps_open for result in self.results)

    @property
    def excluded(self) -> bool:
        return bool(self.results[0].exclusion)


def identity(result: Result) -> str:
    """The same for the same check of the same thing in every run; 12 hexadecimal digits."""
    parts = (result.check, result.requirement, result.operation, result.case)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def identities(results: Iterable[Result]) -> list[str]:
    """`identity` of each, with `-2`, `-3`, ... where siblings do not differ."""
    seen: dict[str, int] = {}
    names = []
    for result in results:
        name = identity(result)
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return names


def bounded(run: Run) -> Run:
    """The run with every result's text cut to a size that a report can bear."""
    return replace(run, results=tuple(_bounded(result) for result in run.results))


def _bounded(result: Result) -> Result:
    changes: dict[str, Any] = {}
    for name, limit in _LIMITS.items():
        if len(text := getattr(result, name)) > limit:
            changes[name] = cut(text, limit)
    if len(result.notes) > NOTES or any(len(note) > NOTE_LIMIT for note in result.notes):
        changes["notes"] = tuple(cut(note, NOTE_LIMIT) for note in result.notes[:NOTES])
    return replace(result, **changes) if changes else result


def clauses(run: Run) -> dict[str, RequirementRow]:
    return {row.id: row for row in run.requirements}


def waiver_of(run: Run, result: Result) -> Waiver | None:
    """The active waiver that accepts this failure or gap, if one does."""
    return run.waivers[result.waived_by] if result.waived_by is not None else None


def failures(run: Run) -> tuple[Group, ...]:
    """What failed or broke, one group a cause; groups on which others rest come first, waived ones last."""
    heads: dict[tuple[str, bool], list[Result]] = {}
    resting: dict[str, list[Result]] = {}
    for result in run.results:
        if result.outcome in BAD:
            heads.setdefault((result.cause, result.waived_by is not None), []).append(result)
        elif result.outcome in OPEN:
            resting.setdefault(result.cause, []).append(result)
    groups = [_group(run, cause, members, resting.get(cause, [])) for (cause, _), members in heads.items()]
    return tuple(sorted(groups, key=lambda g: (g.waiver is not None, g.results[0].outcome, -len(g.resting))))


def alike(results: Iterable[Result]) -> list[list[Result]]:
    """Results that say the same put together, so that it is told once for all their operations."""
    found: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        said = (general(result.message, result), general(result.expected, result), general(result.observed, result))
        found.setdefault(said, []).append(result)
    return list(found.values())


def places(batch: Iterable[Result], most: int = 8) -> list[tuple[str, str]]:
    """Where a batch shows: each operation (or check, where there is none) with its cases in one line."""
    found: dict[str, list[str]] = {}
    for result in batch:
        found.setdefault(result.operation or result.check, []).append(result.case)
    return [(name, _cases([case for case in cases if case], most)) for name, cases in found.items()]


def _cases(cases: list[str], most: int) -> str:
    more = f" and {len(cases) - most} more" if len(cases) > most else ""
    return ", ".join(cut(case, 60) for case in cases[:most]) + more


def warnings(run: Run) -> tuple[Group, ...]:
    """What only a standard asks for and the target lacks, one group a requirement and check."""
    heads: dict[str, list[Result]] = {}
    for result in run.results:
        if result.outcome is Outcome.WARNED:
            heads.setdefault(result.cause, []).append(result)
    return tuple(_group(run, key, members, []) for key, members in heads.items())


def _group(run: Run, key: str, members: list[Result], resting: list[Result]) -> Group:
    rows = clauses(run)
    wanted = dict.fromkeys(r.requirement for r in members)
    first = members[0]
    message = general(first.message, first) if len({r.operation for r in members}) > 1 else first.message
    title = message or (rows[first.requirement].statement if first.requirement in rows else first.check)
    return Group(
        key=key,
        title=title,
        clauses=tuple(rows[name] for name in wanted if name in rows),
        results=tuple(members),
        resting=tuple(resting),
        waiver=waiver_of(run, first),
    )


def shortfalls(run: Run) -> tuple[Shortfall, ...]:
    """Inconclusive and untested results by cause, without those that rest on a failure that is shown."""
    explained = {id(r) for group in failures(run) for r in group.resting}
    found: dict[tuple[str, str], list[Result]] = {}
    for result in run.results:
        if result.outcome in (Outcome.INCONCLUSIVE, Outcome.UNTESTED) and id(result) not in explained:
            cause, message = general(result.cause, result), general(result.message, result)
            found.setdefault((cause, message), []).append(result)
    return tuple(
        Shortfall(message or cause or members[0].outcome.value, tuple(members), members[0].fact)
        for (cause, message), members in sorted(found.items(), key=lambda item: -len(item[1]))
    )


def general(text: str, result: Result) -> str:
    """What the text says whatever the operation: `quotePublicCart was refused` is `the operation was refused`."""
    return re.sub(rf"(?<![\w.]){re.escape(result.operation)}\b", "the operation", text) if result.operation else text


def unstated(run: Run) -> tuple[Shortfall, ...]:
    """Unstated results by the profile key that would enable them; what keeps the verdict open first."""
    found: dict[str, list[Result]] = {}
    for result in run.results:
        if result.outcome is Outcome.UNSTATED:
            found.setdefault(result.fact, []).append(result)
    made = (Shortfall(_lacking(fact, members), tuple(members), fact) for fact, members in found.items())
    return tuple(sorted(made, key=lambda one: (not one.keeps_open, -len(one.results))))


def inapplicable(run: Run) -> tuple[Shortfall, ...]:
    """Inapplicable results by reason: what the profile excludes, then what cannot exist on this target."""
    found: dict[tuple[str, str], list[Result]] = {}
    for result in run.results:
        if result.outcome is Outcome.INAPPLICABLE:
            message = result.message if result.exclusion else general(result.message, result)
            found.setdefault((result.fact if result.exclusion else "", message), []).append(result)
    return tuple(
        Shortfall(message or "not for this target", tuple(members))
        for (_, message), members in sorted(found.items(), key=lambda item: (not item[0][0], -len(item[1])))
    )


def _lacking(fact: str, members: Sequence[Result]) -> str:
    """What is needed of a profile key, in the words of most of the checks: it may be stated, but otherwise."""
    if not fact:
        return ""
    told = Counter(general(member.message, member) or f"the profile does not state {fact}" for member in members)
    ((most, count),) = told.most_common(1)
    others = len(members) - count
    return most if not others else f"{most}, and {others:,} more for another reason"


def evidence(run: Run, result: Result, known: Mapping[str, Exchange] | None = None) -> tuple[Exchange, ...]:
    """The exchanges that a result rests on, the decisive one last; those the journal lacks are left out."""
    known = by_id(run) if known is None else known
    return tuple(known[name] for name in result.exchanges if name in known)


def evidence_by(run: Run) -> Callable[[Result], str]:
    """A function giving one line per exchange of a result, as logs want them: of what passed, none."""
    known = by_id(run)

    def told(result: Result) -> str:
        if result.outcome is Outcome.PASSED:
            return ""
        return "\n".join(exchange_line(exchange) for exchange in evidence(run, result, known))

    return told


def exchange_line(exchange: Exchange) -> str:
    """`x17 control: POST https://… -> 200 (12 ms)`."""
    purpose = f" {cut(exchange.purpose, 100)}:" if exchange.purpose else ""
    answer = str(exchange.status)
    if exchange.status is None:
        answer = f"no answer, {cut(exchange.trouble, 300) or 'unknown why'}"
    request = f"{cut(exchange.method, 20)} {cut(exchange.url, 300)}"
    return f"{cut(exchange.id, 60)}{purpose} {request} -> {answer} ({milliseconds(exchange.duration_ms)})"


def by_id(run: Run) -> Mapping[str, Exchange]:
    """The run's exchanges by their names."""
    return named(run.exchanges)


def tier_of(run: Run, operation: str) -> str:
    return next((o.stability.value for o in run.operations if o.id == operation), "")


def headline(run: Run) -> str:
    """The causes of failure and the results by outcome, in one sentence."""
    groups = failures(run)
    open_groups = [g for g in groups if g.waiver is None]
    parts = []
    if open_groups:
        count = sum(len(g.results) for g in open_groups)
        parts.append(f"{plural(len(open_groups), 'cause')} of failure in {plural(count, 'result')}")
    if len(groups) > len(open_groups):
        parts.append(f"{len(groups) - len(open_groups)} waived")
    parts += [f"{run.counts[o]:,} {o}" for o in OUTCOMES if o not in BAD and run.counts.get(o)]
    return ", ".join(parts) or "no results"


def limits(run: Run) -> list[str]:
    """Why the run is less than a whole one; empty for a whole one."""
    found = []
    if run.filtered:
        found.append("Some checks were deselected: a filtered run certifies nothing.")
    if run.interrupted:
        found.append(f"Cut short: {one_line(clean(run.interrupted), 300)}. What did not run is not judged.")
    elif not run.complete:
        found.append("The run did not reach its end.")
    elif unasked := _unasked(run):
        told = plural(len(unasked), "operation")
        found.append(f"Nothing could be judged on {told}: the profile does not say how to call {_named(unasked)}.")
    return found


def _unasked(run: Run) -> list[str]:
    """The operations of which no check could say anything, for want of facts; of a filtered run, of those selected."""
    asked = {
        r.operation for r in run.results if r.outcome not in (Outcome.UNSTATED, Outcome.INAPPLICABLE, Outcome.UNTESTED)
    }
    selected = {r.operation for r in run.results if not r.check.startswith("invariant::")}
    wanted = [one.id for one in run.operations if one.id in selected or not run.filtered]
    return [operation for operation in wanted if operation not in asked]


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def left_behind(run: Run) -> str:
    """`12 cart, 3 webhook`: what the run made and did not remove; empty where there is nothing."""
    left: dict[str, int] = {}
    for made in run.created:
        left[made.kind] = left.get(made.kind, 0) + len(made.left)
    return ", ".join(f"{count:,} {cut(kind, 40)}" for kind, count in left.items() if count)


def resumed(run: Run) -> str:
    """How often the run was cut short and went on; empty for one that was not."""
    return f"resumed {plural(run.parts - 1, 'time')}" if run.parts > 1 else ""


def waiting(run: Run) -> str:
    """What was waited for, and how long; empty where nothing was."""
    traffic = run.traffic
    if not traffic.retries and traffic.waited_s < 1:
        return ""
    causes = [plural(traffic.limited, "429")] if traffic.limited else []
    causes += [plural(traffic.lost, "lost answer")] if traffic.lost else []
    told = [f"waited {traffic.waited_clock_s:.1f} s for {' and '.join(causes) or 'the rate'}"]
    told += [plural(traffic.retries, "retry", "retries")] if traffic.retries else []
    told += [f"at most {traffic.most_in_flight} in flight"] if traffic.most_in_flight else []
    told += [f"slowed down to {traffic.slowest_rate:.1f} requests a second"] if traffic.slowest_rate else []
    return ", ".join(told)


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
