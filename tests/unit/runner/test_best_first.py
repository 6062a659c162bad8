"""The best-first search: what is likelier comes first, and what was not found yet stands in what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.checks.support.registry import Instance
from conformance.runner.best_first import Search, Weights, _Pool
from conformance.runner.evidence import Evidence, Trace
from tests.unit.runner.test_priority import everything

WEIGHTS = Weights(any_operation=0.5, same_operation=0.5, same_instance=0.5, all_instances=0.0, single_instance=1.0)
CHECK = "a_defective_credential_is_answered_401"


def instances_of(name: str) -> list[Instance]:
    return [one for one in everything() if one.check.name == name]


def evidence(operations: Mapping[str, float], **traces: Any) -> Evidence:
    return Evidence({instances_of(CHECK)[0].check.id: traces}, {}, operations)


def test_a_fault_that_was_not_found_is_likelier_in_what_is_left() -> None:
    """One of four instances shows it: 1/4, then 1/3, 1/2, and of the last one nearly certain."""
    pool = _Pool([(0, 1.0)], 4)
    found = []
    while pool.remaining:
        found.append(next(pool.likelihoods(1.0))[1])
        pool.remaining -= 1
    assert found == [pytest.approx(share) for share in (1 / 4, 1 / 3, 1 / 2, 0.95)]


def test_an_operation_with_more_faults_comes_first() -> None:
    """Where everything else is equal."""
    instances = instances_of(CHECK)
    operations = {one.operation.id for one in instances}
    popular = max(operations)
    known = evidence({name: 3.0 if name == popular else 1.0 for name in operations})
    assert next(Search(instances, known, WEIGHTS).order()).operation.id == popular


def test_a_known_fault_is_looked_for_on_its_operation_first() -> None:
    instances = instances_of(CHECK)
    place = min(one.operation.id for one in instances)
    known = evidence({}, F1=Trace(1 / len(instances), {place: 1.0}))
    assert next(Search(instances, known, WEIGHTS).order()).operation.id == place


def test_a_known_fault_is_looked_for_in_its_case_of_its_operation_first() -> None:
    """Where it may be in any instance otherwise."""
    instances = instances_of(CHECK)
    last = instances[-1]
    known = evidence({}, F1=Trace(1 / len(instances), {last.operation.id: 0.1}, [last.case]))
    by_instance = Weights(0.0, 0.0, 1.0, all_instances=0.0, single_instance=0.1)
    first = next(Search(instances, known, by_instance).order())
    assert (first.operation.id, first.case) == (last.operation.id, last.case)


def test_every_instance_is_chosen_once() -> None:
    """Also where groups have to be covered first."""
    covered = [one.id for one in Search(everything(), evidence({}), WEIGHTS, (lambda one: one.operation.id,)).order()]
    assert sorted(covered) == sorted(one.id for one in everything())
    operations = {one.operation.id for one in everything()}
    first = {one.operation.id for one in everything() if one.id in covered[: len(operations)]}
    assert first == operations


def test_what_its_budget_does_not_suffice_for_is_left_out() -> None:
    """Without ending the search: what is cheaper may still fit."""
    chosen = list(Search(everything(), evidence({}), WEIGHTS).order(30.0))
    assert 10 < len(chosen) < len(everything()) / 10
