"""The order in which checks start: the likeliest and cheapest evidence of a fault first.

`evidence.json` says which instances of checks find each known fault; `python -m tests.matrix.fit_order` writes it.
What a check has found on one operation and in one case, it may find on any other: operations and cases are
exchangeable, but for the weight that the evidence gives to its own. An instance counts for what the ones before it may
have missed, for each request that it costs (`costs.json`). A pure function: it only reorders.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from heapq import heapify, heappop, heapreplace
from pathlib import Path
from typing import Any, Final

from conformance.checks.support.costs import known_costs
from conformance.checks.support.registry import Instance
from conformance.core.defaults import QUICK_REQUESTS
from conformance.engine.session import Session

EVIDENCE_FILE: Final = Path(__file__).with_name("evidence.json")
_CHAIN_COST: Final = 60.0
_PLANNED_SHARE: Final = 0.94
"""Of the requests of quick depth: few of its checks share their last control, which the costs of a whole run count."""
_CONTROL_COST: Final = 1.0
_BURST_COST: Final = 22.0
"""Requests that provoke the limit of one operation, which all its exclusive checks share."""
_CERTAINTY: Final = 0.95
"""The greatest likelihood: a fault like a known one may show on another operation or in another case."""
_WEIGHTS: Final = {"?everywhere": 0.15, "?once": 0.5}
"""The weights of two unknown faults of each check: one that all its instances find, and one that a single one finds. A
known fault has 1."""


@dataclass(frozen=True)
class Weights:
    """What a fault found on one operation and in one case says of others. They add up to 1."""

    anywhere: float = 0.4
    """The share of all instances of the check that found it."""
    same_case: float = 0.4
    """The share of the instances in this case."""
    same_operation: float = 0.2
    """The share of the instances on this operation."""


@dataclass(frozen=True)
class Trace:
    """Which instances of one check find one fault: shares from 0 to 1."""

    anywhere: float
    cases: Mapping[str, float] = field(default_factory=dict)
    operations: Mapping[str, float] = field(default_factory=dict)

    def likelihood(self, instance: Instance, weights: Weights, known_case: bool) -> float:
        if self.anywhere == 1.0:
            return _CERTAINTY
        in_case = self.cases.get(instance.case, 0.0) if known_case else self.anywhere
        on_operation = self.operations.get(instance.operation.id, 0.0)
        likelihood = (
            weights.anywhere * self.anywhere + weights.same_case * in_case + weights.same_operation * on_operation
        )
        return min(likelihood, _CERTAINTY)


@dataclass(frozen=True)
class Evidence:
    """`traces`: check -> fault -> what found it; `controls`: operation -> the faults that its control shows."""

    traces: Mapping[str, Mapping[str, Trace]]
    controls: Mapping[str, frozenset[str]]
    cases: Mapping[str, frozenset[str]]
    """Check -> the names of its cases on the reference service."""

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Evidence:
        traces: dict[str, dict[str, Trace]] = defaultdict(dict)
        controls: dict[str, set[str]] = defaultdict(set)
        for fault, found in document["faults"].items():
            for check, share in found["checks"].items():
                traces[check][fault] = Trace(**share)
            for operation in found["controls"]:
                controls[operation].add(fault)
        return cls(
            traces,
            {operation: frozenset(faults) for operation, faults in controls.items()},
            {check: frozenset(names) for check, names in document["cases"].items()},
        )


@cache
def known_evidence() -> Evidence:
    return Evidence.from_json(json.loads(EVIDENCE_FILE.read_text(encoding="utf-8")))


def sort_by_priority(instances: Iterable[Instance], evidence: Evidence | None = None) -> list[Instance]:
    """The same instances; exclusive ones last, in their given order."""
    unsorted = list(instances)
    ordinary = [instance for instance in unsorted if not instance.check.exclusive]
    return [*_Search(ordinary, evidence or known_evidence()).order(), *(i for i in unsorted if i.check.exclusive)]


def select_within(instances: Iterable[Instance], budget: float, evidence: Evidence | None = None) -> frozenset[str]:
    """The ids of the instances that are worth most for about `budget` requests."""
    search = _Search(list(instances), evidence or known_evidence())
    return frozenset(instance.id for instance in search.order(budget))


def select_for_depth(instances: Sequence[Instance], session: Session) -> frozenset[str]:
    """The ids of the instances that are run in the depth of a session."""
    if session.profile.limits.depth != "quick":
        return frozenset(instance.id for instance in instances)
    return select_within(instances, _PLANNED_SHARE * QUICK_REQUESTS)


def sort_for_depth(session: Session, instances: list[Instance]) -> list[Instance]:
    """The instances that are run in the depth of a session; by priority where requests or seconds are limited."""
    selected_ids = select_for_depth(instances, session)
    selected = [instance for instance in instances if instance.id in selected_ids]
    return sort_by_priority(selected) if session.has_budget else selected


def expected_cost(instance: Instance) -> float:
    """The expected number of requests, from runs of the reference and its variants, without the operation's control."""
    if instance.check.exclusive:
        return 0.5
    cost = known_costs().get((instance.check.id, instance.operation.id))
    if cost is None:  # several checks share one walk, which `costs.json` counts for none of them
        return _CHAIN_COST if instance.check.chain else 1.0
    return max(1.0, (cost.reads + cost.writes) / max(1, cost.instances))


def setup_cost(instance: Instance) -> float:
    """The requests that the first of the instances on an operation costs in addition."""
    return _BURST_COST if instance.check.exclusive else _CONTROL_COST


class _Search:
    """Chooses one instance after another, each the best for its cost after those before it."""

    def __init__(self, instances: Sequence[Instance], evidence: Evidence, weights: Weights | None = None) -> None:
        self._evidence = evidence
        self._doubt: dict[str, float] = {}
        """By fault: its weight, times the likelihood that no instance so far has found it."""
        self._prepared: set[tuple[str, bool]] = set()
        """Operations whose control is proven, or whose limit was provoked."""
        self._uses: Counter[str] = Counter()
        """By operation: the requirements that are covered on it first, so that they are spread over all operations."""
        self._instances = instances
        self._likelihoods = _likelihoods(instances, evidence, weights or Weights())
        for likelihoods in self._likelihoods:
            for fault in likelihoods:
                self._doubt[fault] = _WEIGHTS.get(fault.partition(" ")[0], 1.0)

    def order(self, budget: float | None = None) -> list[Instance]:
        """All instances, or those that `budget` requests suffice for.

        Each requirement comes once before any comes twice, each operation is called, and then the best comes first.
        """
        remaining = float("inf") if budget is None else budget
        chosen: list[int] = []
        later = list(range(len(self._instances)))
        covered: set[str] = set()
        for group_of in (_requirement, _operation, None):
            queue = [(-self._worth(index), index) for index in later]
            later = []
            for index in self._best_first(queue):
                instance = self._instances[index]
                if group_of and group_of(instance) in covered:
                    later.append(index)
                elif (cost := self._cost(index)) <= remaining:
                    remaining -= cost
                    covered |= {_requirement(instance), _operation(instance)}
                    self._note(index, is_first=group_of is _requirement)
                    chosen.append(index)
            self._uses.clear()
        return [self._instances[index] for index in chosen]

    def _best_first(self, queue: list[tuple[float, int]]) -> Iterator[int]:
        """The indices of a list of (negative worth, index). What an instance is worth may fall after each."""
        heapify(queue)
        while queue:
            index = queue[0][1]
            worth = -self._worth(index)
            if len(queue) > 1 and (worth, index) > min(queue[1:3]):
                heapreplace(queue, (worth, index))
            else:
                heappop(queue)
                yield index

    def _setup(self, index: int) -> tuple[str, bool]:
        instance = self._instances[index]
        return instance.operation.id, instance.check.exclusive

    def _cost(self, index: int) -> float:
        instance = self._instances[index]
        shared = 0.0 if self._setup(index) in self._prepared else setup_cost(instance)
        return expected_cost(instance) + shared

    def _worth(self, index: int) -> float:
        """Known and unknown faults that are found for each request."""
        found = sum(self._doubt[fault] * share for fault, share in self._likelihoods[index].items())
        operation, exclusive = self._setup(index)
        if not exclusive and (operation, False) not in self._prepared:
            found += sum(self._doubt.get(fault, 1.0) for fault in self._evidence.controls.get(operation, ()))
        return found / self._cost(index) / (1 + self._uses[operation])

    def _note(self, index: int, *, is_first: bool) -> None:
        """Notes the choice of an instance. `is_first`: of its requirement; those are spread over all operations."""
        self._uses[self._instances[index].operation.id] += is_first
        for fault, share in self._likelihoods[index].items():
            self._doubt[fault] *= 1 - share
        operation, exclusive = setup = self._setup(index)
        if setup not in self._prepared and not exclusive:
            for fault in self._evidence.controls.get(operation, ()):
                self._doubt[fault] = 0.0
        self._prepared.add(setup)


def _requirement(instance: Instance) -> str:
    return instance.check.requirement


def _operation(instance: Instance) -> str:
    return instance.operation.id


def _likelihoods(instances: Sequence[Instance], evidence: Evidence, weights: Weights) -> list[Mapping[str, float]]:
    """By instance: fault -> the likelihood that it is found. Names of unknown faults begin with `?`."""
    sizes: dict[str, int] = defaultdict(int)
    for instance in instances:
        sizes[instance.check.id] += 1
    found: list[Mapping[str, float]] = []
    for instance in instances:
        known_case = instance.case in evidence.cases.get(instance.check.id, ())
        likelihoods = {
            fault: likelihood
            for fault, trace in evidence.traces.get(instance.check.id, {}).items()
            if (likelihood := trace.likelihood(instance, weights, known_case))
        }
        likelihoods[f"?everywhere {instance.check.id}"] = _CERTAINTY
        likelihoods[f"?once {instance.check.id}"] = 1 / sizes[instance.check.id]
        found.append(likelihoods)
    return found
