"""`report.sarif`: failures and warnings for code scanning (SARIF 2.1.0, OASIS).

A requirement is a rule, a failure a result. There is no source file, so a result is located at the profile and names
operation and check as logical locations; its fingerprint is the failure's signature, which is stable between runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.core.model import Level, Outcome, RequirementRow, Result, Run
from conformance.core.paths import display_path
from conformance.reports.shaping.grouping import bound_texts, identities, waiver_of
from conformance.reports.shaping.text import dumps, map_strings, utf8, visible, write

FILE = "report.sarif"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MAX_RESULTS = 5_000
"""GitHub reads no more results of one run."""
_RESULT_LEVELS: Mapping[Outcome, str] = {Outcome.FAILED: "error", Outcome.WARNED: "warning"}
_RULE_LEVELS = {Level.REQUIRED: "error", Level.DECLARED: "error", Level.RECOMMENDED: "warning", Level.OBSERVED: "note"}


def write_file(run: Run, directory: Path) -> Path:
    return write(directory / FILE, render(run))


def render(run: Run) -> str:
    return dumps(map_strings(document(bound_texts(run)), utf8))


def document(run: Run) -> dict[str, Any]:
    """The run as a SARIF log with one run."""
    reported_results = [
        (name, r) for name, r in zip(identities(run.results), run.results, strict=True) if r.outcome in _RESULT_LEVELS
    ]
    rules = {row.id: index for index, row in enumerate(run.requirements)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "commerce-conformance",
                        "semanticVersion": run.suite.version,
                        "rules": [_rule(row) for row in run.requirements],
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": run.complete,
                        "startTimeUtc": run.started_at,
                        **({"endTimeUtc": run.finished_at} if run.finished_at else {}),
                    }
                ],
                "automationDetails": {"id": f"conformance/{run.profile.name}/"},
                "columnKind": "unicodeCodePoints",
                "results": [_result(run, name, result, rules) for name, result in reported_results[:MAX_RESULTS]],
                "properties": {"verdict": run.verdict, "target": run.target, "seed": run.seed},
            }
        ],
    }


def _rule(row: RequirementRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "shortDescription": {"text": row.statement or row.id},
        "fullDescription": {"text": f"{row.statement} Interface section: {row.section}. Level: {row.level}."},
        "defaultConfiguration": {"level": _RULE_LEVELS[row.level]},
        "properties": {"tags": ["conformance", row.level.value]},
    }


def _result(run: Run, name: str, result: Result, rules: Mapping[str, int]) -> dict[str, Any]:
    parts = [result.message or result.outcome.value]
    parts += [f"expected: {result.expected}"] if result.expected else []
    parts += [f"observed: {result.observed}"] if result.observed else []
    parts += [f"again: {result.reproduce}"] if result.reproduce else []
    case = f"-{result.case}" if result.case else ""
    sarif_result: dict[str, Any] = {
        "ruleId": result.requirement,
        "level": _RESULT_LEVELS[result.outcome],
        "message": {"text": visible("\n".join(parts))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(run.profile.path or f"{run.profile.name}.toml")},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [
                    {"name": result.operation or "the service", "kind": "function"},
                    {"fullyQualifiedName": f"{result.check}[{result.operation}{case}]", "kind": "member"},
                ],
            }
        ],
        "partialFingerprints": {"conformanceCheck/v1": name, "conformanceSignature/v1": result.signature or name},
    }
    if result.requirement in rules:
        sarif_result["ruleIndex"] = rules[result.requirement]
    if waiver := waiver_of(run, result):
        justification = f"{waiver.reason} (until {waiver.until}, {waiver.owner}, {waiver.issue})"
        sarif_result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": justification}]
    return sarif_result


def _uri(path: str) -> str:
    """Relative to the current folder, which in a pipeline is the checkout's, where the file lies below it."""
    from urllib.parse import quote

    short_path = display_path(path)
    scheme = "file://" if Path(short_path).is_absolute() else ""
    return scheme + quote(utf8(short_path).replace("\\", "/"), safe="/")
