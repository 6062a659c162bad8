"""A gate's decision as lines, as annotations of a pipeline, and as JSON. Text of the target is escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import to_builtins

from conformance.core.model import Result, Run
from conformance.decisions.gate import ALL, REGRESSIONS, Decision, Obstacle
from conformance.reports.shaping.text import clean, one_line, plural

_MAX_LINES = 20
_MAX_NAMES = 4
_ANNOTATIONS = 50
"""GitHub shows ten of a kind on the page and fifty of a job."""


def lines(decision: Decision, run: Run) -> Iterator[str]:
    """The decision for a terminal; the last line is the answer."""
    groups = _by_cause(decision.obstacles)
    for group in groups[:_MAX_LINES]:
        yield from _group_lines(group, run)
    if remaining := sum(map(len, groups[_MAX_LINES:])):
        yield f"… and {plural(remaining, 'more result')}"
    yield from (f"! {clean(one_line(reason))}" for reason in decision.reasons)
    for result, waiver in decision.excused:
        yield f"– waived until {waiver.until} by {waiver.owner}, {waiver.issue}: {_place(result)}"
    if decision.allowed:
        count = plural(len(decision.allowed), "result")
        yield f"– {count} open, which the policy allows: {_format_counts(decision.allowed)}"
    if decision.fixed:
        yield f"✓ {plural(len(decision.fixed), 'result')} fixed since the baseline: {_format_counts(decision.fixed)}"
    for waiver in decision.waivers:
        if waiver.state != "active":
            on = f" on {waiver.operation}" if waiver.operation else ""
            yield f"– the waiver of {waiver.requirement}{on} ({waiver.issue}, until {waiver.until}) is {waiver.state}"
    yield _answer(decision, run)


def _by_cause(obstacles: Iterable[Obstacle]) -> list[list[Obstacle]]:
    """Obstacles of one kind that one cause explains, in the order of the first of each."""
    groups: dict[tuple[Any, ...], list[Obstacle]] = {}
    for obstacle in obstacles:
        result = obstacle.result
        cause = (result.cause,) if result.cause else (result.requirement, result.operation, result.case)
        groups.setdefault((obstacle.kind, obstacle.before, *cause), []).append(obstacle)
    return list(groups.values())


def _group_lines(group: list[Obstacle], run: Run) -> Iterator[str]:
    yield f"✕ {_summary_of(group, run)}"
    if command := next((obstacle.result.reproduce for obstacle in group if obstacle.result.reproduce), ""):
        yield f"    again  {clean(one_line(command, 1000))}"


def _summary_of(group: list[Obstacle], run: Run) -> str:
    """`regressed, passed in the baseline: AUTH-1 on 3 operations: ...`, with the title of the cause."""
    first = group[0]
    before = f", {first.before} in the baseline" if first.before else ""
    if len(group) == 1:
        return f"{first.kind}{before}: {_place(first.result)}: {clean(one_line(first.result.message))}"
    titles = {cause.id: cause.title for cause in run.causes}
    title = titles.get(first.result.cause) or first.result.general_message
    operations = list(dict.fromkeys(obstacle.result.operation or "the service" for obstacle in group))
    names = ", ".join(operations[:_MAX_NAMES])
    names += f" and {len(operations) - _MAX_NAMES} more" if len(operations) > _MAX_NAMES else ""
    place = f"{first.result.requirement} in {plural(len(group), 'result')} on {names}"
    return f"{first.kind}{before}: {place}: {clean(one_line(title, 300))}"


def _place(result: Result) -> str:
    case = f" ({clean(one_line(result.case, 80))})" if result.case else ""
    return f"{result.requirement} on {result.operation or 'the service'}{case}"


def _format_counts(results: tuple[Result, ...]) -> str:
    counts = Counter(result.requirement for result in results)
    names = [f"{name} x {count}" if count > 1 else name for name, count in sorted(counts.items())]
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _answer(decision: Decision, run: Run) -> str:
    tier = "" if decision.tier == ALL else f" ({decision.tier})"
    mark = "✓ passes" if decision.passed else "✕ is blocked"
    parts = [f"{mark}: {clean(one_line(run.target))}{tier} is {decision.verdict}: {decision.scope.summary}"]
    if decision.policy:
        parts.append(f"under a policy: {'; '.join(decision.policy)}")
    if decision.baseline:
        worse = sum(obstacle.kind in REGRESSIONS for obstacle in decision.obstacles)
        parts.append(f"{plural(worse, 'result')} worse than in the baseline")
    return "; ".join(parts)


def workflow_commands(decision: Decision, run: Run) -> Iterator[str]:
    """Workflow commands of GitHub Actions, an error for each cause and reason, a warning for each idle waiver."""
    for group in _by_cause(decision.obstacles)[:_ANNOTATIONS]:
        result = group[0].result
        place = _place(result) if len(group) == 1 else f"{result.requirement} in {plural(len(group), 'result')}"
        message = "\n".join(
            part for part in (_summary_of(group, run), f"again: {result.reproduce}" if result.reproduce else "") if part
        )
        yield f"::error title={_property(f'{group[0].kind}: {place}')}::{_data(clean(message))}"
    for reason in decision.reasons:
        yield f"::error title={_property('conformance')}::{_data(clean(reason))}"
    for waiver in decision.waivers:
        if waiver.state != "active":
            message = f"the waiver of {waiver.requirement} ({waiver.issue}, until {waiver.until}) is {waiver.state}"
            yield f"::warning title={_property('waiver')}::{_data(clean(message))}"
    if decision.passed:
        yield f"::notice title={_property('conformance')}::{_data(_answer(decision, run))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def document(decision: Decision, run: Run) -> dict[str, Any]:
    """The decision as a JSON value."""

    def summarize(result: Result) -> dict[str, Any]:
        members = ("check", "requirement", "operation", "case", "outcome", "message", "signature", "reproduce")
        return {name: value for name, value in to_builtins(result).items() if name in members}

    return {
        "schema_version": 1,
        "target": run.target,
        "profile": run.profile.name,
        "tier": decision.tier,
        "passed": decision.passed,
        "exit_code": decision.exit_code,
        "verdict": decision.verdict.value,
        "scope": to_builtins(decision.scope),
        "policy": list(decision.policy),
        "baseline": decision.baseline,
        "obstacles": [
            {"why": o.kind.value, "before": o.before.value if o.before else None, **summarize(o.result)}
            for o in decision.obstacles
        ],
        "reasons": list(decision.reasons),
        "excused": [
            {**summarize(result), "issue": waiver.issue, "until": waiver.until} for result, waiver in decision.excused
        ],
        "allowed": [summarize(result) for result in decision.allowed],
        "fixed": [summarize(result) for result in decision.fixed],
        "waivers": [to_builtins(waiver) for waiver in decision.waivers],
    }
