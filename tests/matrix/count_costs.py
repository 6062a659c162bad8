"""A command, not a test: counts what each check costs and writes `conformance/checks/support/costs.json`.

Run it after a check was added or changed: `python -m tests.matrix.count_costs`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.checks.support.costs import FILE, Cost, Costs, known_costs
from conformance.core.model import Run
from conformance.engine.in_process import patched_profile, reference_options, run_instances
from conformance.engine.session import Session
from conformance.journal.journal import MemoryJournal
from conformance.reference.registry import variants
from conformance.runner import embedded_reference as embedded


def counted(run: Run, drawn: Mapping[tuple[str, str], int]) -> Costs:
    """The costs of a run; `drawn` says how many fixtures (`kind.state`) were drawn for each item."""
    instances = Counter((r.check, r.operation) for r in run.results)
    costs: Costs = {}

    def entry(item: str, operation: str) -> Cost:
        name, _, rest = item.partition("[")
        key = (name, rest.rstrip("]").partition("-")[0] or operation)
        return costs.setdefault(key, Cost(max(1, instances[key])))

    for check, operation in instances:
        costs[check, operation] = Cost(instances[check, operation])
    for exchange in run.exchanges:
        cost = entry(exchange.check, exchange.operation)
        if exchange.method == "GET":
            cost.reads += 1
        else:
            cost.writes += 1
    for (item, fixture), count in drawn.items():
        if "[" in item:
            entry(item, "").fixtures[fixture] += count
    return costs


def usual(costs: Costs) -> Costs:
    """What each instance costs in such a run, and nothing else."""
    return {key: Cost(1, usual=(cost.reads + cost.writes) / cost.instances) for key, cost in costs.items()}


def most(one: Cost, other: Cost) -> Cost:
    """The dearer of two counts of the same, in each respect."""
    mine, theirs = one.scale(other.instances) if other.instances > one.instances else one, other
    theirs = theirs.scale(one.instances) if one.instances > other.instances else theirs
    both = mine.fixtures | theirs.fixtures
    usual = max(one.usual, other.usual)
    return Cost(mine.instances, max(mine.reads, theirs.reads), max(mine.writes, theirs.writes), both, usual)


def dearest(found: Iterable[Costs]) -> Costs:
    costs: Costs = {}
    for one in found:
        for key, cost in one.items():
            costs[key] = most(costs[key], cost) if key in costs else cost
    return costs


def to_table(costs: Costs) -> dict[str, Any]:
    """As it is written: check -> operation -> [instances, reads, writes, fixtures, usual requests]."""
    table: dict[str, Any] = {}
    for (check, operation), cost in sorted(costs.items()):
        row = [cost.instances, cost.reads, cost.writes, dict(sorted(cost.fixtures.items())), round(cost.usual, 2)]
        table.setdefault(check, {})[operation] = row
    return table


def counted_all(service: embedded.EmbeddedReference, folder: Path, names: Iterable[str]) -> Iterator[Costs]:
    """The costs of a quick run of the reference, as the usual ones, and of runs of the reference and its variants."""
    profile = embedded.bundled_profiles() / "reference.toml"
    quick = reference_options(service.base_url, service.control_url, "", profile, folder / "quick")
    yield usual(counted_in(Session(replace(quick, depth="quick"), journal=MemoryJournal()), "reference, quick"))
    for name in names:
        options = reference_options(service.base_url, service.control_url, name, profile, folder / (name or "plain"))
        own = patched_profile(options, variants()[name].profile) if name else None
        yield counted_in(Session(options, profile=own, journal=MemoryJournal()), name or "reference")


def counted_in(session: Session, name: str) -> Costs:
    """The costs of all checks in one run."""
    session.claim()
    run = run_instances(session, session.instances)
    assert session.runtime is not None
    print(name, run.verdict, f"{run.traffic.requests:,} requests", flush=True)
    return counted(run, session.runtime.fixtures.use_counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", action="store_true", help="only the reference; what variants cost stays")
    parser.add_argument("--variant", action="append", metavar="ID", help="the reference and this one; repeatable")
    options = parser.parse_args()
    is_part = options.reference or options.variant
    with (
        embedded.reference() as service,
        embedded.environment(service.environment),
        tempfile.TemporaryDirectory() as folder,
    ):
        found = counted_all(service, Path(folder), ("", *(options.variant or ())) if is_part else ("", *variants()))
        known = [{key: replace(cost, usual=0.0) for key, cost in known_costs().items()}] if is_part else []
        table = to_table(dearest([*found, *known]))
    lines = (f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in table.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
