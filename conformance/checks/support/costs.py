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


Costs = dict[tuple[str, str], Cost]
"""(check, operation) -> what it cost; the check is `control` for what is proven once."""


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


def from_table(table: Mapping[str, Mapping[str, Any]]) -> Costs:
    return {
        (check, operation): Cost(row[0], row[1], row[2], Counter(row[3]))
        for check, operations in table.items()
        for operation, row in operations.items()
    }
