"""Journal -> Run. A pure function: the same lines give the same run, here or on another machine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from conformance.core.codec import from_json
from conformance.core.errors import JournalError
from conformance.core.gc_tuning import calm_collector
from conformance.core.model import (
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
from conformance.journal import journal
from conformance.journal import journal as journals
from conformance.journal.exchange_store import Exchanges, Place
from conformance.journal.run_directory import journals_of
from conformance.journal.segments import Ends, Key, key
from conformance.judge.coverage import coverage, reasons
from conformance.judge.created_resources import created_resources
from conformance.judge.invariant_results import Evidence, invariant_results
from conformance.judge.scope import proven_operations, scope_of
from conformance.judge.verdict import (
    counts_of,
    overall,
    requirement_rows,
    tiers_of,
    verdict_of,
    with_states,
    with_waivers,
)


def load(directory: Path) -> Run:
    """The run in a report folder. Raises JournalError where there is no journal that can be read."""
    return Growing(directory / journal.NAME if directory.is_dir() else directory).run()


def assemble(records: Iterable[Mapping[str, Any]], where: str = "journal") -> Run:
    """A run out of its journal's lines; one that was cut short is as complete as it went."""
    return assemble_located(((record, None) for record in records), where)


def assemble_located(lines: Iterable[tuple[Mapping[str, Any], Place | None]], where: str = "journal") -> Run:
    """As `assemble`, of lines of which it is known where they stand: they need not all be held in memory."""
    with calm_collector():
        told = _Told(where)
        told.add(lines)
        return told.run()


class Growing:
    """A journal that is still being written: some of it is read while there is time for it, the rest in the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told = _Told(str(path))
        self._read = (0, 0)

    def go_on(self) -> None:
        """Reads what was written since. Raises JournalError where it cannot be read, now and whenever it is tried."""
        with calm_collector():
            self._told.add(self._lines())

    def run(self) -> Run:
        """What it tells in the end. Raises JournalError."""
        self.go_on()
        with calm_collector():
            return self._told.run()

    def _lines(self) -> Iterator[tuple[Mapping[str, Any], Place]]:
        for record, place in journal.located(self._path, self._read):
            yield record, place
            self._read = (place.offset + place.length, self._read[1] + 1)


class _Told:
    """What the lines of a journal tell, one after the other."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._head: Mapping[str, Any] | None = None
        self._ends = Ends()
        self._ledger: list[Mapping[str, Any]] = []
        self._exchanges, self._seen = Exchanges(), list[Exchange]()
        self._results: dict[Key, Result] = {}

    def add(self, lines: Iterable[tuple[Mapping[str, Any], Place | None]]) -> None:
        """Raises JournalError on a line of another shape."""
        try:
            for record, place in lines:
                self._add(record, place)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._misshapen(error) from error

    def _add(self, record: Mapping[str, Any], place: Place | None) -> None:
        kind = record["kind"]
        if self._head is None and kind != "run":
            raise self._headless()
        if kind == "exchange":
            exchange = self._exchanges.add(journal.value_of(Exchange, self._exchanges.compact(record)), place)
            number = self._exchanges.number(exchange.id)
            self._seen[number : number + 1] = [exchange]  # at the end, unless it comes again
        elif kind == "result":
            result = journal.value_of(Result, record)
            self._results[result.check, result.operation, result.case] = result
        elif kind == "run":
            self._head = self._head or record
        elif kind == "resumed":
            self._ends.resumed()
        elif kind == "end":
            self._ends.add(record)
        elif kind in ("created", "removed"):
            self._ledger.append(record)

    def run(self) -> Run:
        """Raises JournalError where the lines are those of no run."""
        if self._head is None:
            raise self._headless()
        try:
            run = _run(self._head, self._ends, self._seen, self._results)
            return replace(run, exchanges=self._exchanges, created=created_resources(self._ledger))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._misshapen(error) from error

    def _headless(self) -> JournalError:
        return JournalError("has no first line that says which run it is", where=self._where)

    def _misshapen(self, error: Exception) -> JournalError:
        return JournalError(f"has a line of another shape: {error}", where=self._where)


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
    evidence = Evidence.of(
        exchanges, checked, head["exclusions"], provokes=head["provokes"], answer_schemas=head["answer_schemas"]
    )
    results = (
        *checked,
        *invariant_results({r.id: r for r in requirements}, evidence, only_judged=bool(head["filtered"])),
    )
    proven = proven_operations(exchanges)
    unproven = [operation.id for operation in operations if operation.id not in proven]
    stated = (from_json(Waiver, item) for item in head["waivers"])
    waivers = with_states(stated, results, head["started_at"][:10], unproven)
    results = with_waivers(results, waivers, unproven)
    complete = not interrupted
    whole = complete and not head["filtered"]
    tiers = tiers_of(results, requirements, operations, waivers, proven, whole=whole)
    seen = coverage(exchanges, [operation.id for operation in operations])
    return Run(
        suite=from_json(Suite, head["suite"]),
        target=head["target"],
        profile=from_json(ProfileInfo, head["profile"]),
        seed=head["seed"],
        started_at=head["started_at"],
        finished_at=ends.finished_at,
        complete=complete,
        verdict=overall(verdict_of(results, waivers, whole=whole, unproven=unproven), tiers),
        scope=scope_of(results, requirements, operations, proven),
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


def recovered(directory: Path) -> Run:
    """The run in a report folder, with what the workers of a killed one left behind.

    Raises JournalError where there is no journal that can be read.
    """
    if not directory.is_dir():
        return load(directory)
    lines = chain.from_iterable(journals.located(path) for path in journals_of(directory))
    return assemble_located(lines, str(directory / journals.NAME))
