"""The summary of a run for a terminal: verdict, its scope, causes of failure, gaps. Plain lines or rich text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from conformance.core.messages import plural
from conformance.core.model import MissingFact, Result, Run
from conformance.core.outcomes import OPEN_OUTCOMES, WAIVED, Outcome, Verdict
from conformance.core.paths import display_command
from conformance.reports.shaping import counts, grouping, traffic, transcript
from conformance.reports.shaping.bounded_run import bound_texts
from conformance.reports.shaping.grouping import SYMBOLS, VERDICT_SYMBOLS, Group, Shortfall
from conformance.reports.shaping.text import clean, console_text, one_line

__all__ = ["clean", "print_summary", "summary", "summary_lines", "verdict_line"]

FULL_GROUPS, GROUPS, BATCHES, PLACES, REASONS, FACTS, NAMES = 3, 20, 3, 6, 12, 5, 4
"""Limits: causes with evidence, causes, batches of each, places of each batch, reasons, facts, names in a line."""
STYLES: dict[str, str] = {
    Outcome.FAILED: "red",
    Outcome.BROKEN: "magenta",
    WAIVED: "dim",
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
_MIN_WIDTH = 40


class Line(NamedTuple):
    """A line before it is wrapped."""

    text: str
    style: str = ""
    """Of rich."""
    hang: int = 2
    """The indentation of what follows when it is wrapped."""
    is_command: bool = False
    """Never wrapped, so that it can be copied."""


def verdict_line(run: Run) -> str:
    """`✓ CONFORMANT: 20 of 20 operations, 74 of 75 requirements, 12 exclusions`."""
    return console_text(f"{VERDICT_SYMBOLS[run.verdict]} {run.verdict.upper()}: {run.scope.summary}")


def summary_lines(run: Run, width: int | None = None, *, verbose: bool = False) -> list[str]:
    """The summary as plain lines, safe to print, wrapped at words to `width` columns, if given.

    `verbose`: the evidence of every cause, and every gap with its reason.
    """
    return [text for text, _ in _wrapped_lines(run, width, verbose=verbose)]


def summary(run: Run, width: int | None = None, *, verbose: bool = False) -> Text:
    """The summary with colours, for `rich.console.Console.print`; markup in the target's text is not interpreted."""
    found = Text()
    for text, style in _wrapped_lines(run, width, verbose=verbose):
        found.append(text + "\n", style=style)
    return found


def print_summary(console: Console, run: Run, *, verbose: bool = False) -> None:
    """Prints the summary: wrapped on a terminal, one line for each fact in a file."""
    width = console.width if console.is_terminal else None
    console.print(summary(run, width, verbose=verbose), highlight=False, soft_wrap=True, end="")


def _wrapped_lines(run: Run, width: int | None, *, verbose: bool) -> Iterator[tuple[str, str]]:
    for line in _sections(bound_texts(run), verbose=verbose):
        text = console_text(line.text)
        if width is None or line.is_command:
            yield text, line.style
        else:
            yield from ((piece, line.style) for piece in wrap(text, max(width, _MIN_WIDTH), line.hang))


def wrap(text: str, width: int, hang: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at blanks; a word that fits no line stays where it is."""
    words = text.lstrip(" ").split(" ")
    lines, current = [], " " * (len(text) - len(text.lstrip(" "))) + words[0]
    for word in words[1:]:
        extended = f"{current} {word}"
        if word and cell_len(extended) > width and hang + cell_len(word) <= width:
            lines.append(current.rstrip())
            extended = " " * hang + word
        current = extended
    return [*lines, current]


def _sections(run: Run, *, verbose: bool) -> Iterator[Line]:
    yield from _verdict(run)
    yield Line("")
    groups = grouping.failures(run)
    full_count = GROUPS if verbose else FULL_GROUPS
    for number, group in enumerate(groups[:GROUPS], 1):
        if number <= full_count and group.waiver is None:
            yield from _failure(number, group, run)
        else:
            yield _heading(number, group)
    if len(groups) > GROUPS:
        yield Line(f"… and {plural(len(groups) - GROUPS, 'more cause')} of failure, in the reports", "red")
    if len(groups) > full_count or (groups and groups[-1].waiver):
        yield Line("")
    yield from _warnings(run)
    yield from _obstacles(run)
    if verbose:
        yield from _not_judged(run)
    elif run.verdict is Verdict.INCOMPLETE:
        yield from _missing_facts(run)
    yield from _traffic(run, verbose=verbose)
    yield from _gaps(run, verbose=verbose)


def _traffic(run: Run, *, verbose: bool) -> Iterator[Line]:
    """What was left out of observed traffic, and what to send for what was not seen."""
    if run.observed is None:
        return
    for text in traffic.left_out(run.observed):
        yield Line(f"left out: {text}", "dim")
    found = traffic.advice(run.observed)
    for item in found if verbose else found[:REASONS]:
        yield Line(f"{SYMBOLS[Outcome.UNTESTED]} {traffic.advice_text(item)}", STYLES[Outcome.UNTESTED])
    if len(found) > REASONS and not verbose:
        yield Line(f"  … and {len(found) - REASONS} more of what to send: --verbose, or the report", "dim")
    yield Line("")


def _verdict(run: Run) -> Iterator[Line]:
    yield Line(verdict_line(run), VERDICT_STYLES[run.verdict])
    for name, tier in run.tiers.items():
        yield Line(f"  {VERDICT_SYMBOLS[tier.verdict]} {name:<10} {tier.verdict:<14} {tier.scope.summary}", hang=30)
    yield Line(f"  {counts.headline(run)}")
    for limit in grouping.limits(run):
        yield Line(f"  {limit}", "bold yellow")
    for waiver in run.waivers:
        if waiver.state == "expired":
            operation_note = f" on {waiver.operation}" if waiver.operation else ""
            message = f"The waiver of {waiver.requirement}{operation_note} expired on {waiver.until}"
            message += f" ({waiver.owner}, {waiver.issue})"
            yield Line(f"  {one_line(message)}: it excuses nothing.", "bold yellow")
    duration_s = grouping.seconds(run) if run.parts == 1 else None
    cost = plural(run.traffic.requests, "request") + (f" in {duration_s:.1f} s" if duration_s is not None else "")
    cost += f" · {resume_note}" if (resume_note := grouping.resume_note(run)) else ""
    yield Line(f"  target {run.target} · profile {run.profile.name} · seed {run.seed} · {cost}", "dim")
    if waiting_line := grouping.waiting_text(run):
        yield Line(f"  {waiting_line}", "dim")
    if remaining := grouping.left_behind(run):
        yield Line(
            f"  created and not removed: {one_line(remaining)}; run.json lists them, [cleanup] would remove them", "dim"
        )


def _heading(number: int, group: Group) -> Line:
    first = group.results[0]
    names = ", ".join(clause.id for clause in group.clauses) or group.cause.id
    waiver_note = f" ({one_line(grouping.waiver_text(group.waiver), 300)})" if group.waiver else ""
    result_count = plural(len(group.results), "result")
    text = f"{SYMBOLS[first.counted_as]} {number}. {names}: {one_line(group.title, 300)} [{result_count}]"
    return Line(text + waiver_note, STYLES[first.counted_as], hang=5)


def _failure(number: int, group: Group, run: Run) -> Iterator[Line]:
    yield _heading(number, group)
    for clause in group.clauses:
        yield Line(f"     clause    {group.level}; {clause.section}", "dim", hang=15)
    batches = grouping.alike(group.results)
    for batch in batches[:BATCHES]:
        yield from _batch(batch, group)
    if remaining := sum(len(batch) for batch in batches[BATCHES:]):
        yield Line(f"     … and {plural(remaining, 'more result')}")
    if group.dependents:
        yield Line(f"     {plural(len(group.dependents), 'check')} could not be judged because of it", "cyan", hang=5)
    yield from _evidence(run, group.results[0])
    if command := next((r.reproduce for r in group.results if r.reproduce), ""):
        text = one_line(display_command(command, run.profile.path), 1000)
        yield Line(f"     again     {text}", "bold", is_command=True)
    yield Line("")


def _evidence(run: Run, result: Result) -> Iterator[Line]:
    if (exchange := transcript.deciding(run, result)) is None:
        return
    for number, line in enumerate(transcript.short(exchange, result)):
        yield Line(f"     {'' if number else 'exchange':9} {line}", hang=17)
    yield Line(f"     curl      {transcript.command(exchange)}", "dim", is_command=True)


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
    yield Line(f"   - {', '.join(one_line(place, 100) for place in places[:PLACES])}{suffix}{detail}", hang=5)
    for label in ("expected", "observed"):
        if text := grouping.general(getattr(first, label), first):
            yield Line(f"     {label}  {one_line(text)}", hang=15)


def _warnings(run: Run) -> Iterator[Line]:
    groups = grouping.warnings(run)
    for group in groups[:REASONS]:
        line = f"{SYMBOLS[Outcome.WARNED]} {group.cause.requirement}: {one_line(group.title)}"
        yield Line(f"{line} [{plural(len(group.results), 'result')}]", STYLES[Outcome.WARNED])
    if len(groups) > REASONS:
        yield Line(f"  … and {plural(len(groups) - REASONS, 'more warning')}", STYLES[Outcome.WARNED])
    if groups:
        yield Line("")


def _obstacles(run: Run) -> Iterator[Line]:
    """Good requests that were refused, with the answer, and fixtures that failed: most gaps rest on these."""
    found: dict[str, list[Result]] = {}
    for result in (result for shortfall in grouping.shortfalls(run) for result in shortfall.results):
        if result.cause.startswith(("control:", "fixture:")):
            found.setdefault(result.cause, []).append(result)
    style, groups = STYLES[Outcome.INCONCLUSIVE], sorted(found.values(), key=len, reverse=True)
    for results in groups[:FULL_GROUPS]:
        first = next((result for result in results if result.exchanges), results[0])
        rest_note = f"[{plural(len(results), 'result')} not judged because of it]"
        yield Line(f"{SYMBOLS[Outcome.INCONCLUSIVE]} {one_line(first.message)} {rest_note}", style, hang=2)
        if first.cause.startswith("control:"):  # what was sent before a fixture failed does not show why
            yield from _evidence(run, first)
    if len(groups) > FULL_GROUPS:
        yield Line(f"  … and {plural(len(groups) - FULL_GROUPS, 'more obstacle')} of this kind, in the reports", style)
    if groups:
        yield Line("")


def _gaps(run: Run, *, verbose: bool) -> Iterator[Line]:
    """What was not judged, in one line, with the way to see all of it."""
    parts = []
    if gaps := run.scope.open:
        parts.append(f"{len(gaps)} open ({_names(tuple(gap.requirement for gap in gaps))})")
    if (unproven := run.scope.unproven) and not run.filtered:
        parts.append(f"{plural(len(unproven), 'operation')} never answered 200 ({_names(unproven)})")
    parts += [f"{run.counts[name]:,} {name}" for name in OPEN_OUTCOMES if run.counts.get(name)]
    if run.missing:
        facts = _names(tuple(fact.key for fact in run.missing))
        parts.append(f"{plural(len(run.missing), 'fact')} missing in the profile ({facts})")
    if run.counts.get(Outcome.INAPPLICABLE):
        parts.append(f"{run.counts[Outcome.INAPPLICABLE]:,} inapplicable")
    if exclusions := run.scope.exclusions:
        parts.append(plural(len(exclusions), "exclusion"))
    if parts:
        way = "" if verbose else "; each with its reason: --verbose, summary.md, or Warnings and gaps in the report"
        keeps_open = bool(run.scope.open or unproven)
        yield Line(f"not judged: {', '.join(parts)}{way}", STYLES[Outcome.INCONCLUSIVE] if keeps_open else "dim")


def _names(names: tuple[str, ...]) -> str:
    distinct = list(dict.fromkeys(names))
    return ", ".join(distinct[:NAMES]) + (f" and {len(distinct) - NAMES} more" if len(distinct) > NAMES else "")


def _not_judged(run: Run) -> Iterator[Line]:
    excluded = tuple(reason for reason in grouping.inapplicable(run) if reason.excluded)
    yield from _missing_facts(run, len(run.missing))
    for reasons in (grouping.shortfalls(run), excluded):
        yield from map(_reason, reasons)
        if reasons:
            yield Line("")


def _missing_facts(run: Run, limit: int = FACTS) -> Iterator[Line]:
    """The facts that would decide most, each with the lines to add."""
    if not run.missing:
        return
    style = STYLES[Outcome.UNSTATED]
    yield Line("Missing facts, by the number of results that each would decide", style)
    for fact in run.missing[:limit]:
        yield Line(f"{SYMBOLS[Outcome.UNSTATED]} {_fact(fact)}", style)
        yield Line(f"    {one_line(_one_line_toml(fact.statement))}", hang=4, is_command=True)
    if len(run.missing) > limit:
        yield Line(
            f"  … and {plural(len(run.missing) - limit, 'more fact')}: the page and run.json have them all", "dim"
        )
    yield Line(
        "  to exclude a fact that is not there, state `none` with a reason (`conformance explain profile.KEY`)", "dim"
    )
    yield Line("")


def _fact(fact: MissingFact) -> str:
    keeps_open = ", keeps the verdict open" if fact.keeps_open else ""
    names = ", ".join(fact.requirements[:6]) + (", …" if len(fact.requirements) > 6 else "")
    return f"{fact.results} unstated{keeps_open}: {one_line(fact.reason)} ({names})"


def _one_line_toml(statement: str) -> str:
    """`[search]` and `q_max = 1` as `[search] q_max = 1`."""
    return " ".join(statement.splitlines()[:3]) + (" …" if len(statement.splitlines()) > 3 else "")


def _reason(shortfall: Shortfall) -> Line:
    outcome = shortfall.results[0].outcome
    names = ", ".join(shortfall.requirements[:6]) + (", …" if len(shortfall.requirements) > 6 else "")
    count = len(shortfall.results)
    keeps_open = ", keeps the verdict open" if shortfall.keeps_open else ""
    text = f"{SYMBOLS[outcome]} {count} {outcome}{keeps_open}: {one_line(shortfall.reason)} ({names})"
    return Line(text, STYLES[outcome])
