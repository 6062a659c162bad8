"""What each check costs: requests and fixtures, as counted on the reference service and its variants.

`python -m tests.matrix.count_costs` counts them anew; `costs.json` holds what was found, the most of all runs.
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
"""Its bursts are sent for all of its checks at once."""


@dataclass
class Cost:
    """Of all instances of one check on one operation, or of something that is done once for an operation."""

    instances: int = 1
    reads: int = 0
    writes: int = 0
    fixtures: Counter[str] = field(default_factory=Counter)
    """`kind.state`, by the reference's names."""

    def of(self, instances: int) -> Cost:
        """The cost of another number of instances."""
        share = instances / max(1, self.instances)
        drawn = Counter({name: ceil(count * share) for name, count in self.fixtures.items()})
        return Cost(instances, ceil(self.reads * share), ceil(self.writes * share), drawn)

    def most(self, other: Cost) -> Cost:
        """The dearer of two counts of the same, in each respect."""
        mine, theirs = self.of(other.instances) if other.instances > self.instances else self, other
        theirs = theirs.of(self.instances) if self.instances > other.instances else theirs
        both = mine.fixtures | theirs.fixtures
        return Cost(mine.instances, max(mine.reads, theirs.reads), max(mine.writes, theirs.writes), both)


Costs = dict[tuple[str, str], Cost]
"""(check, operation) -> what it cost; the check is `control` for what is proven once."""


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


def dearest(found: Iterable[Costs]) -> Costs:
    costs: Costs = {}
    for one in found:
        for key, cost in one.items():
            costs[key] = costs[key].most(cost) if key in costs else cost
    return costs


def predicted(instances: Iterable[Instance]) -> dict[str, Cost]:
    """By operationId: what these instances cost at most, as far as the reference and its variants tell."""
    instances = list(instances)
    wanted = Counter((i.check.id, i.operation.id) for i in instances)
    exclusive = {i.operation.id for i in instances if i.check.exclusive}
    known = known_costs()
    total: dict[str, Cost] = {}
    parts = [(check, operation, count) for (check, operation), count in wanted.items()]
    parts += [(_CONTROL, operation, 1) for operation in sorted({operation for _, operation in wanted})]
    parts += [(_EXCLUSIVE, operation, 1) for operation in sorted(exclusive)]
    for check, operation, count in parts:
        cost = known.get((check, operation), Cost(1, 0, 0)).of(count)
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
    """As it is written: check -> operation -> [instances, reads, writes, fixtures]."""
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
