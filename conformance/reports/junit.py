"""`junit.xml`, as CI servers read it: one suite a requirement, one case a result.

failed -> failure; broken, and results that keep the verdict open -> error; inapplicable, waived, and open results that
are not binding -> skipped with the reason; warned -> passed, with the warning in the suite's system-out. The suite
`verdict` has one case for each tier, which passes only where the tier is conformant.

The file is valid for the schema of Jenkins' xUnit plugin (`junit-10.xsd`) and for that of Apache Ant's reports
(`JUnit.xsd` of Windy Road): no properties and no output of single cases, no attributes of `testsuites`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from conformance.core.model import Gap, RequirementRow, Result, Run, Waiver
from conformance.core.outcomes import OPEN_OUTCOMES, Outcome, Verdict
from conformance.reports.shaping.bounded_run import BoundRun, bound_texts
from conformance.reports.shaping.counts import headline
from conformance.reports.shaping.grouping import (
    clauses,
    evidence_by,
    waiver_of,
    waiver_text,
)
from conformance.reports.shaping.text import clean, one_line, write

FILE = "junit.xml"
_SKIPPED = (*OPEN_OUTCOMES, Outcome.INAPPLICABLE)
_PACKAGE = "conformance"
_UNKNOWN_TIME = "1970-01-01T00:00:00"


def write_file(run: Run, directory: Path) -> Path:
    return write(directory / FILE, render(run))


def render(run: Run) -> str:
    run = bound_texts(run)
    rows, evidence_of = clauses(run), evidence_by(run)
    root = ET.Element("testsuites")
    _verdicts(root, run)
    by_requirement: dict[str, list[Result]] = {}
    for result in run.results:
        by_requirement.setdefault(result.requirement, []).append(result)
    for requirement, results in by_requirement.items():
        suite = _suite(root, run, requirement, _suite_properties(run, rows.get(requirement)))
        lines = [line for result in results for line in _case(suite, run, result, evidence_of(result))]
        _finish(suite, lines, sum(result.duration_ms for result in results) / 1000)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, run: BoundRun, name: str, properties: Mapping[str, str]) -> ET.Element:
    suite = ET.SubElement(
        root,
        "testsuite",
        name=_token(name),
        package=_PACKAGE,
        id=str(len(root)),
        hostname=_token(urlsplit(run.target).hostname or "localhost"),
        timestamp=_timestamp(run.started_at),
    )
    holder = ET.SubElement(suite, "properties")
    for key, value in properties.items():
        if value:
            ET.SubElement(holder, "property", name=key, value=clean(value))
    return suite


def _timestamp(moment: str) -> str:
    """The time of a run in UTC without its zone, which Ant's schema forbids."""
    try:
        return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return _UNKNOWN_TIME


def _finish(suite: ET.Element, lines: Iterable[str], seconds: float) -> None:
    """The suite's output and totals, counted from the written cases: a waived failure counts as skipped."""
    cases = list(suite.iter("testcase"))
    suite.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{seconds:.3f}")
    ET.SubElement(suite, "system-out").text = clean("\n".join(lines))
    ET.SubElement(suite, "system-err")


def _token(text: str) -> str:
    """Text as an `xs:token` with at least one character: without line breaks and outer or repeated blanks."""
    return " ".join(clean(text).split()) or "unnamed"


def _verdicts(root: ET.Element, run: BoundRun) -> None:
    """One case for each tier, for tools that read only test cases."""
    properties = {"results": headline(run), "tests": f"one for each result, and {len(run.tiers)} for the verdicts"}
    suite = _suite(root, run, "verdict", _suite_properties(run, None) | properties)
    lines = []
    for name, tier in run.tiers.items():
        case = ET.SubElement(suite, "testcase", classname="verdict", name=f"{_token(name)} is conformant", time="0.000")
        message = f"{name} is {tier.verdict}: {tier.scope.summary}"
        lines.append(message)
        if tier.verdict is Verdict.NONCONFORMANT:
            causes = [
                f"{cause.id} [{cause.signature}]: {cause.title}" for cause in run.causes if cause.waived_by is None
            ]
            detail = clean("\n".join([message, *causes[:200]]))
            ET.SubElement(case, "failure", message=clean(message), type="verdict").text = detail
        elif tier.verdict is not Verdict.CONFORMANT:
            reasons = [message, *(f"run cut short: {run.interrupted}" for _ in range(bool(run.interrupted)))]
            reasons += [_gap(gap) for gap in tier.scope.open]
            detail = clean("\n".join(reasons[:200]))
            ET.SubElement(case, "error", message=clean(message), type="verdict").text = detail
    _finish(suite, lines, 0.0)


def _gap(gap: Gap) -> str:
    fact = f": state {gap.fact}, or exclude it" if gap.fact else ""
    return f"{gap.requirement} on {gap.operation or 'the service'} is {gap.outcome}{fact}"


def _suite_properties(run: BoundRun, row: RequirementRow | None) -> dict[str, str]:
    properties = {"target": run.target, "profile": run.profile.name, "seed": str(run.seed), "suite": run.suite.version}
    if run.unverified:
        properties["certificate"] = "not verified"
    if row:
        properties |= {"level": row.level.value, "section": row.section, "statement": row.statement}
    return properties


def _case(suite: ET.Element, run: BoundRun, result: Result, exchanges: str) -> list[str]:
    """Adds the case; returns the lines for the suite's output."""
    name = result.check.rpartition("::")[2]
    place = "-".join(part for part in (result.operation, result.case) if part)
    title = _token(f"{name}[{place}]" if place else name)
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_token(f"{result.requirement}.{result.operation or 'all'}"),
        name=title,
        time=f"{result.duration_ms / 1000:.3f}",
    )
    _conclusion(case, run, result, waiver_of(run, result), exchanges)
    lines = [f"note: {one_line(note)}" for note in result.notes]
    if result.outcome is Outcome.WARNED:
        lines = [f"warned: {_detail(run, result, exchanges)}", *lines]
    return [f"{title}: {clean(line)}" for line in lines]


def _conclusion(case: ET.Element, run: BoundRun, result: Result, waiver: Waiver | None, exchanges: str) -> None:
    message = clean(result.message or result.outcome.value)
    fact = f" (enabled by the profile key {result.fact})" if result.fact else ""
    if waiver:
        ET.SubElement(case, "skipped", message=clean(f"{waiver_text(waiver)}; {message}"))
        return
    if result.outcome is Outcome.FAILED:
        found = ET.SubElement(case, "failure", message=message, type=clean(result.requirement))
    elif result.outcome is Outcome.BROKEN:
        found = ET.SubElement(case, "error", message=message, type="broken")
    elif result.keeps_open:
        found = ET.SubElement(case, "error", message=clean(f"{result.outcome}: {result.message}{fact}"), type="open")
    elif result.outcome in _SKIPPED:
        ET.SubElement(case, "skipped", message=clean(f"{result.outcome}: {result.message}{fact}"))
        return
    else:
        return
    found.text = _detail(run, result, exchanges)


def _detail(run: BoundRun, result: Result, exchanges: str) -> str:
    """Everything known of a failure: the schemas permit no properties of a case."""
    facts = {name: getattr(result, name) for name in ("expected", "observed", "reproduce", "check", "cause")}
    facts |= {"cause signature": result.cause_signature, "signature": result.signature, "fact": result.fact}
    facts |= {"operation": result.operation, "tier": run.tier_of(result.operation), "level": result.level.value}
    lines = [result.message, *(f"{name}: {value}" for name, value in facts.items() if value), exchanges]
    return clean("\n".join(line for line in lines if line))
