"""The lines of a journal, as a run would have written them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.contract import load_contract
from conformance.core.codec import to_json
from conformance.core.model import (
    SCHEMA_VERSION,
    Exchange,
    Finding,
    Message,
    Outcome,
    Result,
    Run,
)
from conformance.judge.coverage import unreachable
from conformance.judge.invariant_results import INVARIANTS

CONTRACT = load_contract()
IDENTITY = "getApiKeyIdentity"
ALL = tuple(INVARIANTS)


def exchange(
    number: int, status: int | None = 200, *findings: Finding, operation: str = IDENTITY, **changes: Any
) -> Exchange:
    judged = ("STA-1", "STA-2", "ENV-1", "ENV-2", "ERR-2") if status == 200 else ("STA-1", "ERR-1", "ERR-2")
    plain = Exchange(
        f"x{number}",
        operation,
        "GET",
        "http://t/a",
        Message(),
        status,
        Message(),
        number / 10,
        5.0 + number,
        judged=judged,
    )
    return replace(plain, findings=findings, **changes)


def result(name: str, outcome: Outcome = Outcome.PASSED, *, requirement: str = "AUTH-1", **changes: Any) -> Result:
    return replace(Result(f"check_a::{name}", requirement, IDENTITY, "", outcome), **changes)


def journal(
    exchanges: Iterable[Exchange] = (),
    results: Iterable[Result] = (),
    *,
    planned: Iterable[Result] = (),
    end: Any = None,
    **head: Any,
) -> list[dict[str, Any]]:
    """The lines of a run; `end` None means that it was killed."""
    results = list(results)
    first = {
        "kind": "run",
        "schema_version": SCHEMA_VERSION,
        "suite": {"version": "1", "contract": "c", "checks": "d"},
        "target": "http://t",
        "profile": {"name": "p", "digest": "d"},
        "seed": 7,
        "started_at": "2030-01-15T00:00:00Z",
        "filtered": False,
        "requirements": [to_json(requirement) for requirement in CONTRACT.requirements.values()],
        "operations": [to_json(operation.info) for operation in CONTRACT.all],
        "unreachable": {operation.id: unreachable(operation) for operation in CONTRACT.all},
        "exclusions": {},
        "provokes": False,
        "answer_schemas": {operation.id: operation.response_schema for operation in CONTRACT.all},
        "waivers": [],
        "planned": [to_json(one) for one in (*results, *planned)],
        **head,
    }
    lines = [first]
    lines += [{"kind": "exchange", **to_json(one)} for one in exchanges]
    lines += [{"kind": "result", **to_json(one)} for one in results]
    return [*lines, {"kind": "end", **end}] if end is not None else lines


END = {"finished_at": "2030-01-15T00:01:00Z", "interrupted": "", "waited_s": 1.5}


def by_check(run: Run, check: str, operation: str = IDENTITY) -> Result:
    (found,) = [one for one in run.results if (one.check, one.operation) == (check, operation)]
    return found


def conformant_lines(**head: Any) -> list[dict[str, Any]]:
    """The lines of a conformant run: a control of every operation was good, and every invariant looked at it."""
    good = [
        exchange(number, operation=operation.id, purpose="control", judged=ALL)
        for number, operation in enumerate(CONTRACT.all)
    ]
    passed = [result("a", requirement="VER-1", operation=operation.id) for operation in CONTRACT.all]
    return journal(good, passed, end=END, **head)


def write_journal(directory: Path, lines: Iterable[dict[str, Any]]) -> Path:
    """A run folder that holds these lines, and nothing else."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "journal.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return directory
