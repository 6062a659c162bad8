"""The costs of checks: requests and fixtures, measured on the reference service and its variants.

`python -m tests.matrix.count_costs` measures them again; `costs.json` holds the maximum over all runs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

from conformance.checks.support.registry import Instance
from conformance.core.model import Run

FILE = Path(__file__).with_name("costs.json")
_CONTROL = "control"
_EXCLUSIVE = "check_rate_limit"
"""The module whose checks share one set of bursts."""


@dataclass
class Cost:
    """The cost of all instances of one check on one operation, or of a shared step of an operation."""

    instances: int = 1
    reads: int = 0
    writes: int = 0
    fixtures: Counter[str] = field(default_factory=Counter)
    """`kind.state`, with the reference's names."""

    def scale(self, instances: int) -> Cost:
        """The cost scaled to another number of instances."""
        share = instances / max(1, self.instances)
        fixtures = Counter({name: ceil(count * share) for name, count in self.fixtures.items()})
        return Cost(instances, ceil(self.reads * share), ceil(self.writes * share), fixtures)

    def maximum(self, other: Cost) -> Cost:
        """The maximum of two measurements, member by member."""
        first, second = self.scale(other.instances) if other.instances > self.instances else self, other
        second = second.scale(self.instances) if self.instances > other.instances else second
        fixtures = first.fixtures | second.fixtures
        return Cost(first.instances, max(first.reads, second.reads), max(first.writes, second.writes), fixtures)


Costs = dict[tuple[str, str], Cost]
"""(check, operation) -> cost; the check is `control` for controls, which are proven once."""


def count_costs(run: Run, fixture_uses: Mapping[tuple[str, str], int]) -> Costs:
    """The costs of a run; `fixture_uses`: number of fixtures (`kind.state`) used by each item."""
    instances = Counter((r.check, r.operation) for r in run.results)
    costs: Costs = {}

    def entry(item: str, operation: str) -> Cost:
        name, _, suffix = item.partition("[")
        key = (name, suffix.rstrip("]").partition("-")[0] or operation)
        return costs.setdefault(key, Cost(max(1, instances[key])))

    for exchange in run.exchanges:
        cost = entry(exchange.check, exchange.operation)
        if exchange.method == "GET":
            cost.reads += 1
        else:
            cost.writes += 1
    for (item, fixture), count in fixture_uses.items():
        if "[" in item:
            entry(item, "").fixtures[fixture] += count
    return costs


def merge_maximum(all_costs: Iterable[Costs]) -> Costs:
    costs: Costs = {}
    for item in all_costs:
        for key, cost in item.items():
            costs[key] = costs[key].maximum(cost) if key in costs else cost
    return costs


def predict(instances: Iterable[Instance]) -> dict[str, Cost]:
    """By operationId: the maximum cost of these instances, by the measurements."""
    instances = list(instances)
    counts = Counter((i.check.id, i.operation.id) for i in instances)
    exclusive = {i.operation.id for i in instances if i.check.exclusive}
    known = known_costs()
    total: dict[str, Cost] = {}
    parts = [(check, operation, count) for (check, operation), count in counts.items()]
    parts += [(_CONTROL, operation, 1) for operation in sorted({operation for _, operation in counts})]
    parts += [(_EXCLUSIVE, operation, 1) for operation in sorted(exclusive)]
    for check, operation, count in parts:
        cost = known.get((check, operation), Cost(1, 0, 0)).scale(count)
        sum_ = total.setdefault(operation, Cost(0))
        sum_.instances += count if check not in (_CONTROL, _EXCLUSIVE) else 0
        sum_.reads += cost.reads
        sum_.writes += cost.writes
        sum_.fixtures += cost.fixtures
    return total


@cache
def known_costs() -> Costs:
    return from_table(json.loads(FILE.read_text(encoding="utf-8")))


def to_table(costs: Costs) -> dict[str, Any]:
    """The table of `costs.json`: check -> operation -> [instances, reads, writes, fixtures]."""
    table: dict[str, Any] = {}
    for (check, operation), cost in sorted(costs.items()):
        row = [cost.instances, cost.reads, cost.writes, dict(sorted(cost.fixtures.items()))]
        table.setdefault(check, {})[operation] = row
    return table


def from_table(table: Mapping[str, Mapping[str, Any]]) -> Costs:
    return {
        (check, operation): Cost(row[0], row[1], row[2], Counter(row[3]))
        for check, operations in table.items()
        for operation, row in operations.items()
    }
