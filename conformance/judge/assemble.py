"""Journal -> Run. A pure function: the same lines give the same run on any machine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from conformance.core.gc_tuning import reduce_collections
from conformance.core.model import Exchange, Result, Run
from conformance.core.outcomes import LEFT_OUT, Outcome
from conformance.core.traffic import Latency, Traffic
from conformance.journal.fold import JournalFold, key
from conformance.journal.journal import NAME
from conformance.journal.lines import Line, RunStarted, TrafficStats
from conformance.journal.run_directory import read_lines
from conformance.journal.segments import Key
from conformance.judge.causes import causes_of, with_causes
from conformance.judge.coverage import coverage, reasons
from conformance.judge.created_resources import created_resources
from conformance.judge.invariant_results import Evidence, invariant_results
from conformance.judge.missing_facts import missing_facts
from conformance.judge.profile_places import with_places
from conformance.judge.scope import OBSERVED, proven_operations, scope_of
from conformance.judge.traffic_results import observed_traffic, traffic_results
from conformance.judge.verdict import (
    counts_of,
    requirement_rows,
    tiers_of,
    verdict_of,
    with_states,
    with_waivers,
)


class Assembly:
    """The run of a report directory, whose journal may be read while it is written; or of a journal file.

    Its methods raise JournalError where no journal can be read. It is of no use after that.
    """

    def __init__(self, directory: Path) -> None:
        self._fold = JournalFold(str(directory / NAME if directory.is_dir() else directory))
        self._lines = read_lines(directory)
        self.line_count = 0
        """The number of lines that were read."""

    def read(self, count: int) -> None:
        """Reads `count` further lines, which must have been written."""
        with reduce_collections():
            self._fold.add_all(islice(self._lines, count))
        self.line_count += count

    def run(self) -> Run:
        """Reads the other lines, and of a killed run the workers' journals. Call it once, at the end."""
        with reduce_collections():
            self._fold.add_all(self._lines)
            return _run(self._fold)


def load(directory: Path) -> Run:
    """The run of a report directory, including the workers' journals of a killed run; or of a journal file.

    Raises JournalError where no journal can be read.
    """
    return Assembly(directory).run()


def assemble(lines: Iterable[Line]) -> Run:
    """A run from its journal's lines in memory, which may end early."""
    with reduce_collections():
        fold = JournalFold()
        fold.add_all((line, None) for line in lines)
        return _run(fold)


def _run(fold: JournalFold) -> Run:
    head, ends, exchanges = fold.head, fold.ends, fold.exchanges.judged
    requirements, operations = head.requirements, head.operations
    interrupted = ends.interruption
    check_results = [*fold.results.values(), *_missing_results(head, fold.results, interrupted)]
    is_partial = any(check.left_out for check in head.planned)
    results = with_causes((*check_results, *_exchange_results(fold, check_results, is_partial=is_partial)))
    proven = proven_operations(exchanges)
    unproven = [operation.id for operation in operations if operation.id not in proven]
    waivers = with_states(head.waivers, results, head.started_at[:10], unproven)
    results = with_waivers(results, waivers, unproven)
    whole = not interrupted and not head.filtered and not is_partial and not head.observed
    depth = OBSERVED if head.observed else head.depth
    tiers = tiers_of(
        results, requirements, operations, waivers, proven, whole=whole, depth=depth, unverified=head.unverified
    )
    cells = coverage(exchanges, [operation.id for operation in operations])
    return Run(
        suite=head.suite,
        target=head.target,
        profile=head.profile,
        seed=head.seed,
        started_at=head.started_at,
        finished_at=ends.finished_at,
        complete=not interrupted,
        verdict=verdict_of(results, waivers, whole=whole, unproven=unproven, tiers=tiers),
        scope=scope_of(results, requirements, operations, proven, depth, unverified=head.unverified),
        tiers=tiers,
        counts=counts_of(results),
        requirements=requirement_rows(requirements, results),
        results=results,
        coverage=cells,
        coverage_reasons=reasons(cells, head.unreachable, results, observed=head.observed is not None),
        traffic=_traffic(exchanges, ends.traffic_stats),
        operations=operations,
        waivers=waivers,
        filtered=head.filtered,
        depth=head.depth,
        unverified=head.unverified,
        interrupted=interrupted,
        created=created_resources(fold.resources),
        causes=with_places(causes_of(results, requirements), requirements, head.profile.lines),
        missing=missing_facts(results),
        parts=ends.count,
        exchanges=fold.exchanges,
        observed=observed_traffic(head.observed, fold.traffic_counts.values(), results, operations),
    )


def _exchange_results(fold: JournalFold, check_results: Sequence[Result], *, is_partial: bool) -> list[Result]:
    """The results of what is judged on exchanges. `is_partial`: the depth left checks out."""
    head = fold.head
    evidence = Evidence.of(
        fold.exchanges.judged,
        check_results,
        head.exclusions,
        provokes=head.provokes,
        answer_schemas=head.answer_schemas,
        further_members=head.further_members,
    )
    by_id = {requirement.id: requirement for requirement in head.requirements}
    if head.observed:
        return traffic_results(by_id, evidence, fold.exchanges, head.laws)
    results = invariant_results(by_id, evidence, only_judged=head.filtered)
    return [_left_out(result, head.depth) for result in results] if is_partial else results


def _missing_results(head: RunStarted, results: Mapping[Key, Result], interrupted: str) -> Iterator[Result]:
    """A result for each planned check that has none."""
    for check in head.planned:
        if key(check) not in results:
            blank = Result(check.check, check.requirement, check.operation, check.case, Outcome.UNTESTED)
            blank = replace(blank, level=check.level, reproduce=check.reproduce)
            message = f"not run: {interrupted or 'it has no result'}"
            yield _left_out(blank, head.depth) if check.left_out else replace(blank, message=message)


def _left_out(result: Result, depth: str) -> Result:
    """A result without evidence, because the depth of the run left out what would have given it."""
    if result.outcome not in (Outcome.UNTESTED, Outcome.INCONCLUSIVE):
        return result
    message = f"left out in {depth} depth" + (f": {result.message}" if result.message else "")
    return replace(result, outcome=Outcome.UNTESTED, message=message, cause=LEFT_OUT)


def _traffic(exchanges: Sequence[Exchange], stats: TrafficStats) -> Traffic:
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
        **msgspec.structs.asdict(stats),
    )


def _latency(values: list[float]) -> Latency:
    ordered = sorted(values)

    def percentile(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

    return Latency(len(ordered), percentile(0.5), percentile(0.9), percentile(0.99), round(ordered[-1], 3))
