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


Costs = dict[tuple[str, str], Cost]
"""(check, operation) -> cost; the check is `control` for controls, which are proven once."""


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


def from_table(table: Mapping[str, Mapping[str, Any]]) -> Costs:
    return {
        (check, operation): Cost(row[0], row[1], row[2], Counter(row[3]))
        for check, operations in table.items()
        for operation, row in operations.items()
    }
