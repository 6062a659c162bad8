"""The order in which checks start: the likeliest and cheapest evidence of a fault first.

`evidence.json` says which instances of checks find each known fault; `python -m tests.matrix.fit_order` writes it.
What a check has found on one operation and in one case, it may find on any other: operations and cases are
exchangeable, but for the weight that the evidence gives to its own. An instance counts for what the ones before it may
have missed, for each request that it costs (`costs.json`). A pure function: it only reorders.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, cached_property
from heapq import heapify, heappop, heappush, heapreplace
from operator import itemgetter, mul
from pathlib import Path
from typing import Any, Final

from conformance.checks.support.costs import known_costs
from conformance.checks.support.registry import Instance
from conformance.core.defaults import QUICK_REQUESTS
from conformance.engine.session import Session

EVIDENCE_FILE: Final = Path(__file__).with_name("evidence.json")
_CHAIN_COST: Final = 60.0
_PLANNED_SHARE: Final = 1.05
"""Of the requests of quick depth: costs are the greatest of all measured runs, and a run on the reference has less."""
_CONTROL_COST: Final = 1.0
_BURST_COST: Final = 34.0
"""Requests that provoke the limit of one operation, 10 on the reference, which all its exclusive checks share."""
_SPREAD: Final = 0.3
"""How much less an instance is worth for each requirement that was covered on its operation before."""
_CERTAINTY: Final = 0.95
"""The greatest likelihood: a fault like a known one may show on another operation or in another case."""
_WEIGHTS: Final = {"?everywhere": 0.6, "?once": 2.0}
"""The weights of two unknown faults of each check: one that all its instances find, and one that a single one finds. A
known fault has 1. Greater weights find more of the faults that the order was not fitted on, and fewer of the others."""


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

    @cached_property
    def _names(self) -> Mapping[str, tuple[frozenset[str], frozenset[str]]]:
        """Check -> the cases and operations that any of its traces names."""
        return {
            check: (
                frozenset(name for trace in traces.values() for name in trace.cases),
                frozenset(name for trace in traces.values() for name in trace.operations),
            )
            for check, traces in self.traces.items()
        }

    def distinctions(self, check: str, instance: Instance) -> tuple[str, str]:
        """The case and the operation of an instance, each empty where no trace of its check names it."""
        cases, operations = self._names.get(check, (frozenset(), frozenset()))
        case, operation = instance.case, instance.operation.id
        return case if case in cases else "", operation if operation in operations else ""

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


def select_quick(instances: Iterable[Instance], evidence: Evidence | None = None) -> frozenset[str]:
    """The ids of the instances that are run in quick depth."""
    return select_within(instances, _PLANNED_SHARE * QUICK_REQUESTS, evidence)


def select_for_depth(instances: Sequence[Instance], session: Session) -> frozenset[str]:
    """The ids of the instances that are run in the depth of a session."""
    if session.profile.limits.depth != "quick":
        return frozenset(instance.id for instance in instances)
    return select_quick(instances)


def sort_for_session(instances: Sequence[Instance], session: Session) -> list[Instance]:
    """By priority where the run may end before all of them; in quick depth by operation, spread over the run otherwise.

    The negatives of an operation share their last control where they are run one after the other.
    """
    if session.may_end_early:
        return sort_by_priority(instances)
    if session.profile.limits.depth != "quick":
        return spread_by_operation(instances)
    return sorted(instances, key=lambda i: (i.check.exclusive, "" if i.check.exclusive else i.operation.id))


def spread_by_operation(instances: Sequence[Instance]) -> list[Instance]:
    """The instances of each operation in their given order, evenly among those of the others.

    Negatives of one operation take turns: if they were left until the end, nothing else would be in flight.
    """
    counts = Counter(instance.operation.id for instance in instances)
    seen: Counter[str] = Counter()
    positions: list[float] = []
    for instance in instances:
        seen[instance.operation.id] += 1
        positions.append(seen[instance.operation.id] / counts[instance.operation.id])
    return [instances[index] for index in sorted(range(len(instances)), key=positions.__getitem__)]


def sort_for_depth(session: Session, instances: list[Instance]) -> list[Instance]:
    """The instances that are run in the depth of a session, in their order."""
    selected_ids = select_for_depth(instances, session)
    return sort_for_session([instance for instance in instances if instance.id in selected_ids], session)


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


@dataclass(frozen=True, slots=True)
class _Kind:
    """Instances that are worth the same at any time: of one operation, with equal likelihoods and costs."""

    faults: tuple[int, ...]
    shares: tuple[float, ...]
    doubts_of: Callable[[list[float]], tuple[float, ...]]
    """Picks the doubts of `faults` from the list of all."""
    cost: float
    setup_cost: float
    setup: tuple[str, bool]
    """Its operation, and whether it runs alone."""


class _Search:
    """Chooses one instance after another, each the best for its cost after those before it.

    Faults are numbers here, and equal instances are evaluated once between two choices: a run waits for the order.
    """

    def __init__(self, instances: Sequence[Instance], evidence: Evidence, weights: Weights | None = None) -> None:
        self._instances = instances
        self._numbers: dict[str, int] = {}
        """By fault: its place in the list of doubts."""
        self._doubts: list[float] = []
        """The weight of each fault, times the likelihood that no instance so far has found it."""
        self._prepared: set[tuple[str, bool]] = set()
        """Operations whose control is proven, or whose limit was provoked."""
        self._uses: Counter[str] = Counter()
        """By operation: the requirements that are covered on it first, so that they are spread over all operations."""
        self._worths: dict[int, float] = {}
        """By identity of a kind: its worth since the last choice."""
        self._kinds = self._kinds_of(evidence, weights or Weights())
        self._controls = {
            operation: tuple(self._number(fault) for fault in sorted(faults))
            for operation, faults in evidence.controls.items()
        }

    def _number(self, fault: str) -> int:
        if fault not in self._numbers:
            self._numbers[fault] = len(self._doubts)
            self._doubts.append(_WEIGHTS.get(fault.partition(" ")[0], 1.0))
        return self._numbers[fault]

    def _kinds_of(self, evidence: Evidence, weights: Weights) -> list[_Kind]:
        """The kind of each instance."""
        sizes: Counter[str] = Counter()
        for instance in self._instances:
            sizes[instance.check.id] += 1
        vectors: dict[tuple[str, bool, str, str], tuple[tuple[int, ...], tuple[float, ...]]] = {}
        kinds: dict[tuple[object, ...], _Kind] = {}
        found = []
        for instance in self._instances:
            check = instance.check.id
            traces = evidence.traces.get(check, {})
            known_case = instance.case in evidence.cases.get(check, ())
            case, operation = evidence.distinctions(check, instance)
            vector_key = (check, known_case, case, operation)
            if vector_key not in vectors:
                likelihoods = _likelihoods(instance, traces, weights, sizes, known_case=known_case)
                vectors[vector_key] = tuple(map(self._number, likelihoods)), tuple(likelihoods.values())
            faults, shares = vectors[vector_key]
            setup, cost = (instance.operation.id, instance.check.exclusive), expected_cost(instance)
            kind_key = (faults, shares, setup, cost)
            if kind_key not in kinds:
                kinds[kind_key] = _Kind(faults, shares, itemgetter(*faults), cost, setup_cost(instance), setup)
            found.append(kinds[kind_key])
        return found

    def order(self, budget: float | None = None) -> list[Instance]:
        """All instances, or those that `budget` requests suffice for.

        Each requirement comes once before any comes twice, each operation is called, and then the best comes first.
        """
        remaining = float("inf") if budget is None else budget
        chosen: list[int] = []
        later = list(range(len(self._instances)))
        covered: set[str] = set()
        for group_of in (_requirement, _operation, None):
            groups = [group_of(instance) for instance in self._instances] if group_of else None
            queue, later = self._queue(later), []
            for index in self._best_first(queue, groups, covered, later):
                kind, instance = self._kinds[index], self._instances[index]
                if (cost := self._cost(kind)) <= remaining:
                    remaining -= cost
                    covered |= {_requirement(instance), _operation(instance)}
                    self._note(kind, is_first=group_of is _requirement)
                    chosen.append(index)
            self._uses.clear()
        return [self._instances[index] for index in chosen]

    def _queue(self, indices: Iterable[int]) -> list[tuple[float, int]]:
        """A heap of (negative worth, index)."""
        self._worths.clear()
        queue = [(-self._worth(index), index) for index in indices]
        heapify(queue)
        return queue

    def _best_first(
        self, queue: list[tuple[float, int]], groups: Sequence[str] | None, covered: Set[str], later: list[int]
    ) -> Iterator[int]:
        """The indices of a heap of (negative worth, index); those of covered groups are put into `later`.

        What an instance is worth may fall after each; it rises where its control is proven meanwhile, and then it is
        in the heap twice.
        """
        remaining = {index for _, index in queue}
        while queue:
            index = queue[0][1]
            if index not in remaining:
                heappop(queue)
                continue
            if groups is not None and groups[index] in covered:
                later.append(heappop(queue)[1])
                remaining.remove(index)
                continue
            entry = (-self._worth(index), index)
            heapreplace(queue, entry)
            if queue[0] == entry:
                heappop(queue)
                remaining.remove(index)
                setup = self._kinds[index].setup
                was_prepared = setup in self._prepared
                yield index
                if setup in self._prepared and not was_prepared:
                    for other in (i for i in remaining if self._kinds[i].setup == setup):
                        heappush(queue, (-self._worth(other), other))

    def _cost(self, kind: _Kind) -> float:
        if kind.setup in self._prepared:
            return kind.cost
        return kind.cost + kind.setup_cost

    def _worth(self, index: int) -> float:
        """Known and unknown faults that are found for each request."""
        kind = self._kinds[index]
        worth = self._worths.get(id(kind))
        if worth is None:
            found = sum(map(mul, kind.doubts_of(self._doubts), kind.shares))
            operation, exclusive = kind.setup
            if not exclusive and kind.setup not in self._prepared:
                found += sum(self._doubts[fault] for fault in self._controls.get(operation, ()))
            spread = 1 if exclusive else 1 + _SPREAD * self._uses[operation]
            worth = self._worths[id(kind)] = found / self._cost(kind) / spread
        return worth

    def _note(self, kind: _Kind, *, is_first: bool) -> None:
        """Notes the choice of an instance. `is_first`: of its requirement; those are spread over all operations."""
        self._worths.clear()
        self._uses[kind.setup[0]] += is_first
        for fault, share in zip(kind.faults, kind.shares, strict=True):
            self._doubts[fault] *= 1 - share
        operation, exclusive = kind.setup
        if not exclusive and kind.setup not in self._prepared:
            for fault in self._controls.get(operation, ()):
                self._doubts[fault] = 0.0
        self._prepared.add(kind.setup)


def _requirement(instance: Instance) -> str:
    return instance.check.requirement


def _operation(instance: Instance) -> str:
    return instance.operation.id


def _likelihoods(
    instance: Instance, traces: Mapping[str, Trace], weights: Weights, sizes: Mapping[str, int], *, known_case: bool
) -> dict[str, float]:
    """Fault -> the likelihood that an instance finds it. Names of unknown faults begin with `?`."""
    likelihoods = {
        fault: likelihood
        for fault, trace in traces.items()
        if (likelihood := trace.likelihood(instance, weights, known_case))
    }
    likelihoods[f"?everywhere {instance.check.id}"] = _CERTAINTY
    likelihoods[f"?once {instance.check.id}"] = 1 / sizes[instance.check.id]
    return likelihoods
