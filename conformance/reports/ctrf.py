"""`ctrf-report.json`: the Common Test Report Format (ctrf.io, specification 0.0.0), which many CI reporters read.

failed -> failed; broken, warned, waived, and results that keep the verdict open -> other; inapplicable, and open
results that are not binding -> skipped. `rawStatus` has the suite's own word, and the message of a waived result the
waiver's reason. The suite `verdict` has one test for each tier, which fails unless the tier is conformant: `tests` are
the results and these. Information without a CTRF member is in `extra`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from conformance.core.model import Result, Run, Tier
from conformance.core.outcomes import Outcome, Verdict
from conformance.reports.shaping import counts, grouping
from conformance.reports.shaping.bounded_run import BoundRun, bound_texts
from conformance.reports.shaping.text import clean, dumps, map_strings, write

FILE = "ctrf-report.json"
STATUS = {
    Outcome.PASSED: "passed",
    Outcome.WARNED: "other",
    Outcome.FAILED: "failed",
    Outcome.BROKEN: "other",
    Outcome.INCONCLUSIVE: "skipped",
    Outcome.INAPPLICABLE: "skipped",
    Outcome.UNTESTED: "skipped",
    Outcome.UNSTATED: "skipped",
}


def write_file(run: Run, directory: Path) -> Path:
    return write(directory / FILE, dumps(to_json(run)))


def to_json(run: Run) -> dict[str, Any]:
    """The report as a JSON value."""
    run = bound_texts(run)
    evidence_of = grouping.evidence_by(run)
    named_results = zip(run.names, run.results, strict=True)
    tests = [_verdict(run, name, tier) for name, tier in run.tiers.items()]
    tests += [_test(run, name, result, evidence_of(result)) for name, result in named_results]
    by_status = Counter(test["status"] for test in tests)
    start = grouping.epoch_ms(run.started_at)
    summary = {
        "tests": len(tests),
        **{status: by_status[status] for status in ("passed", "failed", "skipped", "pending", "other")},
        "suites": len({result.requirement for result in run.results}) + 1,
        "start": start,
        "stop": max(start, grouping.epoch_ms(run.finished_at)),
    }
    results = {
        "tool": {"name": "commerce-conformance", "version": run.suite.version},
        "summary": summary,
        "tests": tests,
        "environment": {"testEnvironment": run.profile.name, "extra": {"target": run.target}},
        "extra": {
            "verdict": run.verdict.value,
            "scope": run.scope.summary,
            "results": counts.headline(run),
            "counts": {name: run.counts[name] for name in grouping.OUTCOMES if run.counts.get(name)},
            "seed": run.seed,
            "limits": grouping.limits(run),
        },
    }
    return map_strings({"reportFormat": "CTRF", "specVersion": "0.0.0", "results": results}, clean)


def _verdict(run: Run, name: str, tier: Tier) -> dict[str, Any]:
    """The verdict of a tier as a test, for tools that read only tests."""
    return {
        "id": str(uuid5(NAMESPACE_URL, f"urn:commerce-conformance:verdict:{name}")),
        "name": f"verdict {name} is conformant",
        "status": "passed" if tier.verdict is Verdict.CONFORMANT else "failed",
        "duration": 0,
        "rawStatus": tier.verdict.value,
        "message": f"{name} is {tier.verdict}: {tier.scope.summary}",
        "suite": ["verdict"],
        "tags": [name],
        "extra": {"interrupted": run.interrupted} if run.interrupted else {},
    }


def _test(run: BoundRun, name: str, result: Result, exchanges: str) -> dict[str, Any]:
    waiver = grouping.waiver_of(run, result)
    place = " ".join(part for part in (result.operation, result.case) if part)
    extra = {
        "check": result.check,
        "outcome": result.outcome.value,
        "requirement": result.requirement,
        "operation": result.operation,
        "level": result.level.value,
        "cause": result.cause,
        "fact": result.fact,
        "signature": result.signature,
        "cause_signature": result.cause_signature,
        "reproduce": result.reproduce,
        "waived": f"{waiver.issue}: {waiver.reason}" if waiver else "",
    }
    passed = result.outcome is Outcome.PASSED
    details = [f"{label}: {text}" for label in ("expected", "observed") if (text := getattr(result, label))]
    test = {
        "id": str(uuid5(NAMESPACE_URL, f"urn:commerce-conformance:{name}")),
        "name": f"{result.requirement} {result.check.rpartition('::')[2]} {place}".strip(),
        "status": "other" if waiver or result.keeps_open else STATUS[result.outcome],
        "duration": round(result.duration_ms),
        "rawStatus": result.counted_as,
        "message": f"{grouping.waiver_text(waiver)}; {result.message}" if waiver else result.message,
        "trace": "" if passed else "\n".join([*details, exchanges]).strip(),
        "suite": [result.requirement],
        "tags": [tag for tag in (result.requirement, result.operation, run.tier_of(result.operation)) if tag],
        "extra": {member: text for member, text in extra.items() if text},
    }
    return {member: value for member, value in test.items() if value != ""}
