"""The order in which checks start: the likeliest and cheapest evidence of a fault first.

`evidence.json` says which instances of checks find each known fault; `python -m tests.matrix.fit_order` writes it.
What a check has found on one operation and in one case, it may find on any other: cases are exchangeable, and so are
operations, but for the weight that the evidence gives to its own. An instance counts for what the ones before it may
have missed, for each request that it costs (`costs.json`). A pure function: it only reorders.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from heapq import heapify, heappop, heappush, heapreplace
from operator import itemgetter, mul
from pathlib import Path
from typing import Final

import msgspec

from conformance.checks.support.costs import Setup, expected_cost, setups
from conformance.checks.support.registry import Instance
from conformance.contract import load_contract
from conformance.core.defaults import QUICK_REQUESTS
from conformance.core.outcomes import Level
from conformance.engine.session import Session

EVIDENCE_FILE: Final = Path(__file__).with_name("evidence.json")
_PLANNED_SHARE: Final = 1.05
"""Of the requests of quick depth: a run on the reference has fewer than are planned, since checks share more of them
where those of an operation are run together."""
_CERTAINTY: Final = 0.95
"""The greatest likelihood: a fault like a known one may show on another operation or in another case."""
_WEIGHTS: Final = {"?everywhere": 0.3, "?once": 1.5}
"""The weights of two unknown faults of each check: one that all its instances find, and one that a single one finds. A
known fault has 1. Greater weights find more of the faults that the order was not fitted on, and fewer of the others.
A check that judges nothing has none."""
_WEIGHTS_UNTIL_FAILURE: Final = {"?everywhere": 0.2, "?once": 1.0}
"""The same, where only the first failure counts: breadth is worth less, and what is cheap and likely more."""


@dataclass(frozen=True)
class Weights:
    """What a fault found on one operation says of others. They add up to 1."""

    anywhere: float = 0.4
    """The share of all instances of the check that found it."""
    same_operation: float = 0.6
    """The share of the instances on this operation."""


class Trace(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which instances of one check find one fault: shares from 0 to 1."""

    anywhere: float
    operations: Mapping[str, float] = {}

    def likelihood(self, instance: Instance, weights: Weights) -> float:
        if self.anywhere == 1.0:
            return _CERTAINTY
        on_operation = self.operations.get(instance.operation.id, 0.0)
        return min(weights.anywhere * self.anywhere + weights.same_operation * on_operation, _CERTAINTY)


class FaultEvidence(msgspec.Struct, frozen=True):
    """What found one fault: the controls of these operations, and by check which of its instances."""

    controls: Sequence[str]
    checks: Mapping[str, Trace]


class EvidenceFile(msgspec.Struct, frozen=True):
    """The content of `evidence.json`."""

    figures: Mapping[str, Mapping[str, float]]
    """How soon the order shows the faults that it was fitted on, and others."""
    faults: Mapping[str, FaultEvidence]


@dataclass(frozen=True)
class Evidence:
    """`traces`: check -> fault -> what found it; `controls`: operation -> the faults that its control shows."""

    traces: Mapping[str, Mapping[str, Trace]]
    controls: Mapping[str, frozenset[str]]

    @cached_property
    def _operations(self) -> Mapping[str, frozenset[str]]:
        """Check -> the operations that any of its traces names."""
        return {
            check: frozenset(name for trace in traces.values() for name in trace.operations)
            for check, traces in self.traces.items()
        }

    def distinction(self, check: str, instance: Instance) -> str:
        """The operation of an instance, empty where no trace of its check names it."""
        operation = instance.operation.id
        return operation if operation in self._operations.get(check, ()) else ""

    @classmethod
    def from_file(cls, content: EvidenceFile) -> Evidence:
        traces: dict[str, dict[str, Trace]] = defaultdict(dict)
        controls: dict[str, set[str]] = defaultdict(set)
        for fault, found in content.faults.items():
            for check, trace in found.checks.items():
                traces[check][fault] = trace
            for operation in found.controls:
                controls[operation].add(fault)
        return cls(traces, {operation: frozenset(faults) for operation, faults in controls.items()})


@cache
def known_evidence() -> Evidence:
    return Evidence.from_file(msgspec.json.decode(EVIDENCE_FILE.read_bytes(), type=EvidenceFile))


def sort_by_priority(
    instances: Iterable[Instance], evidence: Evidence | None = None, *, until_failure: bool = False
) -> list[Instance]:
    """The same instances; exclusive ones last, in their given order.

    `until_failure`: the run ends with the first failure, so that no requirement has to be covered before another.
    """
    return list(iterate_by_priority(list(instances), evidence, until_failure=until_failure))


def iterate_by_priority(
    instances: Sequence[Instance], evidence: Evidence | None = None, *, until_failure: bool = False
) -> Iterator[Instance]:
    """As `sort_by_priority`; each instance is chosen when it is asked for, since a run may end with the first ones."""
    ordinary = [instance for instance in instances if not instance.check.exclusive]
    yield from _Search(ordinary, evidence or known_evidence(), until_failure=until_failure).order()
    yield from (instance for instance in instances if instance.check.exclusive)


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


def sort_for_session(instances: Sequence[Instance], session: Session) -> Iterable[Instance]:
    """By priority where the run may end before all of them; in quick depth by operation, spread over the run otherwise.

    The negatives of an operation share their last control where they are run one after the other.
    """
    if session.may_end_early:
        return iterate_by_priority(instances, until_failure=session.options.fail_fast)
    if session.profile.limits.depth != "quick":
        return spread_by_operation(instances)
    return sorted(instances, key=lambda i: (i.check.exclusive, "" if i.check.exclusive else i.operation.id))


def spread_by_operation(instances: Sequence[Instance]) -> list[Instance]:
    """The instances of each module and operation in their given order, evenly over the whole run.

    Negatives of one operation take turns: if they were left until the end, nothing else would be in flight.
    """
    groups = [(instance.operation.id, instance.check.subject) for instance in instances]
    counts, seen = Counter(groups), Counter[tuple[str, str]]()
    positions: list[float] = []
    for group in groups:
        seen[group] += 1
        positions.append((seen[group] - 0.5) / counts[group])
    return [instances[index] for index in sorted(range(len(instances)), key=positions.__getitem__)]


def sort_for_depth(session: Session, instances: list[Instance]) -> list[Instance]:
    """The instances that are run in the depth of a session, in their order."""
    selected_ids = select_for_depth(instances, session)
    return list(sort_for_session([instance for instance in instances if instance.id in selected_ids], session))


@dataclass(frozen=True, slots=True)
class _Kind:
    """Instances that are worth the same at any time: of one operation, with equal likelihoods and costs."""

    faults: tuple[int, ...]
    shares: tuple[float, ...]
    doubts_of: Callable[[list[float]], tuple[float, ...]]
    """Picks the doubts of `faults` from the list of all."""
    cost: float
    setups: tuple[tuple[Setup, float], ...]
    """What it shares with others, and the requests of each."""
    operation: str
    exclusive: bool


class _Search:
    """Chooses one instance after another, each the best for its cost after those before it.

    Faults are numbers here, and equal instances are evaluated once between two choices: a run waits for the order.
    """

    def __init__(
        self,
        instances: Sequence[Instance],
        evidence: Evidence,
        weights: Weights | None = None,
        *,
        until_failure: bool = False,
    ) -> None:
        self._instances = instances
        self._unknown = _WEIGHTS_UNTIL_FAILURE if until_failure else _WEIGHTS
        self._groups: Sequence[Callable[[Instance], str]] = () if until_failure else (_requirement, _operation)
        """What each comes once of, before any comes twice."""
        self._numbers: dict[str, int] = {}
        """By fault: its place in the list of doubts."""
        self._doubts: list[float] = []
        """The weight of each fault, times the likelihood that no instance so far has found it."""
        self._prepared: set[Setup] = set()
        """What was paid for: the control of an operation, its limit, its replays."""
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
            self._doubts.append(self._unknown.get(fault.partition(" ")[0], 1.0))
        return self._numbers[fault]

    def _kinds_of(self, evidence: Evidence, weights: Weights) -> list[_Kind]:
        """The kind of each instance."""
        sizes: Counter[str] = Counter()
        for instance in self._instances:
            sizes[instance.check.id] += 1
        vectors: dict[tuple[str, str], tuple[tuple[int, ...], tuple[float, ...]]] = {}
        kinds: dict[tuple[object, ...], _Kind] = {}
        found = []
        for instance in self._instances:
            check = instance.check.id
            vector_key = (check, evidence.distinction(check, instance))
            if vector_key not in vectors:
                likelihoods = _likelihoods(instance, evidence.traces.get(check, {}), weights, sizes)
                vectors[vector_key] = tuple(map(self._number, likelihoods)), tuple(likelihoods.values())
            faults, shares = vectors[vector_key]
            shared, cost = setups(instance), expected_cost(instance)
            kind_key = (faults, shares, shared, cost)
            if kind_key not in kinds:
                place = instance.operation.id, instance.check.exclusive
                kinds[kind_key] = _Kind(faults, shares, itemgetter(*faults), cost, shared, *place)
            found.append(kinds[kind_key])
        return found

    def order(self, budget: float | None = None) -> Iterator[Instance]:
        """All instances, or those that `budget` requests suffice for, each chosen when it is asked for.

        Each requirement comes once before any comes twice, each operation is called, and then the best comes first;
        until a failure, the best comes first from the beginning.
        """
        remaining = float("inf") if budget is None else budget
        later = list(range(len(self._instances)))
        covered: set[str] = set()
        for group_of in (*self._groups, None):
            groups = [group_of(instance) for instance in self._instances] if group_of else None
            queue, later = self._queue(later), []
            for index in self._best_first(queue, groups, covered, later):
                kind, instance = self._kinds[index], self._instances[index]
                if (cost := self._cost(kind)) <= remaining:
                    remaining -= cost
                    covered |= {_requirement(instance), _operation(instance)}
                    self._note(kind)
                    yield instance

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
                unpaid = {setup for setup, _ in self._kinds[index].setups} - self._prepared
                yield index
                if unpaid & self._prepared:
                    for other in (i for i in remaining if unpaid & {setup for setup, _ in self._kinds[i].setups}):
                        heappush(queue, (-self._worth(other), other))

    def _cost(self, kind: _Kind) -> float:
        return kind.cost + sum(cost for setup, cost in kind.setups if setup not in self._prepared)

    def _worth(self, index: int) -> float:
        """Known and unknown faults that are found for each request."""
        kind = self._kinds[index]
        worth = self._worths.get(id(kind))
        if worth is None:
            found = sum(map(mul, kind.doubts_of(self._doubts), kind.shares))
            if kind.setups[0][0] not in self._prepared:
                found += sum(self._doubts[fault] for fault in self._shown_by_control(kind))
            worth = self._worths[id(kind)] = found / self._cost(kind)
        return worth

    def _note(self, kind: _Kind) -> None:
        """Notes the choice of an instance."""
        self._worths.clear()
        for fault, share in zip(kind.faults, kind.shares, strict=True):
            self._doubts[fault] *= 1 - share
        if kind.setups[0][0] not in self._prepared:
            for fault in self._shown_by_control(kind):
                self._doubts[fault] = 0.0
        self._prepared.update(setup for setup, _ in kind.setups)

    def _shown_by_control(self, kind: _Kind) -> tuple[int, ...]:
        """The faults that the proof of the kind's control shows; an exclusive check has none of its own."""
        return () if kind.exclusive else self._controls.get(kind.operation, ())


def _requirement(instance: Instance) -> str:
    return instance.check.requirement


def _operation(instance: Instance) -> str:
    return instance.operation.id


def _likelihoods(
    instance: Instance, traces: Mapping[str, Trace], weights: Weights, sizes: Mapping[str, int]
) -> dict[str, float]:
    """Fault -> the likelihood that an instance finds it. Names of unknown faults begin with `?`."""
    likelihoods = {
        fault: likelihood for fault, trace in traces.items() if (likelihood := trace.likelihood(instance, weights))
    }
    is_judged = load_contract().requirements[instance.check.requirement].level is not Level.OBSERVED
    likelihoods[f"?everywhere {instance.check.id}"] = _CERTAINTY * is_judged
    likelihoods[f"?once {instance.check.id}"] = is_judged / sizes[instance.check.id]
    return likelihoods
