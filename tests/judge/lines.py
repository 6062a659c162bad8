"""The lines of a journal, as a run would have written them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from conformance.codec import to_json
from conformance.contract import load_contract
from conformance.judge.coverage import unreachable
from conformance.judge.rows import INVARIANTS
from conformance.model import (
    Exchange,
    Finding,
    Message,
    Outcome,
    Result,
    Run,
)

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
        "suite": {"version": "1", "contract": "c", "checks": "d"},
        "target": "http://t",
        "profile": {"name": "p", "digest": "d"},
        "seed": 7,
        "started_at": "2030-01-15T00:00:00Z",
        "filtered": False,
        "requirements": [to_json(requirement) for requirement in CONTRACT.requirements.values()],
        "operations": [to_json(operation.info) for operation in CONTRACT.all],
        "unreachable": {operation.id: unreachable(operation) for operation in CONTRACT.all},
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
