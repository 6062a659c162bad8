"""`summary.md`: the run for a pipeline's job page, within the size limits of all of them.

Text of the target is in code spans, where markup, mentions and references have no effect.
"""

from __future__ import annotations

import re
from pathlib import Path

from conformance.core.model import Exchange, MissingFact, RequirementRow, Result, Run
from conformance.core.outcomes import Outcome
from conformance.reports.shaping import counts, grouping, transcript
from conformance.reports.shaping.grouping import OUTCOMES, SYMBOLS, VERDICT_MEANING, VERDICT_SYMBOLS, Group
from conformance.reports.shaping.marks import marks
from conformance.reports.shaping.text import cut, one_line, plural, visible, write

FILE = "summary.md"
GROUPS, BATCHES, PLACES, ROWS, BODY = 25, 5, 13, 100, 600
"""Limits: causes, batches of each, places of each batch, requirement rows, characters of a body."""


def write_file(run: Run, directory: Path) -> Path:
    return write(directory / FILE, render(run))


def render(run: Run) -> str:
    run = grouping.bound_texts(run)
    parts = [
        _head(run),
        _tiers(run),
        *_failures(run),
        _warnings(run),
        _shortfalls(run),
        _exclusions(run),
        _requirements(run),
        _waivers(run),
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


def _failures(run: Run) -> list[str]:
    groups = grouping.failures(run)
    if not groups:
        return []
    parts = ["## Failures by cause", *(_failure(group, run) for group in groups[:GROUPS])]
    if len(groups) > GROUPS:
        parts.append(f"… and {plural(len(groups) - GROUPS, 'more cause')}: see `report.html`.")
    return parts


def _failure(group: Group, run: Run) -> str:
    name = ", ".join(clause.id for clause in group.clauses) or group.cause.id
    lines = [f"### {_mark(group)} {escape(name)} {_operations_text(group)}"]
    lines += [_clause(clause) for clause in group.clauses]
    if group.waiver:
        w = group.waiver
        lines.append(f"Waived until {code(w.until)} by {code(w.owner)}, {code(w.issue)}: {code(w.reason)}")
    batches = grouping.alike(group.results)
    lines.append("\n".join(_batch(batch) for batch in batches[:BATCHES]))
    if remaining := sum(len(batch) for batch in batches[BATCHES:]):
        lines.append(f"… and {plural(remaining, 'more result')} of the same cause.")
    if group.dependents:
        lines.append(f"{plural(len(group.dependents), 'check')} could not be judged because of it.")
    if exchange := transcript.deciding(run, group.results[0]):
        lines.append(_evidence(exchange, group.results[0]))
    if command := next((r.reproduce for r in group.results if r.reproduce), ""):
        lines.append(block(command))
    return "\n\n".join(lines)


def _evidence(exchange: Exchange, result: Result) -> str:
    """The decisive exchange and its curl line. Every line begins with our own sign, so that none ends the fence."""
    transcript_lines = transcript.whole(exchange, marks(result, exchange), BODY)
    lines = "\n".join(visible(cut(line, 400)) for line in transcript_lines)
    return f"Exchange {code(exchange.id)}\n\n~~~text\n{lines}\n~~~\n\n{block(transcript.command(exchange))}"


def _mark(group: Group) -> str:
    return "(waived)" if group.waiver else SYMBOLS[group.results[0].outcome]


def _operations_text(group: Group) -> str:
    if len(group.operations) == 1:
        return f"on {code(group.operations[0])}"
    return f"on {plural(len(group.operations), 'operation')}" if group.operations else ""


def _clause(row: RequirementRow) -> str:
    return f"> {escape(row.statement)}\n>\n> {escape(row.id)}, {row.level}, interface section “{escape(row.section)}”"


def _batch(batch: list[Result]) -> str:
    first = batch[0]
    places = [f"{code(name)} {code(cases)}".rstrip() for name, cases in grouping.places(batch)]
    suffix = f" and {len(places) - PLACES} more" if len(places) > PLACES else ""
    lines = [f"- {code(grouping.general(first.message, first) or first.outcome)}: {', '.join(places[:PLACES])}{suffix}"]
    lines += [f"  - {label} {code(text)}" for label in ("expected", "observed") if (text := getattr(first, label))]
    return "\n".join(lines)


def _warnings(run: Run) -> str:
    groups = grouping.warnings(run)
    if not groups:
        return ""
    lines = [
        f"- {escape(g.results[0].requirement)}: {code(g.title)} ({plural(len(g.results), 'result')})" for g in groups
    ]
    return "## Warnings\n\n" + _limit_lines(lines, "more warning")


def _shortfalls(run: Run) -> str:
    lines = [
        f"- {plural(len(s.results), 'result')} {s.results[0].outcome}: {code(s.reason)} ({_names(s.requirements)})"
        for s in grouping.shortfalls(run)
    ]
    lines += [
        f"- {plural(f.results, 'result')} {_unstated_label(f)}: {code(f.reason)} ({_names(f.requirements)})"
        for f in run.missing
    ]
    lines += [
        f"- {plural(len(s.results), 'result')} inapplicable: {code(s.reason)} ({_names(s.requirements)})"
        for s in grouping.inapplicable(run)
    ]
    return "## Not judged\n\n" + _limit_lines(lines, "more reason") if lines else ""


def _unstated_label(fact: MissingFact) -> str:
    return "unstated, keeps the verdict open" if fact.keeps_open else "unstated"


def _exclusions(run: Run) -> str:
    lines = [
        f"- {code(e.fact)}: {code(e.reason)} ({plural(e.results, 'result')}: {_names(e.requirements)})"
        for e in run.scope.exclusions
    ]
    return "## Excluded by the profile\n\n" + _limit_lines(lines, "more exclusion") if lines else ""


def _names(requirements: tuple[str, ...]) -> str:
    suffix = f" and {len(requirements) - 8} more" if len(requirements) > 8 else ""
    return escape(", ".join(requirements[:8])) + suffix


def _limit_lines(lines: list[str], noun: str) -> str:
    extra = [f"- … and {plural(len(lines) - GROUPS, noun)}"] if len(lines) > GROUPS else []
    return "\n".join(lines[:GROUPS] + extra)


def _requirements(run: Run) -> str:
    rows = [row for row in run.requirements if row.outcome is not Outcome.PASSED]
    if not rows:
        return "Every requirement passed." if run.requirements else ""
    rows.sort(key=lambda row: OUTCOMES.index(row.outcome))
    lines = [
        "## Requirements that did not pass",
        "",
        "| requirement | level | outcome | statement |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {escape(row.id)} | {row.level} | {SYMBOLS[row.outcome]} {row.outcome} | {escape(row.statement, 160)} |"
        for row in rows[:ROWS]
    ]
    if len(rows) > ROWS:
        lines.append(f"\n… and {plural(len(rows) - ROWS, 'more requirement')}.")
    return "\n".join(lines)


def _remaining_resources(run: Run) -> str:
    remaining = grouping.left_behind(run)
    return f"## Left behind\n\n{escape(remaining)}\\. `run.json` names each\\." if remaining else ""


def _waivers(run: Run) -> str:
    if not run.waivers:
        return ""
    lines = [
        "## Waivers",
        "",
        "| requirement | operation | state | until | owner | reason |",
        "|---|---|---|---|---|---|",
    ]
    for w in run.waivers:
        cells = (w.requirement, w.operation or "any", w.state or "unknown", w.until, w.owner, w.reason)
        lines.append("| " + " | ".join(escape(cell) for cell in cells) + " |")
    return "\n".join(lines)
