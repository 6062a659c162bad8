"""`summary.md`: the run for a pipeline's job page, within the size limits of all of them.

Text of the target is in code spans, where markup, mentions and references have no effect.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

from conformance.core.messages import plural
from conformance.core.model import Exchange, MissingFact, Result, Run
from conformance.core.outcomes import Outcome
from conformance.core.paths import display_command
from conformance.reports.shaping import counts, grouping, traffic, transcript
from conformance.reports.shaping.bounded_run import bound_texts
from conformance.reports.shaping.grouping import (
    OUTCOMES,
    SYMBOLS,
    VERDICT_MEANING,
    VERDICT_SYMBOLS,
    Group,
    Shortfall,
)
from conformance.reports.shaping.marks import marks
from conformance.reports.shaping.text import cut, one_line, size, visible, write

FILE = "summary.md"
LIMIT = 20_000
"""Bytes that the file should not exceed. GitHub refuses more than 1 MiB for one step, and a reader stops before."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a run is written."""

    causes: int = 25
    evidence: int = 25
    """Causes that are shown with their exchange, folded."""
    body: int = 600
    """Characters of a body."""
    batches: int = 5
    """Of results of a cause that have the same texts."""
    places: int = 13
    """Operations of a batch."""
    text: int = 300
    """Characters of an expectation or observation."""
    rows: int = 100
    """Requirements, and reasons why something was not judged."""


EXTENTS = (
    Extent(),
    Extent(evidence=10, body=400, batches=3, rows=40),
    Extent(evidence=5, body=300, batches=3, places=8, text=200, rows=25),
    Extent(evidence=3, body=200, batches=2, places=4, text=120, rows=15),
    Extent(evidence=1, body=200, batches=1, places=3, text=100, rows=8),
    Extent(causes=12, evidence=0, batches=1, places=2, text=60, rows=3),
)
"""From the whole to the least; the first that fits into `LIMIT` is written."""


def write_file(run: Run, directory: Path) -> Path:
    return write(directory / FILE, render(run))


def render(run: Run) -> str:
    run = bound_texts(run)
    for extent in EXTENTS:
        text = _render(run, extent)
        if size(text) <= LIMIT:
            break
    return text


def _render(run: Run, extent: Extent) -> str:
    parts = [
        _head(run),
        _tiers(run),
        *_failures(run, extent),
        _traffic(run, extent),
        _warnings(run, extent),
        _shortfalls(run, extent),
        _exclusions(run, extent),
        _requirements(run, extent),
        _waivers(run, extent),
        _remaining_resources(run),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def escape(text: str, limit: int = 300) -> str:
    """Escaped text on one line: no markup, no HTML."""
    text = re.sub(r"([\\`*_\[\]<>#!|~&@$]|:(?=//)|(?<=www)\.)", r"\\\1", visible(one_line(text, limit)))
    return re.sub(r"^([-+=]|\d+(?=[.)]))", r"&#8203;\1", text)


def code(text: str, limit: int = 300) -> str:
    """A code span that nothing in the text can end, usable in a table too."""
    text = visible(one_line(text, limit)).replace("|", "¦")
    if not text:
        return ""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def block(text: str) -> str:
    """A fenced block for a command, on one line so that nothing in it can end the fence."""
    return f"~~~sh\n{visible(one_line(text, 2000))}\n~~~"


def _head(run: Run) -> str:
    facts = [
        f"target {code(run.target)}",
        f"profile {code(run.profile.name)}",
        f"suite {code(run.suite.version)}",
        f"seed {code(str(run.seed))}",
        f"started {code(run.started_at)}",
        plural(run.traffic.requests, "request"),
        *filter(None, [grouping.resume_note(run), escape(grouping.waiting_text(run))]),
    ]
    lines = [
        f"# {VERDICT_SYMBOLS[run.verdict]} {run.verdict.capitalize()}: {escape(run.scope.summary)}",
        f"{VERDICT_MEANING[run.verdict]} {escape(counts.headline(run)).capitalize()}\\.",
        " · ".join(facts),
    ]
    lines += [f"> **{escape(limit)}**" for limit in grouping.limits(run)]
    return "\n\n".join(lines)


def _tiers(run: Run) -> str:
    head = "| tier | verdict | scope | " + " | ".join(f"{SYMBOLS[o]} {o}" for o in OUTCOMES) + " |"
    rule = "|---|---|---|" + "--:|" * len(OUTCOMES)
    rows = [(escape(name), tier.verdict, tier.scope, tier.counts) for name, tier in run.tiers.items()]
    rows.append(("**all**", run.verdict, run.scope, run.counts))
    lines = [
        f"| {name} | {verdict} | {escape(scope.summary)} | " + " | ".join(f"{n.get(o, 0):,}" for o in OUTCOMES) + " |"
        for name, verdict, scope, n in rows
    ]
    return "\n".join([head, rule, *lines])


def _failures(run: Run, extent: Extent) -> list[str]:
    groups = grouping.failures(run)
    if not groups:
        return []
    blocks = [_failure(group, run, extent, number) for number, group in enumerate(groups[: extent.causes])]
    parts = ["## Failures by cause", *blocks]
    if len(groups) > extent.causes:
        parts.append(f"… and {plural(len(groups) - extent.causes, 'more cause')}: see `report.html`.")
    return parts


def _failure(group: Group, run: Run, extent: Extent, number: int) -> str:
    name = ", ".join(clause.id for clause in group.clauses) or group.cause.id
    where = f"{plural(len(group.results), 'result')} {_operations_text(group)}".rstrip()
    lines = [f"### {_mark(group)} {escape(name)}: {escape(group.title)}", f"{where}{_clauses(group)}"]
    if group.waiver:
        lines.append(f"◇ {escape(grouping.waiver_text(group.waiver))}")
    batches = grouping.alike(group.results)
    lines.append("\n".join(_batch(batch, extent) for batch in batches[: extent.batches]))
    if remaining := sum(len(batch) for batch in batches[extent.batches :]):
        lines.append(f"… and {plural(remaining, 'more result')} of the same cause.")
    if group.dependents:
        lines.append(f"{plural(len(group.dependents), 'check')} could not be judged because of it.")
    if number < extent.evidence and (exchange := transcript.deciding(run, group.results[0])):
        lines.append(_evidence(exchange, group.results[0], extent))
    if command := next((r.reproduce for r in group.results if r.reproduce), ""):
        lines.append(block(display_command(command, run.profile.path)))
    return "\n\n".join(lines)


def _evidence(exchange: Exchange, result: Result, extent: Extent) -> str:
    """The decisive exchange and its curl line, folded. Every line begins with our own sign, so that none ends the
    fence."""
    transcript_lines = transcript.whole(exchange, marks(result, exchange), extent.body)
    lines = "\n".join(visible(cut(line, 400)) for line in transcript_lines)
    content = f"~~~text\n{lines}\n~~~\n\n{block(transcript.command(exchange))}"
    return fold("Exchange, and a curl line that repeats it", f"Exchange {code(exchange.id)}\n\n{content}")


def fold(title: str, content: str) -> str:
    """A section that a reader opens. The empty lines make its content Markdown again."""
    return f"<details><summary>{html.escape(visible(one_line(title)))}</summary>\n\n{content}\n\n</details>"


def _mark(group: Group) -> str:
    return SYMBOLS[group.results[0].counted_as]


def _operations_text(group: Group) -> str:
    if len(group.operations) == 1:
        return f"on {code(group.operations[0])}"
    return f"on {plural(len(group.operations), 'operation')}" if group.operations else ""


def _clauses(group: Group) -> str:
    return "".join(
        f"; {escape(row.id)}, {group.level}, interface section “{escape(row.section)}”" for row in group.clauses
    )


def _batch(batch: list[Result], extent: Extent) -> str:
    first = batch[0]
    places = [f"{code(name)} {code(cases)}".rstrip() for name, cases in grouping.places(batch)]
    suffix = f" and {len(places) - extent.places} more" if len(places) > extent.places else ""
    message = code(grouping.general(first.message, first) or first.outcome, extent.text)
    lines = [f"- {message}: {', '.join(places[: extent.places])}{suffix}"]
    texts = [(label, getattr(first, label)) for label in ("expected", "observed")]
    lines += [f"  - {label} {code(text, extent.text)}" for label, text in texts if text]
    return "\n".join(lines)


def _traffic(run: Run, extent: Extent) -> str:
    if run.observed is None:
        return ""
    parts = [f"- left out: {code(text, 1500)}" for text in traffic.left_out(run.observed)]
    advice = [f"- {code(traffic.advice_text(item), 500)}" for item in traffic.advice(run.observed)]
    if advice:
        parts.append(
            "\n" + fold(f"{plural(len(advice), 'kind')} of requests to send", _limit_lines(advice, extent, "more kind"))
        )
    return "## Observed traffic\n\n" + "\n".join(parts) if parts else ""


def _warnings(run: Run, extent: Extent) -> str:
    groups = grouping.warnings(run)
    lines = [
        f"- {escape(g.cause.requirement)}: {code(g.title, extent.text)} ({plural(len(g.results), 'result')})"
        for g in groups
    ]
    return "## Warnings\n\n" + _limit_lines(lines, extent, "more warning") if lines else ""


def _shortfalls(run: Run, extent: Extent) -> str:
    lines = [
        _reason(len(s.results), f"{s.results[0].outcome}{_keeps_open(s)}", s.reason, s.requirements, extent)
        for s in grouping.shortfalls(run)
    ]
    lines += [_reason(f.results, f"unstated{_keeps_open(f)}", f.reason, f.requirements, extent) for f in run.missing]
    lines += [
        _reason(len(s.results), "inapplicable", s.reason, s.requirements, extent) for s in grouping.inapplicable(run)
    ]
    if not lines:
        return ""
    reasons = fold(plural(len(lines), "reason"), _limit_lines(lines, extent, "more reason"))
    return f"## Not judged\n\n{reasons}"


def _reason(results: int, outcome: str, reason: str, requirements: tuple[str, ...], extent: Extent) -> str:
    return f"- {plural(results, 'result')} {outcome}: {code(reason, extent.text)} ({_names(requirements)})"


def _keeps_open(gap: Shortfall | MissingFact) -> str:
    return ", keeps the verdict open" if gap.keeps_open else ""


def _exclusions(run: Run, extent: Extent) -> str:
    lines = [
        f"- {code(e.fact)}: {code(e.reason, extent.text)} ({plural(e.results, 'result')}: {_names(e.requirements)})"
        for e in run.scope.exclusions
    ]
    return "## Excluded by the profile\n\n" + _limit_lines(lines, extent, "more exclusion") if lines else ""


def _names(requirements: tuple[str, ...]) -> str:
    suffix = f" and {len(requirements) - 8} more" if len(requirements) > 8 else ""
    return escape(", ".join(requirements[:8])) + suffix


def _limit_lines(lines: list[str], extent: Extent, noun: str) -> str:
    limit = extent.rows
    extra = [f"- … and {plural(len(lines) - limit, noun)}: see `report.html`"] if len(lines) > limit else []
    return "\n".join(lines[:limit] + extra)


def _requirements(run: Run, extent: Extent) -> str:
    rows = [row for row in run.requirements if row.outcome is not Outcome.PASSED]
    if not rows:
        return "Every requirement passed." if run.requirements else ""
    rows.sort(key=lambda row: OUTCOMES.index(row.counted_as))
    lines = ["| requirement | level | outcome | statement |", "|---|---|---|---|"]
    for row in rows[: extent.rows]:
        outcome = f"{SYMBOLS[row.counted_as]} {row.counted_as}"
        lines.append(f"| {escape(row.id)} | {row.level} | {outcome} | {escape(row.statement, 160)} |")
    if len(rows) > extent.rows:
        lines.append(f"\n… and {plural(len(rows) - extent.rows, 'more requirement')}: see `report.html`.")
    table = fold(plural(len(rows), "requirement"), "\n".join(lines))
    return f"## Requirements that did not pass\n\n{table}"


def _remaining_resources(run: Run) -> str:
    remaining = grouping.left_behind(run)
    return f"## Left behind\n\n{escape(remaining)}\\. `run.json` names each\\." if remaining else ""


def _waivers(run: Run, extent: Extent) -> str:
    if not run.waivers:
        return ""
    accepted = {waiver: len(results) for waiver, results in grouping.results_by_waiver(run)}
    lines = [
        "## Waivers",
        "",
        "| requirement | operation | state | results | until | owner | issue | reason |",
        "|---|---|---|--:|---|---|---|---|",
    ]
    for w in run.waivers[: extent.rows]:
        cells = [w.requirement, w.operation or "any", w.state or "unknown", f"{accepted.get(w, 0):,}"]
        cells += [w.until, w.owner, w.issue, w.reason]
        lines.append("| " + " | ".join(escape(cell, extent.text) for cell in cells) + " |")
    if len(run.waivers) > extent.rows:
        lines.append(f"\n… and {plural(len(run.waivers) - extent.rows, 'more waiver')}: see `report.html`.")
    return "\n".join(lines)
