"""A best-first search: the instances of checks that find most of the known and unknown faults for each request.

An unseen fault is like a known one: on any operation, on the same one, or on the same one in the same case; or it is
one that only its check can find.
Where a fault shows in m of n instances of a check, one instance finds it with the likelihood m / n, and each further
one of those that are left with a greater one (draws without replacement). A pure function: it only chooses.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final

from conformance.checks.support.costs import Setup, expected_cost, setups
from conformance.checks.support.registry import Instance
from conformance.contract import load_contract
from conformance.core.outcomes import Level
from conformance.runner.evidence import Evidence, Trace

_CERTAINTY: Final = 0.95
"""The greatest likelihood: a fault like a known one may show in another case."""

Hypothesis = tuple[int, float]
"""A fault that may be there, as its place in the list of doubts, and the number of instances that find it."""
Entry = tuple[float, int]
"""Of a heap: the negative worth of a group, and the place of its next instance."""


@dataclass(frozen=True)
class Weights:
    """The weights of hypotheses: for each known fault the first three, for each check the others."""

    any_operation: float
    """A fault like it shows on any operation."""
    same_operation: float
    """A fault like it shows on the same operation."""
    same_instance: float
    """A fault like it shows in the same case on the same operation."""
    all_instances: float
    """An unknown fault that all instances of a check find."""
    single_instance: float
    """An unknown fault that a single instance of a check finds. A check that judges nothing has neither."""


@dataclass(eq=False)
class _Group:
    """Instances on which all hypotheses look alike: of one check, operation and cost, in one case or any other one."""

    check: str
    operation: str
    case: str
    """Empty where no known fault is one of this case."""
    cost: float
    setups: tuple[tuple[Setup, float], ...]
    """What it shares with others, and the requests of each."""
    exclusive: bool
    popularity: float
    """How often faults are on this operation."""
    instances: deque[int] = field(default_factory=deque)
    """The places of those that are not chosen yet."""


@dataclass(eq=False)
class _Pool:
    """The instances of one check, or of one check on one operation, or in one case there, that are not chosen yet."""

    hypotheses: list[Hypothesis] = field(default_factory=list)
    remaining: float = 0.0
    """Their number, weighted by popularity where they may be of several operations."""

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
        """`groups`: each function names the group of an instance; every group comes once before any comes twice."""
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
        self._of_instance: dict[tuple[str, str, str], _Pool] = defaultdict(_Pool)
        """By check, operation and case."""
        self._groups_of: dict[str, list[_Group]] = defaultdict(list)
        """By check."""
        self._sizes: Counter[str] = Counter(instance.check.id for instance in instances)
        self._group_instances(evidence)
        self._controls: dict[str, list[int]] = defaultdict(list)
        self._add_known_faults(evidence, weights)
        self._add_unknown_faults(weights)

    def _group_instances(self, evidence: Evidence) -> None:
        groups: dict[tuple[object, ...], _Group] = {}
        traces = ((check, trace) for check, found in evidence.traces.items() for trace in found.values())
        known_cases = {(check, case) for check, trace in traces for case in trace.cases}
        for index, instance in enumerate(self._instances):
            check, operation = instance.check.id, instance.operation.id
            case = instance.case if (check, instance.case) in known_cases else ""
            key = (check, operation, case, expected_cost(instance), setups(instance))
            group = groups.get(key)
            if group is None:
                popularity = evidence.operations.get(operation, 1.0)
                group = groups[key] = _Group(*key, instance.check.exclusive, popularity)
                self._groups_of[check].append(group)
            group.instances.append(index)
            self._of_check[check].remaining += group.popularity
            self._of_operation[check, operation].remaining += 1
            if case:
                self._of_instance[check, operation, case].remaining += 1

    def _add_known_faults(self, evidence: Evidence, weights: Weights) -> None:
        kinds = (weights.any_operation, weights.same_operation, weights.same_instance)
        places: dict[str, list[int]] = {}

        def places_of(fault: str) -> list[int]:
            if fault not in places:
                places[fault] = [self._doubt(weight) for weight in kinds]
            return places[fault]

        for check in self._groups_of:
            for fault, trace in evidence.traces.get(check, {}).items():
                self._add_trace(check, trace, places_of(fault))
        for operation, faults in evidence.controls.items():
            for fault in sorted(faults):
                self._controls[operation].extend(places_of(fault))

    def _add_trace(self, check: str, trace: Trace, doubts: Sequence[int]) -> None:
        """`doubts`: the places of one fault's hypotheses, in the order of `Weights`."""
        any_operation, same_operation, same_instance = doubts
        self._of_check[check].hypotheses.append((any_operation, trace.anywhere * self._sizes[check]))
        on_operation = trace.operations
        if trace.anywhere == 1.0:
            on_operation = {group.operation: 1.0 for group in self._groups_of[check]}
        for operation, share in on_operation.items():
            pool = self._of_operation[check, operation]
            pool.hypotheses.append((same_operation, share * pool.remaining))
            for case in trace.cases:
                self._of_instance[check, operation, case].hypotheses.append((same_instance, 1.0))

    def _add_unknown_faults(self, weights: Weights) -> None:
        requirements = load_contract().requirements
        for check in {instance.check.id: instance.check for instance in self._instances}.values():
            if requirements[check.requirement].level is Level.OBSERVED:
                continue
            pool = self._of_check[check.id]
            pool.hypotheses.append((self._doubt(weights.all_instances), self._sizes[check.id]))
            pool.hypotheses.append((self._doubt(weights.single_instance), 1.0))

    def _doubt(self, weight: float) -> int:
        self._doubts.append(weight)
        return len(self._doubts) - 1

    def order(self, budget: float | None = None) -> Iterator[Instance]:
        """All instances, or those that `budget` requests suffice for, each chosen when it is asked for.

        What has to be covered comes first, then the best.
        """
        remaining = float("inf") if budget is None else budget
        covered: set[str] = set()
        for name_of in (*self._coverage, None):
            for group in self._best_first(name_of, covered):
                if (cost := self._cost(group)) <= remaining:
                    remaining -= cost
                    instance = self._instances[group.instances.popleft()]
                    covered.update(name(instance) for name in self._coverage)
                    self._note(group)
                    yield instance

    def _best_first(self, name_of: Callable[[Instance], str] | None, covered: Set[str]) -> Iterator[_Group]:
        """The best group, again and again, without those whose names are covered; one that is not used ends there.

        What a group is worth may fall after each choice. It rises where an instance of the same check was chosen, or
        where its control is proven meanwhile: then it has another entry in the heap.
        """
        self._worths.clear()
        groups = {group.instances[0]: group for found in self._groups_of.values() for group in found if group.instances}
        entries = {group: self._entry(group) for group in groups.values()}
        queue = list(entries.values())
        heapify(queue)
        while queue:
            group = groups[queue[0][1]]
            if entries.get(group) != queue[0]:
                heappop(queue)
                continue
            if name_of is not None and name_of(self._instances[queue[0][1]]) in covered:
                del entries[group]
                continue
            entry = entries[group] = self._entry(group)
            heapreplace(queue, entry)
            if queue[0] != entry:
                continue
            unpaid = {setup for setup, _ in group.setups} - self._prepared
            yield group
            if not group.instances or group.instances[0] == entry[1]:
                del entries[group]
            for other in self._risen(group.check, unpaid & self._prepared, entries.keys()):
                groups[other.instances[0]] = other
                entries[other] = self._entry(other)
                heappush(queue, entries[other])

    def _risen(self, check: str, paid: Set[Setup], groups: Set[_Group]) -> list[_Group]:
        """The groups whose worth may be greater after a choice of this check that paid for these setups."""
        found = [group for group in self._groups_of[check] if group in groups]
        if paid:
            found += [group for group in groups if any(setup in paid for setup, _ in group.setups)]
        return found

    def _entry(self, group: _Group) -> Entry:
        return -self._worth(group), group.instances[0]

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
        if group.case:
            yield from self._of_instance[group.check, group.operation, group.case].likelihoods(1.0)

    def _note(self, group: _Group) -> None:
        """Notes the choice of an instance."""
        self._worths.clear()
        for doubt, likelihood in self._likelihoods(group):
            self._doubts[doubt] *= 1 - likelihood
        for doubt in self._shown_by_control(group):
            self._doubts[doubt] = 0.0
        self._of_check[group.check].remaining -= group.popularity
        self._of_operation[group.check, group.operation].remaining -= 1
        if group.case:
            self._of_instance[group.check, group.operation, group.case].remaining -= 1
        self._prepared.update(setup for setup, _ in group.setups)

    def _shown_by_control(self, group: _Group) -> Sequence[int]:
        """The faults that the proof of the group's control shows; an exclusive check has none of its own."""
        if group.exclusive or group.setups[0][0] in self._prepared:
            return ()
        return self._controls.get(group.operation, ())
