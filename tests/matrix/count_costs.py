"""A command, not a test: counts what each check costs and writes `conformance/checks/support/costs.json`.

Run it after a check was added or changed: `python -m tests.matrix.count_costs`.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.checks.support.costs import FILE, Cost, Costs
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


def most(one: Cost, other: Cost) -> Cost:
    """The dearer of two counts of the same, in each respect."""
    mine, theirs = one.scale(other.instances) if other.instances > one.instances else one, other
    theirs = theirs.scale(one.instances) if one.instances > other.instances else theirs
    both = mine.fixtures | theirs.fixtures
    return Cost(mine.instances, max(mine.reads, theirs.reads), max(mine.writes, theirs.writes), both)


def dearest(found: Iterable[Costs]) -> Costs:
    costs: Costs = {}
    for one in found:
        for key, cost in one.items():
            costs[key] = most(costs[key], cost) if key in costs else cost
    return costs


def to_table(costs: Costs) -> dict[str, Any]:
    """As it is written: check -> operation -> [instances, reads, writes, fixtures]."""
    table: dict[str, Any] = {}
    for (check, operation), cost in sorted(costs.items()):
        row = [cost.instances, cost.reads, cost.writes, dict(sorted(cost.fixtures.items()))]
        table.setdefault(check, {})[operation] = row
    return table


def counted_all(service: embedded.EmbeddedReference, folder: Path) -> Iterator[Costs]:
    profile = embedded.bundled_profiles() / "reference.toml"
    for name in ("", *variants()):
        options = reference_options(service.base_url, service.control_url, name, profile, folder / (name or "plain"))
        own = patched_profile(options, variants()[name].profile) if name else None
        session = Session(options, profile=own, journal=MemoryJournal())
        session.claim()
        run = run_instances(session, session.instances)
        assert session.runtime is not None
        print(name or "reference", run.verdict, f"{run.traffic.requests:,} requests", flush=True)
        yield counted(run, session.runtime.fixtures.use_counts)


def main() -> None:
    with (
        embedded.reference() as service,
        embedded.environment(service.environment),
        tempfile.TemporaryDirectory() as folder,
    ):
        table = to_table(dearest(counted_all(service, Path(folder))))
    lines = (f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in table.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
