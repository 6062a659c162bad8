"""Journal -> Run. A pure function: the same lines give the same run, here or on another machine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.client import journal
from conformance.codec import from_json
from conformance.collector import calm_collector
from conformance.errors import JournalError
from conformance.exchanges import Exchanges, Place
from conformance.judge.coverage import coverage, reasons
from conformance.judge.leftovers import created
from conformance.judge.parts import Ends, Key, key
from conformance.judge.rows import Evidence, invariant_results
from conformance.judge.verdict import counts_of, overall, requirement_rows, tiers_of, verdict_of, with_states
from conformance.model import (
    Exchange,
    Latency,
    OperationInfo,
    Outcome,
    ProfileInfo,
    Requirement,
    Result,
    Run,
    Suite,
    Traffic,
    Waiver,
)


def load(directory: Path) -> Run:
    """The run in a report folder. Raises JournalError where there is no journal that can be read."""
    path = directory / journal.NAME if directory.is_dir() else directory
    return assemble_located(journal.located(path), str(path))


def assemble(records: Iterable[Mapping[str, Any]], where: str = "journal") -> Run:
    """A run out of its journal's lines; one that was cut short is as complete as it went."""
    return assemble_located(((record, None) for record in records), where)


def assemble_located(lines: Iterable[tuple[Mapping[str, Any], Place | None]], where: str = "journal") -> Run:
    """As `assemble`, of lines of which it is known where they stand: they need not all be held in memory."""
    with calm_collector():
        return _assembled(lines, where)


def _assembled(lines: Iterable[tuple[Mapping[str, Any], Place | None]], where: str) -> Run:
    head: Mapping[str, Any] | None = None
    ends = Ends()
    ledger: list[Mapping[str, Any]] = []
    exchanges, seen = Exchanges(), list[Exchange]()
    results: dict[Key, Result] = {}
    try:
        for record, place in lines:
            if record["kind"] == "run":
                head = head or record
            elif record["kind"] == "resumed":
                ends.resumed()
            elif record["kind"] == "exchange":
                exchange = exchanges.add(journal.value_of(Exchange, exchanges.compact(record)), place)
                number = exchanges.number(exchange.id)
                seen[number : number + 1] = [exchange]  # at the end, unless it comes again
            elif record["kind"] == "result":
                result = journal.value_of(Result, record)
                results[result.check, result.operation, result.case] = result
            elif record["kind"] == "end":
                ends.add(record)
            elif record["kind"] in ("created", "removed"):
                ledger.append(record)
        if head is None:
            raise JournalError("has no first line that says which run it is", where=where)
        run = _run(head, ends, seen, results)
        return replace(run, exchanges=exchanges, created=created(ledger))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise JournalError(f"has a line of another shape: {error}", where=where) from error


def _run(
    head: Mapping[str, Any],
    ends: Ends,
    exchanges: Sequence[Exchange],
    told: Mapping[Key, Result],
) -> Run:
    requirements = [from_json(Requirement, item) for item in head["requirements"]]
    operations = tuple(from_json(OperationInfo, item) for item in head["operations"])
    interrupted = ends.interrupted
    checked = list(told.values()) + _never_run(head["planned"], told, interrupted)
    evidence = Evidence.of(exchanges, checked)
    results = (
        *checked,
        *invariant_results({r.id: r for r in requirements}, evidence, only_seen=bool(head["filtered"])),
    )
    waivers = with_states((from_json(Waiver, item) for item in head["waivers"]), results, head["started_at"][:10])
    complete = not interrupted
    whole = complete and not head["filtered"]
    tiers = tiers_of(results, operations, waivers, whole=whole)
    seen = coverage(exchanges, [operation.id for operation in operations])
    return Run(
        suite=from_json(Suite, head["suite"]),
        target=head["target"],
        profile=from_json(ProfileInfo, head["profile"]),
        seed=head["seed"],
        started_at=head["started_at"],
        finished_at=ends.finished_at,
        complete=complete,
        verdict=overall(verdict_of(results, waivers, whole=whole), tiers),
        tiers=tiers,
        counts=counts_of(results),
        requirements=requirement_rows(requirements, results),
        results=results,
        coverage=seen,
        coverage_reasons=reasons(seen, head["unreachable"], results),
        traffic=_traffic(exchanges, ends),
        operations=operations,
        waivers=waivers,
        filtered=bool(head["filtered"]),
        interrupted=interrupted,
        parts=ends.parts,
    )


def _never_run(planned: Iterable[Mapping[str, Any]], told: Mapping[Key, Result], interrupted: str) -> list[Result]:
    """What was planned and has no result: it is said, never forgotten."""
    missing = []
    for item in planned:
        if key(item) not in told:
            result = from_json(Result, item)
            why = f"not run: {interrupted or 'it has no result'}"
            missing.append(Result(**{**_fields(result), "outcome": Outcome.UNTESTED, "message": why}))
    return missing


def _fields(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in ("check", "requirement", "operation", "case", "level", "reproduce")}


def _traffic(exchanges: Sequence[Exchange], ends: Ends) -> Traffic:
    by_operation = Counter(exchange.operation for exchange in exchanges)
    times: dict[str, list[float]] = defaultdict(list)
    for exchange in exchanges:
        if exchange.status is not None:
            times[exchange.operation].append(exchange.duration_ms)
            times[""].append(exchange.duration_ms)
    return Traffic(
        requests=len(exchanges),
        by_operation=dict(by_operation),
        latency={name: _latency(values) for name, values in times.items()},
        retries=sum(1 for exchange in exchanges if exchange.retry_of),
        **ends.borne,
    )


def _latency(values: list[float]) -> Latency:
    ordered = sorted(values)

    def at(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

    return Latency(len(ordered), at(0.5), at(0.9), at(0.99), round(ordered[-1], 3))
