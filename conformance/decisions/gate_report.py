"""A gate's decision as lines, as annotations of a pipeline, and as JSON. Text of the target is escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import to_builtins

from conformance.core.messages import join_values, plural
from conformance.core.model import Result, Run, Waiver
from conformance.core.outcomes import WAIVED, Verdict
from conformance.decisions.gate import ALL, REGRESSIONS, Decision, Obstacle
from conformance.reports.shaping.grouping import SYMBOLS, waiver_text
from conformance.reports.shaping.text import console_text, one_line

_MAX_LINES = 20
_MAX_NAMES = 4
_ANNOTATIONS = 50
"""GitHub shows ten of a kind on the page and fifty of a job."""


def lines(decision: Decision, run: Run, *, verbose: bool = False) -> Iterator[str]:
    """The decision for a terminal: the answer, then a line for each cause. `verbose`: each result of a cause too."""
    yield answer(decision, run)
    yield from (f"! {console_text(one_line(reason))}" for reason in decision.reasons)
    groups = _by_cause(decision.obstacles, run)
    limit = len(groups) if verbose else _MAX_LINES
    for group in groups[:limit]:
        yield from _group_lines(group, run, verbose=verbose)
    if remaining := groups[limit:]:
        count = plural(sum(map(len, remaining)), "result")
        yield f"… and {count} more by {plural(len(remaining), 'cause')}: --verbose shows all"
    for text, results in _accepted_results(decision):
        yield f"{SYMBOLS[WAIVED]} {text}"
        yield from (f"    {_place(result)}" for result in results if verbose)
    if decision.allowed:
        count = plural(len(decision.allowed), "result")
        yield f"– {count} open, which the policy allows: {_format_counts(decision.allowed)}"
    if decision.fixed:
        yield f"✓ {plural(len(decision.fixed), 'result')} fixed since the baseline: {_format_counts(decision.fixed)}"
    for waiver in decision.waivers:
        if waiver.state != "active":
            yield f"– {_idle(waiver)}"


def _accepted_results(decision: Decision) -> Iterator[tuple[str, list[Result]]]:
    """Each active waiver in words, with the results that it accepts."""
    accepted: dict[Waiver, list[Result]] = {}
    for result, waiver in decision.excused:
        accepted.setdefault(waiver, []).append(result)
    for waiver, results in accepted.items():
        place = f"{waiver.requirement} in {plural(len(results), 'result')} on {_operations(results)}"
        yield console_text(one_line(f"{place}: {waiver_text(waiver)}", 300)), results


def _idle(waiver: Waiver) -> str:
    on = f" on {waiver.operation}" if waiver.operation else ""
    text = f"the waiver of {waiver.requirement}{on} ({waiver.issue}, until {waiver.until}) is {waiver.state}"
    return console_text(one_line(text, 300))


def _by_cause(obstacles: Iterable[Obstacle], run: Run) -> list[list[Obstacle]]:
    """Obstacles of one kind that one cause explains; within a kind in the order of the run's causes.

    What was not judged is explained by the fact that is missing, or by the reason that was given.
    """
    groups: dict[tuple[Any, ...], list[Obstacle]] = {}
    for obstacle in obstacles:
        result = obstacle.result
        explanation = result.cause or result.fact or f"{result.requirement} {result.general_message}"
        groups.setdefault((obstacle.kind, obstacle.before, explanation), []).append(obstacle)
    ranks = {cause.id: rank for rank, cause in enumerate(run.causes)}
    kinds = list(dict.fromkeys(kind for kind, *_ in groups))
    order = sorted(groups, key=lambda key: (kinds.index(key[0]), ranks.get(key[2], len(ranks))))
    return [groups[key] for key in order]


def _group_lines(group: list[Obstacle], run: Run, *, verbose: bool) -> Iterator[str]:
    yield f"✕ {_summary_of(group, run)}"
    if verbose and len(group) > 1:
        yield from (f"    {_place(o.result)}: {console_text(one_line(o.result.message))}" for o in group)
    if command := next((obstacle.result.reproduce for obstacle in group if obstacle.result.reproduce), ""):
        yield f"    again  {console_text(one_line(command, 1000))}"


def _summary_of(group: list[Obstacle], run: Run) -> str:
    """`regressed, passed in the baseline: AUTH-1 in 3 results on a, b: ...`, with the title of the cause."""
    first = group[0]
    before = f", {first.before} in the baseline" if first.before else ""
    if len(group) == 1:
        return f"{first.kind}{before}: {_place(first.result)}: {console_text(one_line(first.result.message))}"
    titles = {cause.id: cause.title for cause in run.causes}
    title = titles.get(first.result.cause) or first.result.general_message
    results = [obstacle.result for obstacle in group]
    names = console_text(join_values(dict.fromkeys(result.requirement for result in results), _MAX_NAMES))
    place = f"{names} in {plural(len(group), 'result')} on {_operations(results)}"
    return f"{first.kind}{before}: {console_text(one_line(f'{place}: {title}', 400))}"


def _operations(results: Iterable[Result]) -> str:
    operations = list(dict.fromkeys(result.operation or "the service" for result in results))
    suffix = f" and {len(operations) - _MAX_NAMES} more" if len(operations) > _MAX_NAMES else ""
    return ", ".join(operations[:_MAX_NAMES]) + suffix


def _place(result: Result) -> str:
    case = f" ({one_line(result.case, 80)})" if result.case else ""
    return console_text(f"{result.requirement} on {result.operation or 'the service'}{case}")


def _format_counts(results: tuple[Result, ...]) -> str:
    counts = Counter(result.requirement for result in results)
    names = [f"{name} x {count}" if count > 1 else name for name, count in sorted(counts.items())]
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def answer(decision: Decision, run: Run) -> str:
    """`✓ passes: https://shop.example is conformant: 20 of 20 operations, ...`, with what narrows the decision."""
    tier = "" if decision.tier == ALL else f" ({decision.tier})"
    mark = "✓ passes" if decision.passed else "✕ blocked"
    target = f"{console_text(one_line(run.target))}{tier}"
    if decision.observed:
        new = "nothing new" if decision.baseline else "no violation"
        statement = f"{new} was found in the observed traffic of {target}, which is not a verdict"
    elif decision.depth:
        statement = f"nothing was found at {target} in {decision.depth} depth, which is not a verdict"
    else:
        statement = f"{target} is {decision.verdict}"
    parts = [f"{mark}: {statement}: {decision.scope.summary}"]
    if decision.policy:
        parts.append(f"under a policy: {'; '.join(decision.policy)}")
    if not decision.passed and decision.verdict is Verdict.CONFORMANT and decision.reasons:
        others = f", and {len(decision.reasons) - 1} more" if len(decision.reasons) > 1 else ""
        parts.append(f"{decision.reasons[0]}{others}")
    if decision.baseline:
        worse = sum(obstacle.kind in REGRESSIONS for obstacle in decision.obstacles)
        parts.append(f"{plural(worse, 'result')} worse than in the baseline")
    return "; ".join(parts)


def workflow_commands(decision: Decision, run: Run) -> Iterator[str]:
    """Workflow commands of GitHub Actions: an error for each cause and reason, a warning for each idle waiver."""
    groups = _by_cause(decision.obstacles, run)
    for group in groups[:_ANNOTATIONS]:
        result = group[0].result
        place = _place(result) if len(group) == 1 else f"{result.requirement} in {plural(len(group), 'result')}"
        command = f"again: {one_line(result.reproduce, 1000)}" if result.reproduce else ""
        message = "\n".join(part for part in (_summary_of(group, run), command) if part)
        yield _command("error", f"{group[0].kind}: {place}", message)
    if remaining := groups[_ANNOTATIONS:]:
        yield _command("error", "conformance", f"{plural(len(remaining), 'more cause')}: `conformance gate` lists them")
    for reason in decision.reasons:
        yield _command("error", "conformance", reason)
    for text, _ in _accepted_results(decision):
        yield _command("notice", "waived", text)
    for waiver in decision.waivers:
        if waiver.state != "active":
            yield _command("warning", "waiver", _idle(waiver))
    if decision.passed:
        yield _command("notice", "conformance", answer(decision, run))


def _command(name: str, title: str, message: str) -> str:
    return f"::{name} title={_property(console_text(one_line(title)))}::{_data(console_text(message))}"


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
