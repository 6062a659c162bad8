"""`junit.xml`, as CI servers read it: one suite a requirement, one case a result.

failed -> failure; broken, and results that keep the verdict open -> error; inapplicable, waived, and open results that
are not binding -> skipped with the reason; warned -> passed, with the warning in system-out. The suite `verdict` has
one case for each tier, which passes only where the tier is conformant.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from conformance.core.model import OPEN_OUTCOMES, Gap, Outcome, RequirementRow, Result, Run, Verdict, Waiver
from conformance.reports.shaping.grouping import bound_texts, clauses, evidence_by, seconds, tier_of, waiver_of
from conformance.reports.shaping.text import clean, write

FILE = "junit.xml"
_SKIPPED = (*OPEN_OUTCOMES, Outcome.INAPPLICABLE)


def write_file(run: Run, directory: Path) -> Path:
    return write(directory / FILE, render(run))


def render(run: Run) -> str:
    run = bound_texts(run)
    rows, evidence_of = clauses(run), evidence_by(run)
    root = ET.Element("testsuites", name="conformance")
    _verdicts(root, run)
    by_requirement: dict[str, list[Result]] = {}
    for result in run.results:
        by_requirement.setdefault(result.requirement, []).append(result)
    for requirement, results in by_requirement.items():
        suite = ET.SubElement(root, "testsuite", name=clean(requirement), timestamp=clean(run.started_at))
        _suite_properties(suite, run, rows.get(requirement))
        for result in results:
            _case(suite, run, result, evidence_of(result))
        _totals(suite, results)
    _totals(root, list(run.results))
    duration_s = seconds(run)
    if duration_s is not None:
        root.set("time", f"{duration_s:.3f}")
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _verdicts(root: ET.Element, run: Run) -> None:
    """One case for each tier, for tools that read only test cases."""
    suite = ET.SubElement(root, "testsuite", name="verdict", timestamp=clean(run.started_at))
    for name, tier in run.tiers.items():
        case = ET.SubElement(suite, "testcase", classname="verdict", name=f"{clean(name)} is conformant", time="0.000")
        message = f"{name} is {tier.verdict}: {tier.scope.summary}"
        if tier.verdict is Verdict.NONCONFORMANT:
            ET.SubElement(case, "failure", message=clean(message), type="verdict")
        elif tier.verdict is not Verdict.CONFORMANT:
            lines = [message, *(f"run cut short: {run.interrupted}" for _ in range(bool(run.interrupted)))]
            lines += [_gap(gap) for gap in tier.scope.open]
            ET.SubElement(case, "error", message=clean(message), type="verdict").text = clean("\n".join(lines[:200]))
        else:
            ET.SubElement(case, "system-out").text = clean(message)
    _totals(suite, [])


def _gap(gap: Gap) -> str:
    fact = f": state {gap.fact}, or exclude it" if gap.fact else ""
    return f"{gap.requirement} on {gap.operation or 'the service'} is {gap.outcome}{fact}"


def _suite_properties(suite: ET.Element, run: Run, row: RequirementRow | None) -> None:
    properties = {"target": run.target, "profile": run.profile.name, "seed": str(run.seed), "suite": run.suite.version}
    if row:
        properties |= {"level": row.level.value, "section": row.section, "statement": row.statement}
    _properties(suite, properties)


def _properties(parent: ET.Element, properties: dict[str, str]) -> None:
    holder = ET.SubElement(parent, "properties")
    for name, value in properties.items():
        if value:
            ET.SubElement(holder, "property", name=name, value=clean(value))


def _case(suite: ET.Element, run: Run, result: Result, exchanges: str) -> None:
    name = result.check.rpartition("::")[2]
    place = "-".join(part for part in (result.operation, result.case) if part)
    case = ET.SubElement(
        suite,
        "testcase",
        classname=clean(f"{result.requirement}.{result.operation or 'all'}"),
        name=clean(f"{name}[{place}]" if place else name),
        time=f"{result.duration_ms / 1000:.3f}",
    )
    properties = {"check": result.check, "operation": result.operation, "outcome": result.outcome.value}
    properties |= {"tier": tier_of(run, result.operation), "level": result.level.value, "cause": result.cause}
    properties |= {"fact": result.fact, "signature": result.signature, "reproduce": result.reproduce}
    _properties(case, properties)
    _conclusion(case, result, waiver_of(run, result), exchanges)


def _conclusion(case: ET.Element, result: Result, waiver: Waiver | None, exchanges: str) -> None:
    message = clean(result.message or result.outcome.value)
    if waiver:
        reason = f"waived until {waiver.until} ({waiver.issue}): {waiver.reason}; {message}"
        ET.SubElement(case, "skipped", message=clean(reason))
    elif result.outcome is Outcome.FAILED:
        ET.SubElement(case, "failure", message=message, type=clean(result.requirement)).text = _detail(result)
    elif result.outcome is Outcome.BROKEN:
        ET.SubElement(case, "error", message=message, type="broken").text = _detail(result)
    elif result.keeps_open:
        fact = f" (enabled by the profile key {result.fact})" if result.fact else ""
        ET.SubElement(
            case, "error", message=clean(f"{result.outcome}: {result.message}{fact}"), type="open"
        ).text = _detail(result)
    elif result.outcome in _SKIPPED:
        fact = f" (enabled by the profile key {result.fact})" if result.fact else ""
        ET.SubElement(case, "skipped", message=clean(f"{result.outcome}: {result.message}{fact}"))
    out = [f"warned: {_detail(result)}"] if result.outcome is Outcome.WARNED else []
    out += [f"note: {clean(note)}" for note in result.notes]
    if exchanges:
        out.append(exchanges)
    if out:
        ET.SubElement(case, "system-out").text = clean("\n".join(out))


def _detail(result: Result) -> str:
    labels = ("expected", "observed", "reproduce")
    lines = [f"{label}: {text}" for label in labels if (text := getattr(result, label))]
    return clean("\n".join([result.message, *lines]))


def _totals(element: ET.Element, results: list[Result]) -> None:
    """Counted from the written cases, so that a waived failure counts as skipped."""
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))
    element.set("time", f"{sum(r.duration_ms for r in results) / 1000:.3f}")
