"""`junit.xml`, as CI servers read it: one suite a requirement, one case a result.

failed -> failure, broken -> error; inconclusive, untested, inapplicable and waived -> skipped with the reason;
warned -> passed, with the warning in system-out.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from conformance.model import Outcome, RequirementRow, Result, Run, Waiver
from conformance.reports.shaping.grouping import bounded, clauses, evidence_by, seconds, tier_of, waiver_of
from conformance.reports.shaping.text import clean, write

FILE = "junit.xml"
_SKIPPED = (Outcome.INCONCLUSIVE, Outcome.UNTESTED, Outcome.INAPPLICABLE)


def write_file(run: Run, directory: Path) -> Path:
    return write(directory / FILE, render(run))


def render(run: Run) -> str:
    run = bounded(run)
    rows, told = clauses(run), evidence_by(run)
    root = ET.Element("testsuites", name="conformance")
    by_requirement: dict[str, list[Result]] = {}
    for result in run.results:
        by_requirement.setdefault(result.requirement, []).append(result)
    for requirement, results in by_requirement.items():
        suite = ET.SubElement(root, "testsuite", name=clean(requirement), timestamp=clean(run.started_at))
        _suite_properties(suite, run, rows.get(requirement))
        for result in results:
            _case(suite, run, result, told(result))
        _totals(suite, results)
    _totals(root, list(run.results))
    taken = seconds(run)
    if taken is not None:
        root.set("time", f"{taken:.3f}")
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite_properties(suite: ET.Element, run: Run, row: RequirementRow | None) -> None:
    known = {"target": run.target, "profile": run.profile.name, "seed": str(run.seed), "suite": run.suite.version}
    if row:
        known |= {"level": row.level.value, "section": row.section, "statement": row.statement}
    _properties(suite, known)


def _properties(parent: ET.Element, known: dict[str, str]) -> None:
    holder = ET.SubElement(parent, "properties")
    for name, value in known.items():
        if value:
            ET.SubElement(holder, "property", name=name, value=clean(value))


def _case(suite: ET.Element, run: Run, result: Result, exchanges: str) -> None:
    name = result.check.rpartition("::")[2]
    what = "-".join(part for part in (result.operation, result.case) if part)
    case = ET.SubElement(
        suite,
        "testcase",
        classname=clean(f"{result.requirement}.{result.operation or 'all'}"),
        name=clean(f"{name}[{what}]" if what else name),
        time=f"{result.duration_ms / 1000:.3f}",
    )
    known = {"check": result.check, "operation": result.operation, "outcome": result.outcome.value}
    known |= {"tier": tier_of(run, result.operation), "level": result.level.value, "cause": result.cause}
    known |= {"fact": result.fact, "signature": result.signature, "reproduce": result.reproduce}
    _properties(case, known)
    _conclusion(case, result, waiver_of(run, result), exchanges)


def _conclusion(case: ET.Element, result: Result, waiver: Waiver | None, exchanges: str) -> None:
    message = clean(result.message or result.outcome.value)
    if waiver:
        told = f"waived until {waiver.until} ({waiver.issue}): {waiver.reason}; {message}"
        ET.SubElement(case, "skipped", message=clean(told))
    elif result.outcome is Outcome.FAILED:
        ET.SubElement(case, "failure", message=message, type=clean(result.requirement)).text = _detail(result)
    elif result.outcome is Outcome.BROKEN:
        ET.SubElement(case, "error", message=message, type="broken").text = _detail(result)
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
    """Counted from the cases themselves, so that a waived failure counts as it is written."""
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))
    element.set("time", f"{sum(r.duration_ms for r in results) / 1000:.3f}")
