"""`allure-results/`: the run for Allure, written through allure-python-commons, and beside it `allurerc.json`.

The behaviours tree is tier, operation, requirement. A result has the same `historyId` in every run, so that histories
connect; a second rendering replaces the folder. A result in Allure means an executed test: checks that never ran are
counted in `environment.properties` and have no file. Allure 2 reads the categories from the results, Allure 3 from the
configuration: `allure generate --cwd RUN_DIR`.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from functools import lru_cache, partial
from pathlib import Path
from secrets import token_hex
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
from allure_commons.model2 import Attachment, Label, Parameter, Status, StatusDetails, TestResult

from conformance.core.errors import ReportDirError
from conformance.core.model import Exchange, RequirementRow, Result, Run
from conformance.core.outcomes import Level, Outcome
from conformance.reports.shaping import grouping
from conformance.reports.shaping.bounded_run import BoundRun, bound_texts
from conformance.reports.shaping.curl import curl
from conformance.reports.shaping.text import clean, compact_json, cut, dumps, one_line, visible_name, write

FOLDER = "allure-results"
STATUS = {
    Outcome.PASSED: Status.PASSED,
    Outcome.WARNED: Status.PASSED,
    Outcome.FAILED: Status.FAILED,
    Outcome.BROKEN: Status.BROKEN,
    Outcome.INCONCLUSIVE: Status.SKIPPED,
    Outcome.INAPPLICABLE: Status.SKIPPED,
    Outcome.UNSTATED: Status.SKIPPED,
    Outcome.UNTESTED: Status.SKIPPED,
}
SEVERITY = {
    Level.REQUIRED: "critical",
    Level.DECLARED: "critical",
    Level.RECOMMENDED: "minor",
    Level.OBSERVED: "trivial",
}
MAX_ATTACHMENTS = 3
"""Exchanges attached to one problematic result, the decisive one last."""
BODY_LIMIT = 16_000
CONFIGURATION = "allurerc.json"
_CATEGORIES = "categories.json"
_ENVIRONMENT = "environment.properties"
_ATTACHMENT = re.compile(r"[0-9a-f]{12}(-\d+)?-[0-9A-Za-z-]{0,40}-attachment\.txt")
_FRAMEWORK = "commerce-conformance"
"""The label `framework` of each result."""
_WAIVED = "waived"
CATEGORIES = {
    _WAIVED: ("Waived", "skipped", "cause"),
    Outcome.FAILED: ("Target violates the interface", "failed", "cause"),
    Outcome.BROKEN: ("The suite erred", "broken", "cause"),
    Outcome.WARNED: ("Warnings", "passed", "cause"),
    Outcome.INCONCLUSIVE: ("Inconclusive", "skipped", "cause"),
    Outcome.UNTESTED: ("Untested", "skipped", "requirement"),
    Outcome.UNSTATED: ("Not stated by the profile", "skipped", "fact"),
    Outcome.INAPPLICABLE: ("Does not exist on this target", "skipped", "requirement"),
}
"""The label `outcome` of a result -> its category: name, status, and the label that groups its results."""


def _members(item: Any) -> dict[str, Any]:
    """The non-empty members of an object of Allure's model."""
    return {name: value for name, value in vars(item).items() if value or value is False}


def _to_json(case: TestResult) -> str:
    value = _members(case)
    for name in ("parameters", "attachments"):
        if name in value:
            value[name] = [_members(item) for item in value[name]]
    if "statusDetails" in value:
        value["statusDetails"] = _members(value["statusDetails"])
    return compact_json(value)


def write_file(run: Run, directory: Path) -> Path:
    """All files of the folder, or none: half of the cases would pass for all of them.

    Raises ReportDirError where the folder has files that the suite did not write, which would be lost.
    """
    bounded = bound_texts(run)
    folder = directory / FOLDER
    _require_own_files(folder)
    partial = folder.with_name(f"{FOLDER}.{token_hex(8)}.partial")
    partial.mkdir(parents=True)
    try:
        _write_cases(bounded, partial)
        write(partial / _CATEGORIES, dumps(_categories_of_allure_2()))
        write(partial / _ENVIRONMENT, _environment(bounded))
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    write(directory / CONFIGURATION, dumps(_configuration(bounded)))
    return folder


def _require_own_files(folder: Path) -> None:
    """Raises ReportDirError where the folder is a link, or has a file that no run of the suite has written."""
    problem = ""
    if folder.is_symlink():
        problem = "is a symbolic link"
    elif folder.is_dir():
        foreign = next((path.name for path in sorted(folder.iterdir()) if not _is_own(path)), "")
        problem = f"has files that the suite did not write, such as {visible_name(foreign)}" if foreign else ""
    if problem:
        raise ReportDirError(problem, where=str(folder), hint="move it, or name another folder with -o")


def _is_own(path: Path) -> bool:
    """Whether a file is one that `write_file` creates: by its content, since other tools use the same names."""
    marks = {_CATEGORIES: CATEGORIES[_WAIVED][0], _ENVIRONMENT: "\nsuite="}
    if mark := _FRAMEWORK if path.name.endswith("-result.json") else marks.get(path.name):
        return not path.is_symlink() and path.is_file() and mark.encode() in path.read_bytes()
    return bool(_ATTACHMENT.fullmatch(path.name))


def _write_cases(run: BoundRun, folder: Path) -> None:
    titles = {(cause.id, cause.waived_by): cause.title for cause in run.causes}
    exchanges_by_id = grouping.by_id(run)
    start = grouping.epoch_ms(run.started_at)
    clauses = {row.id: _description(row) for row in run.requirements}
    for name, result in zip(run.names, run.results, strict=True):
        if _never_ran(run, result):
            continue
        is_shown = result.outcome in grouping.EVIDENCE_OUTCOMES
        names = result.exchanges if is_shown else result.exchanges[:1]
        cited = grouping.find_exchanges(names, exchanges_by_id)[-MAX_ATTACHMENTS:]
        start_ms = start + round(cited[0].at * 1000) if cited else start
        attachments = [_attach(folder, name, exchange) for exchange in cited] if is_shown else []
        case = _case(run, result, name, start_ms, attachments)
        case.labels += _labels_of_cause(result, titles.get((result.cause, result.waived_by), result.cause))
        case.description = clauses.get(result.requirement, "")
        path = os.path.join(folder, case.file_pattern.format(prefix=case.uuid))  # noqa: PTH118 - thousands of files
        data = _to_json(case).encode()
        with open(path, "wb", buffering=0) as file:  # noqa: PTH123
            if file.write(data) < len(data):  # as at the end of a disk
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def _categories_of_allure_2() -> list[dict[str, Any]]:
    return [
        {"name": name, "matchedStatuses": [status], "messageRegex": f"(?s){outcome}.*"}
        for outcome, (name, status, _) in CATEGORIES.items()
    ]


def _configuration(run: Run) -> dict[str, Any]:
    """The configuration of Allure 3: the name of the report and our categories."""
    return {
        "name": clean(f"{run.profile.name}: {run.verdict}"),
        "categories": [
            {
                "name": name,
                "matchers": [{"labels": {"outcome": f"^{outcome}$"}}],
                "groupBy": [{"label": label}],
                "groupByMessage": False,
                "expand": outcome is Outcome.FAILED,
            }
            for outcome, (name, _, label) in CATEGORIES.items()
        ],
    }


def _never_ran(run: Run, result: Result) -> bool:
    return bool(run.interrupted) and result.outcome is Outcome.UNTESTED and not result.exchanges


def _case(run: BoundRun, result: Result, name: str, start_ms: int, attachments: list[Attachment]) -> TestResult:
    place = " ".join(part for part in (result.operation, result.case) if part)
    waiver = grouping.waiver_of(run, result)
    message = f"{_outcome(result)}: {result.message}" if result.outcome is not Outcome.PASSED else ""
    details = StatusDetails(message=clean(message), trace=clean(_trace(result)), known=waiver is not None or None)
    return TestResult(
        uuid=str(uuid5(NAMESPACE_URL, f"{run.started_at}/{name}".encode("utf-8", "replace").decode())),
        historyId=name,
        testCaseId=name,
        fullName=clean(f"{result.check}[{place}]"),
        name=clean(f"{result.requirement} {place}".strip()) or "unnamed",
        titlePath=[clean(part) for part in result.check.split("::")],
        status=STATUS[result.outcome] if waiver is None else Status.SKIPPED,
        statusDetails=details if message else None,
        stage="finished",
        labels=[_label(key, value) for key, value in _labels(run, result)],
        parameters=[Parameter(key, clean(value)) for key, value in _parameters(result)],
        attachments=attachments,
        start=start_ms,
        stop=start_ms + round(result.duration_ms),
    )


@lru_cache(maxsize=4096)
def _label(name: str, value: str) -> msgspec.Raw:
    """A label as JSON: most results share most of theirs."""
    return msgspec.Raw(compact_json(_members(Label(name, clean(value)))).encode())


def _outcome(result: Result) -> str:
    """The outcome; a failure or gap that a waiver accepts counts apart."""
    return _WAIVED if result.waived_by is not None else result.outcome.value


def _labels_of_cause(result: Result, title: str) -> list[msgspec.Raw]:
    """What a category groups by; a value is cut to what fits a line."""
    pairs = (("cause", title), ("fact", result.fact))
    return [_label(name, cut(one_line(clean(value)), 300)) for name, value in pairs if value]


def _trace(result: Result) -> str:
    labels = ("expected", "observed", "cause", "fact", "signature", "reproduce")
    lines = [f"{label}: {text}" for label in labels if (text := getattr(result, label))]
    return "\n".join(lines + [f"note: {note}" for note in result.notes])


def _description(row: RequirementRow) -> str:
    """Markdown to Allure, so the clause is set as code."""
    return clean(f"`{row.statement.replace('`', chr(39))}`\n\n{row.id}, {row.level}, section: {row.section}")


def _labels(run: BoundRun, result: Result) -> list[tuple[str, str]]:
    tier = run.tier_of(result.operation) or "no tier"
    operation = result.operation or "no single operation"
    found = [
        ("epic", tier),
        ("feature", operation),
        ("story", result.requirement),
        ("parentSuite", result.check.partition("::")[0]),
        ("suite", result.requirement),
        ("severity", SEVERITY[result.level]),
        ("requirement", result.requirement),
        ("operation", operation),
        ("tier", tier),
        ("level", result.level.value),
        ("outcome", _outcome(result)),
        ("framework", _FRAMEWORK),
        ("language", "python"),
    ]
    return found + ([("tag", "warned")] if result.outcome is Outcome.WARNED else [])


def _parameters(result: Result) -> list[tuple[str, str]]:
    pairs = (("operation", result.operation), ("case", result.case))
    return [(key, value) for key, value in pairs if value]


def _attach(folder: Path, name: str, exchange: Exchange) -> Attachment:
    safe = "".join(char if char.isascii() and char.isalnum() else "-" for char in exchange.id)[:40]
    source = f"{name}-{safe}-attachment.txt"
    write(folder / source, clean(_transcript(exchange)))
    return Attachment(name=clean(cut(grouping.exchange_line(exchange), 200)), source=source, type="text/plain")


def _transcript(exchange: Exchange) -> str:
    lines = [f"{exchange.method} {exchange.url}"]
    lines += [f"{key}: {value}" for key, value in exchange.request.headers]
    lines += [
        "",
        cut(exchange.request.body, BODY_LIMIT),
        "",
        f"-> {exchange.status or exchange.trouble or 'no answer'}",
    ]
    lines += [f"{key}: {value}" for key, value in exchange.response.headers]
    lines += ["", cut(exchange.response.body, BODY_LIMIT), "", curl(exchange)]
    return "\n".join(lines)


def _environment(run: Run) -> str:
    properties = {
        "target": run.target,
        "profile": run.profile.name,
        "suite": run.suite.version,
        "seed": str(run.seed),
        "verdict": run.verdict.value,
    }
    if count := sum(map(partial(_never_ran, run), run.results)):
        properties["never_ran"] = f"{count} checks: {run.interrupted}"
    lines = [f"{key}={' '.join(clean(value).split())}" for key, value in properties.items()]
    return "\n".join(line.replace("\\", "\\\\") for line in lines) + "\n"
