"""The summary of a run for a terminal: verdict, reasons and next commands. Plain lines or rich text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from conformance.core.model import Result, Run
from conformance.core.outcomes import Outcome, Verdict
from conformance.core.paths import display_command
from conformance.reports.shaping import counts, grouping, transcript
from conformance.reports.shaping.grouping import SYMBOLS, VERDICT_SYMBOLS, Group, Shortfall
from conformance.reports.shaping.text import clean, one_line, plural

__all__ = ["clean", "summary", "summary_lines"]

GROUPS, BATCHES, PLACES, REASONS, FACTS = 20, 3, 6, 12, 5
"""Limits: causes, batches of each, places of each batch, and reasons."""
STYLES = {
    Outcome.FAILED: "red",
    Outcome.BROKEN: "magenta",
    Outcome.WARNED: "yellow",
    Outcome.INCONCLUSIVE: "cyan",
    Outcome.UNTESTED: "cyan",
    Outcome.UNSTATED: "cyan",
    Outcome.INAPPLICABLE: "dim",
    Outcome.PASSED: "green",
}
VERDICT_STYLES = {
    Verdict.CONFORMANT: "bold green",
    Verdict.NONCONFORMANT: "bold red",
    Verdict.INCOMPLETE: "bold cyan",
    Verdict.BROKEN: "bold magenta",
}
Line = tuple[str, str]
"""Text without control sequences, and its rich style."""


def summary_lines(run: Run) -> list[str]:
    """The summary as plain lines, safe to print."""
    return [text for text, _ in _lines(grouping.bound_texts(run))]


def summary(run: Run) -> Text:
    """The summary with colours, for `rich.console.Console.print`; markup in the target's text is not interpreted."""
    found = Text()
    for text, style in _lines(grouping.bound_texts(run)):
        found.append(text + "\n", style=style)
    return found


def _lines(run: Run) -> Iterator[Line]:
    for text, style in _sections(run):
        yield clean(text), style


def _sections(run: Run) -> Iterator[Line]:
    groups = grouping.failures(run)
    for number, group in enumerate(groups[:GROUPS], 1):
        yield from _failure(number, group, run)
    if len(groups) > GROUPS:
        yield f"… and {plural(len(groups) - GROUPS, 'more cause')} of failure, in the reports", "red"
        yield "", ""
    yield from _warnings(run)
    yield from _not_judged(run)
    yield from _verdict(run)


def _failure(number: int, group: Group, run: Run) -> Iterator[Line]:
    first = group.results[0]
    style = "dim" if group.waiver else STYLES[first.outcome]
    names = ", ".join(clause.id for clause in group.clauses) or group.cause.id
    waiver_note = f" (waived until {group.waiver.until}, {group.waiver.issue})" if group.waiver else ""
    result_count = plural(len(group.results), "result")
    yield f"{SYMBOLS[first.outcome]} {number}. {names}: {one_line(group.title)}{waiver_note} [{result_count}]", style
    for clause in group.clauses:
        yield f"     clause    {clause.level}; {clause.section}", "dim"
    batches = grouping.alike(group.results)
    for batch in batches[:BATCHES]:
        yield from _batch(batch, group)
    if remaining := sum(len(batch) for batch in batches[BATCHES:]):
        yield f"     … and {plural(remaining, 'more result')}", ""
    if group.dependents:
        yield f"     {plural(len(group.dependents), 'check')} could not be judged because of it", "cyan"
    yield from _evidence(run, first)
    if command := next((r.reproduce for r in group.results if r.reproduce), ""):
        yield f"     again     {one_line(display_command(command, run.profile.path), 1000)}", "bold"
    yield "", ""


def _evidence(run: Run, result: Result) -> Iterator[Line]:
    if (exchange := transcript.deciding(run, result)) is None:
        return
    for number, line in enumerate(transcript.short(exchange, result)):
        yield f"     {'' if number else 'exchange':9} {line}", ""
    yield f"     curl      {transcript.command(exchange)}", "dim"


def _batch(batch: list[Result], group: Group) -> Iterator[Line]:
    first = batch[0]
    places = [f"{name} ({cases})" if cases else name for name, cases in grouping.places(batch, 2)]
    suffix = f" and {len(places) - PLACES} more" if len(places) > PLACES else ""
    message = grouping.general(first.message, first) if len(batch) > 1 else first.message
    detail = (
        f": {one_line(message)}"
        if grouping.general(first.message, first) != grouping.general(group.title, first)
        else ""
    )
    yield f"   - {', '.join(one_line(place, 100) for place in places[:PLACES])}{suffix}{detail}", ""
    for label in ("expected", "observed"):
        if text := grouping.general(getattr(first, label), first):
            yield f"     {label}  {one_line(text)}", ""


def _warnings(run: Run) -> Iterator[Line]:
    groups = grouping.warnings(run)
    for group in groups[:REASONS]:
        line = f"{SYMBOLS[Outcome.WARNED]} {group.results[0].requirement}: {one_line(group.title)}"
        yield f"{line} [{plural(len(group.results), 'result')}]", STYLES[Outcome.WARNED]
    if len(groups) > REASONS:
        yield f"  … and {plural(len(groups) - REASONS, 'more warning')}", STYLES[Outcome.WARNED]
    if groups:
        yield "", ""


def _not_judged(run: Run) -> Iterator[Line]:
    excluded = tuple(reason for reason in grouping.inapplicable(run) if reason.excluded)
    yield from _missing_facts(run)
    for reasons in (grouping.shortfalls(run), excluded):
        for reason in reasons[:REASONS]:
            yield _reason(reason)
        if len(reasons) > REASONS:
            yield f"  … and {plural(len(reasons) - REASONS, 'more reason')}", "dim"
        if reasons:
            yield "", ""


def _missing_facts(run: Run) -> Iterator[Line]:
    """The facts that would decide most, each with the lines to add."""
    style = STYLES[Outcome.UNSTATED]
    if run.missing:
        yield "Missing facts, by the number of results that each would decide", style
    for fact in run.missing[:FACTS]:
        keeps_open = ", keeps the verdict open" if fact.keeps_open else ""
        names = ", ".join(fact.requirements[:6]) + (", …" if len(fact.requirements) > 6 else "")
        yield (
            f"{SYMBOLS[Outcome.UNSTATED]} {fact.results} unstated{keeps_open}: {one_line(fact.reason)} ({names})",
            style,
        )
        yield f"    {one_line(_one_line_toml(fact.statement))}", ""
    if len(run.missing) > FACTS:
        yield (
            f"  … and {plural(len(run.missing) - FACTS, 'more fact')}: the page and run.json have them all",
            "dim",
        )
    if run.missing:
        yield "  a fact that is not there: `none` with a reason in its place (`conformance explain profile.KEY`)", "dim"
        yield "", ""


def _one_line_toml(statement: str) -> str:
    """`[search]` and `q_max = 1` as `[search] q_max = 1`."""
    return " ".join(statement.splitlines()[:3]) + (" …" if len(statement.splitlines()) > 3 else "")


def _reason(shortfall: Shortfall) -> Line:
    outcome = shortfall.results[0].outcome
    names = ", ".join(shortfall.requirements[:6]) + (", …" if len(shortfall.requirements) > 6 else "")
    count = len(shortfall.results)
    keeps_open = ", keeps the verdict open" if shortfall.keeps_open else ""
    return f"{SYMBOLS[outcome]} {count} {outcome}{keeps_open}: {one_line(shortfall.reason)} ({names})", STYLES[outcome]


def _verdict(run: Run) -> Iterator[Line]:
    for limit in grouping.limits(run):
        yield limit, "bold yellow"
    for waiver in run.waivers:
        if waiver.state == "expired":
            operation_note = f" on {waiver.operation}" if waiver.operation else ""
            message = f"The waiver of {waiver.requirement}{operation_note} expired on {waiver.until}"
            message += f" ({waiver.owner}, {waiver.issue})"
            yield f"{one_line(message)}: it excuses nothing.", "bold yellow"
    for name, tier in run.tiers.items():
        yield f"{VERDICT_SYMBOLS[tier.verdict]} {name:<10} {tier.verdict:<14} {tier.scope.summary}", ""
    yield f"results: {counts.headline(run)}", ""
    if remaining := grouping.left_behind(run):
        yield f"left behind: {one_line(remaining)}; run.json names each, [cleanup] removes them", "dim"
    duration_s = grouping.seconds(run) if run.parts == 1 else None
    cost = plural(run.traffic.requests, "request") + (f" in {duration_s:.1f} s" if duration_s is not None else "")
    cost += f" · {resume_note}" if (resume_note := grouping.resume_note(run)) else ""
    yield f"target {run.target} · profile {run.profile.name} · seed {run.seed} · {cost}", "dim"
    if waiting_line := grouping.waiting_text(run):
        yield waiting_line, "dim"
    yield f"{VERDICT_SYMBOLS[run.verdict]} {run.verdict.upper()}: {run.scope.summary}", VERDICT_STYLES[run.verdict]
