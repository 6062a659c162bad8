"""`report.sarif`: the causes of failures and warnings for code scanning (SARIF 2.1.0, OASIS).

A requirement is a rule, a cause a result. There is no source file, so a result is located at the lines of the profile
that it is about, and names the operations as logical locations; its fingerprint is the cause's signature, which is
stable between runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.core.messages import plural
from conformance.core.model import Cause, ProfilePlace, RequirementRow, Run
from conformance.core.outcomes import Level, Outcome
from conformance.core.paths import display_path
from conformance.reports.shaping.bounded_run import bound_texts
from conformance.reports.shaping.grouping import Group, failures, warnings
from conformance.reports.shaping.text import cut, dumps, map_strings, one_line, utf8, visible, write

FILE = "report.sarif"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MAX_RESULTS = 5_000
"""GitHub reads no more results of one run."""
_MAX_PLACES = 25
"""Number of results of a cause that its message names."""
_RULE_LEVELS = {Level.REQUIRED: "error", Level.DECLARED: "error", Level.RECOMMENDED: "warning", Level.OBSERVED: "note"}


def write_file(run: Run, directory: Path) -> Path:
    return write(directory / FILE, render(run))


def render(run: Run) -> str:
    return dumps(map_strings(document(bound_texts(run)), utf8))


def document(run: Run) -> dict[str, Any]:
    """The run as a SARIF log with one run."""
    groups = [group for group in (*failures(run), *warnings(run)) if group.cause.outcome is not Outcome.BROKEN]
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
                "results": [_result(run, group, rules) for group in groups[:MAX_RESULTS]],
                "properties": {"verdict": run.verdict, "target": run.target, "seed": run.seed},
            }
        ],
    }


def _rule(row: RequirementRow) -> dict[str, Any]:
    statement = cut(row.statement or row.id, 1_000)
    facts = f"Interface section: {row.section}. Level: {row.level}."
    help_text = f"{statement} {facts} How it is judged: conformance explain {row.id}"
    return {
        "id": row.id,
        "name": "".join(part.capitalize() for part in row.id.split("-")),
        "shortDescription": {"text": statement},
        "fullDescription": {"text": f"{statement} {facts}"},
        "help": {"text": help_text},
        "defaultConfiguration": {"level": _RULE_LEVELS[row.level]},
        "properties": {"tags": ["conformance", row.level.value], "precision": "very-high"},
    }


def _result(run: Run, group: Group, rules: Mapping[str, int]) -> dict[str, Any]:
    cause = group.cause
    sarif_result: dict[str, Any] = {
        "ruleId": cause.requirement,
        "level": "warning" if cause.outcome is Outcome.WARNED else "error",
        "message": {"text": visible(_message(group))},
        "locations": _locations(run, cause),
        "partialFingerprints": {"conformanceCause/v1": cause.signature or cause.id},
        "occurrenceCount": cause.results,
        "properties": _properties(cause),
    }
    if cause.requirement in rules:
        sarif_result["ruleIndex"] = rules[cause.requirement]
    if waiver := group.waiver:
        justification = f"{waiver.reason} (until {waiver.until}, {waiver.owner}, {waiver.issue})"
        sarif_result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": justification}]
    return sarif_result


def _locations(run: Run, cause: Cause) -> list[dict[str, Any]]:
    """The cause's places in the profile, the first with the operations; its first line where it states nothing."""
    uri = _uri(run.profile.path or f"{run.profile.name}.toml")
    found: list[dict[str, Any]] = [
        {
            "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": max(1, place.line)}},
            **({"message": {"text": place.key}} if place.key else {}),
        }
        for place in cause.places or (ProfilePlace("", 1),)
    ]
    found[0]["logicalLocations"] = [
        {"name": name, "fullyQualifiedName": f"{cause.requirement}.{name}", "kind": "function"}
        for name in cause.operations or ("the service",)
    ]
    return found


def _message(group: Group) -> str:
    """The title, then each place where the cause shows, then the command that shows the first one again."""
    lines = [group.title]
    for result in group.results[:_MAX_PLACES]:
        place = " ".join(part for part in (result.operation or "the service", result.case) if part)
        observed = f", observed {result.observed}" if result.observed else ""
        lines.append(one_line(f"{place}: {result.message}{observed}", 400))
    if remaining := len(group.results) - _MAX_PLACES:
        lines += [f"and {plural(remaining, 'more result')}"] if remaining > 0 else []
    command = next((result.reproduce for result in group.results if result.reproduce), "")
    return "\n".join([*lines, *([f"again: {command}"] if command else [])])


def _properties(cause: Cause) -> dict[str, Any]:
    return {"cause": cause.id, "checks": list(cause.checks), "blocked": cause.blocked}


def _uri(path: str) -> str:
    """Relative to the current folder, which in a pipeline is the checkout's, where the file lies below it."""
    from urllib.parse import quote

    short_path = display_path(path)
    scheme = "file://" if Path(short_path).is_absolute() else ""
    return scheme + quote(utf8(short_path).replace("\\", "/"), safe="/")
