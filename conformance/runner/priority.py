"""In which order checks begin: the likeliest and cheapest evidence of a fault first.

`first.json` names the instances that, each for few requests, find most of what the kill matrix knows; they lead, in its
order. `python -m tests.matrix.count_kills` makes it anew. What finds nothing known follows by a rule: a check of what
is often violated (`kills.json`) for few requests (`costs.json`) before others, and of each requirement first one
instance in each case and on each operation. A pure function: nothing is added and nothing is left out.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from conformance.checks.catalog import KILLS
from conformance.checks.support.costs import Cost, known_costs
from conformance.checks.support.registry import Instance

FILE: Final = Path(__file__).with_name("first.json")
_CHAIN: Final = 60.0


def ordered(instances: Iterable[Instance]) -> list[Instance]:
    """The same instances; those that must run alone last, in their own order."""
    given = list(instances)
    ranks = _ranks(given)
    lead = {name: place for place, name in enumerate(leaders())}

    def place(instance: Instance) -> tuple[bool, int, float]:
        if instance.check.exclusive:
            return True, 0, 0.0
        return False, lead.get(instance.id, len(lead)), -_promise(instance, ranks[instance.id])

    return sorted(given, key=place)


def price(instance: Instance) -> float:
    """Requests, as far as the reference and its variants tell; one more for what has to be proven before."""
    if instance.check.chain:
        return _CHAIN  # one walk is made for several checks, and none of them is counted for it
    cost = known_costs().get((instance.check.id, instance.operation.id), Cost())
    return 1 + (cost.reads + cost.writes) / max(1, cost.instances)


def _promise(instance: Instance, rank: int) -> float:
    """Known faults a request; the later instances of a requirement hardly find what the earlier ones did not."""
    return (1 + kills()[instance.check.requirement]) / price(instance) / (1 + rank)


def _ranks(instances: Sequence[Instance]) -> Mapping[str, int]:
    """By id: which of its requirement's an instance is, where cases and operations take turns, as on a diagonal."""
    groups: dict[str, list[Instance]] = defaultdict(list)
    for instance in instances:
        groups[instance.check.requirement].append(instance)
    ranks: dict[str, int] = {}
    for group in groups.values():
        cases = {case: number for number, case in enumerate(dict.fromkeys((i.check.id, i.case) for i in group))}
        operations = {name: number for number, name in enumerate(dict.fromkeys(i.operation.id for i in group))}
        size = max(len(cases), len(operations))
        turns = {i.id: (operations[i.operation.id] - cases[i.check.id, i.case]) % size for i in group}
        ranks |= {i.id: rank for rank, i in enumerate(sorted(group, key=lambda one: turns[one.id]))}
    return ranks


@cache
def kills() -> Counter[str]:
    """How many of the known faults each requirement finds."""
    faults = json.loads(KILLS.read_text(encoding="utf-8"))["faults"]
    return Counter(requirement for fault in faults.values() for requirement in fault["by"])


@cache
def leaders() -> tuple[str, ...]:
    """Ids of the instances that lead. Some may not be called for by a profile."""
    return tuple(json.loads(FILE.read_text(encoding="utf-8")))
