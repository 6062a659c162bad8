"""A best-first search: the instances of checks that find most of the known and unknown faults for each request.

An unseen fault is like a known one, on the same operation or on another; or it is one that only its check can find.
Where a fault shows in m of n instances of a check, one instance finds it with the likelihood m / n, and each further
one of those that are left with a greater one (draws without replacement). A pure function: it only chooses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final

from conformance.checks.support.costs import Setup, expected_cost, setups
from conformance.checks.support.registry import Instance
from conformance.contract import load_contract
from conformance.core.outcomes import Level
from conformance.runner.evidence import Evidence

_CERTAINTY: Final = 0.95
"""The greatest likelihood: a fault like a known one may show in another case."""

Hypothesis = tuple[int, float]
"""A fault that may be there, as its place in the list of doubts, and the number of instances that find it."""


@dataclass(frozen=True)
class Weights:
    """The weights of hypotheses: for each known fault the first two, for each check the others."""

    any_operation: float
    """A fault like it shows on any operation."""
    same_operation: float
    """A fault like it shows on the same operation."""
    all_instances: float
    """An unknown fault that all instances of a check find."""
    single_instance: float
    """An unknown fault that a single instance of a check finds. A check that judges nothing has neither."""


@dataclass(eq=False)
class _Group:
    """Instances on which all hypotheses look alike: of one check, operation and cost."""

    check: str
    operation: str
    cost: float
    setups: tuple[tuple[Setup, float], ...]
    """What it shares with others, and the requests of each."""
    exclusive: bool
    popularity: float
    """How often faults are on this operation."""


@dataclass(eq=False)
class _Pool:
    """The instances of one check, or of one check on one operation, that are not chosen yet."""

    hypotheses: list[Hypothesis] = field(default_factory=list)
    remaining: float = 0.0
    """Their number, weighted by popularity where they are of several operations."""

    def likelihoods(self, weight: float) -> Iterator[tuple[int, float]]:
        """(doubt, likelihood that an instance of this weight finds it), for each hypothesis."""
        share = weight / max(weight, self.remaining)
        return ((doubt, min(_CERTAINTY, count * share)) for doubt, count in self.hypotheses)


class Search:
    """Chooses one instance after another, each the best for its cost after those before it.

    Faults are numbers here, and equal instances are evaluated once between two choices: a run waits for the order.
    """

    def __init__(
        self,
        instances: Sequence[Instance],
        evidence: Evidence,
        weights: Weights,
        groups: Sequence[Callable[[Instance], str]] = (),
    ) -> None:
        """`groups`: each names what comes once of every kind, before any of it comes twice."""
        self._instances = instances
        self._coverage = groups
        self._doubts: list[float] = []
        """The weight of each hypothesis, times the likelihood that no instance so far has found the fault."""
        self._prepared: set[Setup] = set()
        """What was paid for: the control of an operation, its limit, its replays."""
        self._worths: dict[_Group, float] = {}
        """The worths that were calculated since the last choice."""
        self._of_check: dict[str, _Pool] = defaultdict(_Pool)
        self._of_operation: dict[tuple[str, str], _Pool] = defaultdict(_Pool)
        self._groups = self._group_instances(evidence)
        self._indices: dict[str, list[int]] = defaultdict(list)
        for index, group in enumerate(self._groups):
            self._indices[group.check].append(index)
        self._controls: dict[str, list[int]] = defaultdict(list)
        self._add_known_faults(evidence, weights)
        self._add_unknown_faults(weights)

    def _group_instances(self, evidence: Evidence) -> list[_Group]:
        """The group of each instance; the pools count them."""
        groups: dict[tuple[object, ...], _Group] = {}
        found = []
        for instance in self._instances:
            check, operation = instance.check.id, instance.operation.id
            key = (check, operation, expected_cost(instance), setups(instance))
            if key not in groups:
                popularity = evidence.operations.get(operation, 1.0)
                groups[key] = _Group(*key, instance.check.exclusive, popularity)
            found.append(groups[key])
            self._of_check[check].remaining += groups[key].popularity
            self._of_operation[check, operation].remaining += 1
        return found

    def _add_known_faults(self, evidence: Evidence, weights: Weights) -> None:
        sizes = {check: len(indices) for check, indices in self._indices.items()}
        places: dict[str, tuple[int, int]] = {}

        def places_of(fault: str) -> tuple[int, int]:
            if fault not in places:
                places[fault] = self._doubt(weights.any_operation), self._doubt(weights.same_operation)
            return places[fault]

        for check in self._indices.keys() & evidence.traces.keys():
            for fault, trace in evidence.traces[check].items():
                any_operation, same_operation = places_of(fault)
                self._of_check[check].hypotheses.append((any_operation, trace.anywhere * sizes[check]))
                on_operation = trace.operations
                if trace.anywhere == 1.0:
                    on_operation = dict.fromkeys({self._groups[index].operation for index in self._indices[check]}, 1.0)
                for operation, share in on_operation.items():
                    pool = self._of_operation[check, operation]
                    pool.hypotheses.append((same_operation, share * pool.remaining))
        for operation, faults in evidence.controls.items():
            for fault in sorted(faults):
                self._controls[operation].extend(places_of(fault))

    def _add_unknown_faults(self, weights: Weights) -> None:
        requirements = load_contract().requirements
        for check, indices in self._indices.items():
            if requirements[self._instances[indices[0]].check.requirement].level is Level.OBSERVED:
                continue
            pool = self._of_check[check]
            pool.hypotheses.append((self._doubt(weights.all_instances), len(indices)))
            pool.hypotheses.append((self._doubt(weights.single_instance), 1.0))

    def _doubt(self, weight: float) -> int:
        self._doubts.append(weight)
        return len(self._doubts) - 1

    def order(self, budget: float | None = None) -> Iterator[Instance]:
        """All instances, or those that `budget` requests suffice for, each chosen when it is asked for.

        What has to be covered comes first, then the best.
        """
        remaining = float("inf") if budget is None else budget
        later = list(range(len(self._instances)))
        covered: set[str] = set()
        for name_of in (*self._coverage, None):
            names = [name_of(instance) for instance in self._instances] if name_of else None
            queue, later = self._queue(later), []
            for index in self._best_first(queue, names, covered, later):
                if (cost := self._cost(self._groups[index])) <= remaining:
                    remaining -= cost
                    covered.update(name(self._instances[index]) for name in self._coverage)
                    self._note(self._groups[index])
                    yield self._instances[index]

    def _queue(self, indices: Iterable[int]) -> list[tuple[float, int]]:
        """A heap of (negative worth, index)."""
        self._worths.clear()
        queue = [(-self._worth(self._groups[index]), index) for index in indices]
        heapify(queue)
        return queue

    def _best_first(
        self, queue: list[tuple[float, int]], names: Sequence[str] | None, covered: Set[str], later: list[int]
    ) -> Iterator[int]:
        """The indices of a heap of (negative worth, index); those whose names are covered are put into `later`.

        What an instance is worth may fall after each choice. It rises where one of the same check was chosen, or where
        its control is proven meanwhile: then it is in the heap twice.
        """
        remaining = {index for _, index in queue}
        while queue:
            index = queue[0][1]
            if index not in remaining:
                heappop(queue)
                continue
            if names is not None and names[index] in covered:
                later.append(heappop(queue)[1])
                remaining.remove(index)
                continue
            entry = (-self._worth(self._groups[index]), index)
            heapreplace(queue, entry)
            if queue[0] == entry:
                heappop(queue)
                remaining.remove(index)
                unpaid = {setup for setup, _ in self._groups[index].setups} - self._prepared
                yield index
                for other in self._risen(self._groups[index].check, unpaid & self._prepared, remaining):
                    heappush(queue, (-self._worth(self._groups[other]), other))

    def _risen(self, check: str, paid: Set[Setup], remaining: Set[int]) -> Iterator[int]:
        """The indices whose worth may be greater after a choice of this check that paid for these setups."""
        yield from (index for index in self._indices[check] if index in remaining)
        if paid:
            yield from (i for i in remaining if any(setup in paid for setup, _ in self._groups[i].setups))

    def _cost(self, group: _Group) -> float:
        return group.cost + sum(cost for setup, cost in group.setups if setup not in self._prepared)

    def _worth(self, group: _Group) -> float:
        """Known and unknown faults that an instance finds for each request."""
        worth = self._worths.get(group)
        if worth is None:
            found = sum(self._doubts[doubt] * likelihood for doubt, likelihood in self._likelihoods(group))
            found += sum(self._doubts[doubt] for doubt in self._shown_by_control(group))
            worth = self._worths[group] = found / self._cost(group)
        return worth

    def _likelihoods(self, group: _Group) -> Iterator[tuple[int, float]]:
        yield from self._of_check[group.check].likelihoods(group.popularity)
        yield from self._of_operation[group.check, group.operation].likelihoods(1.0)

    def _note(self, group: _Group) -> None:
        """Notes the choice of an instance."""
        self._worths.clear()
        for doubt, likelihood in self._likelihoods(group):
            self._doubts[doubt] *= 1 - likelihood
        for doubt in self._shown_by_control(group):
            self._doubts[doubt] = 0.0
        self._of_check[group.check].remaining -= group.popularity
        self._of_operation[group.check, group.operation].remaining -= 1
        self._prepared.update(setup for setup, _ in group.setups)

    def _shown_by_control(self, group: _Group) -> Sequence[int]:
        """The faults that the proof of the group's control shows; an exclusive check has none of its own."""
        if group.exclusive or group.setups[0][0] in self._prepared:
            return ()
        return self._controls.get(group.operation, ())
