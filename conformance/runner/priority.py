"""The order in which checks start: the likeliest and cheapest evidence of a fault first.

The instances of `first.json` lead: each finds many faults of the kill matrix with few requests.
`python -m tests.matrix.count_kills` writes that file. The others are sorted by a rule: checks with few requests
(`costs.json`) of requirements that many faults violate (`kills.json`) come first, and of each requirement first one
instance in each case and on each operation. A pure function: it only reorders.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from conformance.checks.catalog import KILLS
from conformance.checks.support.costs import known_costs
from conformance.checks.support.registry import Instance

LEADERS_FILE: Final = Path(__file__).with_name("first.json")
_CHAIN_COST: Final = 60.0


def sort_by_priority(instances: Iterable[Instance]) -> list[Instance]:
    """The same instances; exclusive ones last, in their given order."""
    unsorted = list(instances)
    ranks = _ranks(unsorted)
    leading = {name: place for place, name in enumerate(leaders())}

    def sort_key(instance: Instance) -> tuple[bool, int, float]:
        if instance.check.exclusive:
            return True, 0, 0.0
        return False, leading.get(instance.id, len(leading)), -_faults_per_request(instance, ranks[instance.id])

    return sorted(unsorted, key=sort_key)


def expected_cost(instance: Instance) -> float:
    """The expected number of requests, from runs of the reference and its variants, plus one for controls."""
    cost = known_costs().get((instance.check.id, instance.operation.id))
    if cost is None:  # several checks share one walk, which `costs.json` counts for none of them
        return _CHAIN_COST if instance.check.chain else 1.0
    return 1 + (cost.reads + cost.writes) / max(1, cost.instances)


def _faults_per_request(instance: Instance, rank: int) -> float:
    """Known faults for each request; less for later instances of a requirement, which rarely find anything new."""
    return (1 + faults_found()[instance.check.requirement]) / expected_cost(instance) / (1 + rank)


def _ranks(instances: Sequence[Instance]) -> Mapping[str, int]:
    """Id of an instance -> its place among those of its requirement; cases and operations alternate, diagonally."""
    groups: dict[str, list[Instance]] = defaultdict(list)
    for instance in instances:
        groups[instance.check.requirement].append(instance)
    ranks: dict[str, int] = {}
    for group in groups.values():
        cases = {case: number for number, case in enumerate(dict.fromkeys((i.check.id, i.case) for i in group))}
        operations = {name: number for number, name in enumerate(dict.fromkeys(i.operation.id for i in group))}
        size = max(len(cases), len(operations))
        diagonals = {i.id: (operations[i.operation.id] - cases[i.check.id, i.case]) % size for i in group}
        ranks |= {i.id: rank for rank, i in enumerate(sorted(group, key=lambda member: diagonals[member.id]))}
    return ranks


@cache
def faults_found() -> Counter[str]:
    """Requirement -> the number of known faults that it finds."""
    faults = json.loads(KILLS.read_text(encoding="utf-8"))["faults"]
    return Counter(requirement for fault in faults.values() for requirement in fault["by"])


@cache
def leaders() -> tuple[str, ...]:
    """Ids of the leading instances. Some may not apply to a profile."""
    return tuple(json.loads(LEADERS_FILE.read_text(encoding="utf-8")))
