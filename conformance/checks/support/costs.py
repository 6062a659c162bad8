"""The costs of checks: requests and fixtures, measured on the reference service and its variants.

`python -m tests.matrix.count_costs` measures them again; `costs.json` holds the maximum over all runs, and the requests
of a run of the reference in quick depth beside it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

from conformance.checks.support.registry import Instance

FILE = Path(__file__).with_name("costs.json")
_CONTROL = "control"
_EXCLUSIVE = "check_rate_limit"
"""The module whose checks share one set of bursts."""
_CHAIN_COST = 60.0
_LEAST_COST = 0.3
"""Requests of an instance whose requests others send as well: it may be the only one of them in a run."""
_CONTROL_COST = 1.0
_BURST_COST = 18.0
"""Requests that provoke the limit of one operation, which all its exclusive checks share, where none were measured."""
_QUICK_MARGIN = 1.5
"""The factor for variants that take more requests than the reference in quick depth."""
_SHARED_COSTS = {"replays": 4.0, "duplicates": 5.0, "least bodies": 3.6}
"""By what checks share (`Check.shares`): its requests in quick depth."""


@dataclass
class Cost:
    """The cost of all instances of one check on one operation, or of a shared step of an operation."""

    instances: int = 1
    reads: int = 0
    writes: int = 0
    fixtures: Counter[str] = field(default_factory=Counter)
    """`kind.state`, with the reference's names."""
    usual: float = 0.0
    """Requests of one instance in a run of the reference in quick depth; see `expected_cost`."""

    def scale(self, instances: int) -> Cost:
        """The cost scaled to another number of instances."""
        share = instances / max(1, self.instances)
        fixtures = Counter({name: ceil(count * share) for name, count in self.fixtures.items()})
        return Cost(instances, ceil(self.reads * share), ceil(self.writes * share), fixtures, self.usual)

    def in_quick_depth(self) -> Cost:
        """The cost with fewer examples and more that is shared, where that was measured; fixtures stay."""
        share = min(1.0, _QUICK_MARGIN * self.usual * self.instances / max(1, self.reads + self.writes)) or 1.0
        return replace(self, reads=ceil(self.reads * share), writes=ceil(self.writes * share))


Costs = dict[tuple[str, str], Cost]
"""(check, operation) -> cost; the check is `control` for controls, which are proven once."""


def predict(instances: Iterable[Instance], *, quick: bool = False) -> dict[str, Cost]:
    """By operationId: the maximum cost of these instances, by the measurements. `quick`: in quick depth."""
    instances = list(instances)
    counts = Counter((i.check.id, i.operation.id) for i in instances)
    exclusive = {i.operation.id for i in instances if i.check.exclusive}
    total: dict[str, Cost] = {}
    parts = [(check, operation, count) for (check, operation), count in counts.items()]
    parts += [(_CONTROL, operation, 1) for operation in sorted({operation for _, operation in counts})]
    parts += [(_EXCLUSIVE, operation, 1) for operation in sorted(exclusive)]
    for check, operation, count in parts:
        cost = cost_of(check, operation).scale(count)
        cost = cost.in_quick_depth() if quick else cost
        sum_ = total.setdefault(operation, Cost(0))
        sum_.instances += count if check not in (_CONTROL, _EXCLUSIVE) else 0
        sum_.reads += cost.reads
        sum_.writes += cost.writes
        sum_.fixtures += cost.fixtures
    return total


@cache
def known_costs() -> Costs:
    return from_table(json.loads(FILE.read_text(encoding="utf-8")))


@cache
def cost_of(check: str, operation: str) -> Cost:
    """As measured; what only runs in deep depth ask of an operation is taken to cost as much as on another one."""
    known = known_costs()
    if (check, operation) in known:
        return known[check, operation]
    others = [cost for (name, _), cost in known.items() if name == check]
    if not others:
        return Cost(1, 0, 0)
    cost = max(others, key=lambda cost: (cost.reads + cost.writes) / max(1, cost.instances))
    control = known.get((_CONTROL, operation), Cost()).fixtures
    return replace(cost, fixtures=Counter({name: count * cost.fixtures.total() for name, count in control.items()}))


Setup = tuple[str, str]
"""Operation, and what its checks share: its control, its limit, or `Check.shares` with a case."""


def expected_cost(instance: Instance) -> float:
    """The expected number of requests in quick depth, from a run of the reference, without what others share."""
    if instance.check.exclusive:
        return 0.5
    if instance.check.shares:
        return _LEAST_COST
    cost = known_costs().get((instance.check.id, instance.operation.id), Cost())
    requests = cost.usual or (cost.reads + cost.writes) / max(1, cost.instances)
    # of a walk, `costs.json` counts for no check what all of them share
    return max(_LEAST_COST, requests or _CHAIN_COST * instance.check.chain)


def setups(instance: Instance) -> tuple[tuple[Setup, float], ...]:
    """What an instance shares with others, and its requests: the first instance costs them in addition."""
    operation, shares = instance.operation.id, instance.check.shares
    if instance.check.exclusive:
        burst = known_costs().get((_EXCLUSIVE, operation), Cost())
        return (((operation, "limit"), burst.usual or _BURST_COST),)
    control = ((operation, "control"), _CONTROL_COST)
    if not shares:
        return (control,)
    return control, ((operation, f"{shares} {instance.case or '1'}"), _SHARED_COSTS[shares])


def from_table(table: Mapping[str, Mapping[str, Any]]) -> Costs:
    return {
        (check, operation): Cost(row[0], row[1], row[2], Counter(row[3]), row[4])
        for check, operations in table.items()
        for operation, row in operations.items()
    }
