"""The lines of a journal, as a run would have written them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from conformance.contract import load_contract
from conformance.core.model import Exchange, Finding, Message, ProfileInfo, Result, Run, Suite
from conformance.core.outcomes import Outcome
from conformance.journal.lines import (
    JOURNAL_VERSION,
    CheckConcluded,
    ExchangeRecorded,
    Line,
    PlannedCheck,
    RunStarted,
    SegmentEnded,
    TrafficStats,
    encode,
)
from conformance.judge.coverage import unreachable
from conformance.judge.invariant_results import INVARIANTS
from tests.support.values import replace

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


def planned(of: Result) -> PlannedCheck:
    return PlannedCheck(of.check, of.requirement, of.operation, of.case, of.level, of.reproduce)


def journal(
    exchanges: Iterable[Exchange] = (),
    results: Iterable[Result] = (),
    *,
    left: Iterable[Result] = (),
    end: SegmentEnded | None = None,
    **head: Any,
) -> list[Line]:
    """The lines of a run; `left` was planned and has no result; `end` None means that it was killed."""
    results = list(results)
    first = RunStarted(
        schema_version=JOURNAL_VERSION,
        suite=Suite("1", "c", "d"),
        target="http://t",
        profile=ProfileInfo("p", "d"),
        seed=7,
        run="c1",
        started_at="2030-01-15T00:00:00Z",
        requirements=tuple(CONTRACT.requirements.values()),
        operations=tuple(operation.info for operation in CONTRACT.all),
        planned=tuple(planned(one) for one in (*results, *left)),
        examples=8,
        unreachable={operation.id: unreachable(operation) for operation in CONTRACT.all},
        answer_schemas={operation.id: operation.response_schema for operation in CONTRACT.all},
    )
    lines: list[Line] = [msgspec.structs.replace(first, **head)]
    lines += map(ExchangeRecorded, exchanges)
    lines += map(CheckConcluded, results)
    return [*lines, end] if end is not None else lines


END = SegmentEnded("2030-01-15T00:01:00Z", traffic=TrafficStats(waited_s=1.5))


def by_check(run: Run, check: str, operation: str = IDENTITY) -> Result:
    (found,) = [one for one in run.results if (one.check, one.operation) == (check, operation)]
    return found


def conformant_lines(**head: Any) -> list[Line]:
    """The lines of a conformant run: a control of every operation was good, and every invariant looked at it."""
    good = [
        exchange(number, operation=operation.id, purpose="control", judged=ALL)
        for number, operation in enumerate(CONTRACT.all)
    ]
    passed = [result("a", requirement="VER-1", operation=operation.id) for operation in CONTRACT.all]
    return journal(good, passed, end=END, **head)


def write_journal(directory: Path, lines: Iterable[Line]) -> Path:
    """A run folder that holds these lines, and nothing else."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "journal.ndjson").write_bytes(b"".join(map(encode, lines)))
    return directory
