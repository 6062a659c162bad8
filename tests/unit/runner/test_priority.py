"""The order in which checks begin: it loses nothing, is always the same, and leaves no question for long unasked."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.checks.support.costs import expected_cost, setups
from conformance.checks.support.registry import Instance, all_checks, instances
from conformance.contract import load_contract
from conformance.core.outcomes import Level
from conformance.profile.loader import load_profile
from conformance.runner import priority as ordering
from conformance.runner.best_first import Search
from conformance.runner.embedded_reference import bundled_profiles
from conformance.runner.evidence import Evidence
from tests.matrix import fit_order

PROFILE = bundled_profiles() / "reference.toml"
TOLD = (
    "from tests.unit.runner.test_priority import *\nprint([one.id for one in ordering.sort_by_priority(everything())])"
)


@cache
def everything() -> tuple[Instance, ...]:
    """What a run against the reference consists of; nothing is sent anywhere."""
    profile = load_profile(PROFILE, base_url="http://localhost", variables={"control": "http://localhost"})
    return tuple(instances(all_checks(), profile, load_contract()))


def ids(given: Sequence[Instance]) -> list[str]:
    return [one.id for one in given]


def test_the_order_loses_nothing_and_adds_nothing() -> None:
    """Of all that a profile calls for, and of any part of it."""
    part = random.Random(1).sample(everything(), 100)
    for given in (everything(), part, ()):
        assert sorted(ids(ordering.sort_by_priority(given))) == sorted(ids(given))


def test_the_order_is_the_same_in_every_process() -> None:
    """Whatever Python's hashes are there."""
    told = [
        subprocess.run(
            [sys.executable, "-c", TOLD],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1] == f"{ids(ordering.sort_by_priority(everything()))}\n"


def test_what_must_run_alone_comes_last() -> None:
    alone = [one.check.exclusive for one in ordering.sort_by_priority(everything())]
    assert any(alone)
    assert alone == sorted(alone)


def test_each_requirement_is_asked_once_before_any_twice() -> None:
    """On many operations, so that a fault of one operation has few places to hide."""
    ordinary = [one for one in ordering.sort_by_priority(everything()) if not one.check.exclusive]
    requirements = {one.check.requirement for one in ordinary}
    first = ordinary[: len(requirements)]
    assert {one.check.requirement for one in first} == requirements
    early = ordinary[: len(requirements) + len({one.operation.id for one in ordinary})]
    assert {one.operation.id for one in early} == {one.operation.id for one in ordinary}


def test_a_selection_costs_its_budget_and_no_more() -> None:
    """With all that its instances share, each of which is paid for once; and a greater budget buys more."""
    sizes = []
    for budget in (50, 200, 600):
        chosen = ordering.select_within(everything(), budget)
        selected = [one for one in everything() if one.id in chosen]
        shared = dict(setup for one in selected for setup in setups(one))
        cost = sum(map(expected_cost, selected)) + sum(shared.values())
        assert budget - 1 < cost <= budget + 1e-6
        sizes.append(len(selected))
    assert sizes == sorted(set(sizes))


def test_quick_depth_calls_each_operation_of_which_the_profile_states_how() -> None:
    """The checks that are worth most may lack facts; one on each operation needs no more than its control."""
    selected = ordering.select_quick(everything())
    plain = [one for one in everything() if one.check.id == ordering.PLAIN_CHECK]
    assert len(plain) == 20
    assert {one.id for one in plain} <= selected


@pytest.mark.parametrize(
    ("requirement", "name", "operations"),
    [
        ("AUTH-1", "a_defective_credential_is_answered_401", 13),
        ("SCO-1", "a_key_without_the_scope_is_answered_403", 11),
        ("PUB-1", "a_public_operation_needs_no_credential", 4),
        ("HO-1", "a_hosted_operation_needs_no_credential", 2),
        ("IDEM-3", "a_call_without_a_key_is_answered_400", 10),
        ("BODY-1", "a_required_body_must_be_sent", 10),
    ],
)
def test_quick_depth_tries_each_guard_on_each_operation(requirement: str, name: str, operations: int) -> None:
    """A guard that was forgotten for one operation is likely, and its proof is cheap."""
    selected = ordering.select_quick(everything())
    guards = [one for one in everything() if (one.check.requirement, one.check.name) == (requirement, name)]
    assert len({one.operation.id for one in guards}) == operations
    assert {one.operation.id for one in guards if one.id in selected} == {one.operation.id for one in guards}


def test_checks_of_limits_share_bursts_in_quick_depth() -> None:
    """What needs the limit of an operation is worth more once that limit was provoked, for another check."""
    selected = ordering.select_quick(everything())
    alone = [one for one in everything() if one.check.exclusive]
    provoked = {one.operation.id for one in alone if one.id in selected}
    assert 1 <= len(provoked) <= 2
    assert {one.check.requirement for one in alone} == {one.check.requirement for one in alone if one.id in selected}


def test_what_found_a_fault_comes_before_its_equals() -> None:
    """One fault, seen on one operation, moves that operation forward."""
    same = [one for one in everything() if one.check.name == "a_defective_credential_is_answered_401"]
    finder = same[len(same) // 2]
    known, empty = (
        Evidence.from_file(fit_order.evidence(found, same)) for found in ({"F1": frozenset({finder.id})}, {})
    )
    assert ordering.sort_by_priority(same, known)[0].operation == finder.operation
    assert ordering.sort_by_priority(same, empty)[0].operation != finder.operation


def test_the_evidence_names_cases_where_they_make_a_difference() -> None:
    """A fault that shows in each case alike is known by its operations only."""
    same = [one for one in everything() if one.check.name == "a_defective_credential_is_answered_401"]
    operation, case = same[-1].operation.id, same[-1].case
    found = {
        "F1": frozenset(one.id for one in same if one.operation.id == operation),
        "F2": frozenset(one.id for one in same if one.case == case),
    }
    faults = fit_order.evidence(found, same).faults
    traces = {name: faults[name].checks[same[0].check.id] for name in found}
    assert (traces["F1"].operations, traces["F1"].cases) == ({operation: 1.0}, ())
    assert traces["F2"].cases == [case]
    assert traces["F2"].operations.keys() == {one.operation.id for one in same if one.case == case}


def test_every_requirement_and_every_operation_has_its_turn_in_the_first_third() -> None:
    """A fault that nobody foresaw may be anywhere."""
    ordinary = [one for one in ordering.sort_by_priority(everything()) if not one.check.exclusive]
    early = ordinary[: len(ordinary) // 3]
    assert {one.operation.id for one in early} == {one.operation.id for one in ordinary}
    assert {one.check.requirement for one in early} == {one.check.requirement for one in ordinary}


def test_the_folds_judge_each_fault_once_with_an_order_that_does_not_know_it() -> None:
    """Five parts, disjoint; the figures of the record come from them."""
    names = [f"F{number}" for number in range(23)]
    parts = list(fit_order.folds(names))
    assert sorted(name for _, judged in parts for name in judged) == sorted(names)
    assert all(not set(fitted) & set(judged) and set(fitted) | set(judged) == set(names) for fitted, judged in parts)


def test_requests_are_counted_until_the_first_instance_that_shows_the_fault() -> None:
    """With the proofs of controls before it; none where no instance of the order shows it."""
    order = ordering.sort_by_priority(everything())[:40]
    at = [fit_order.requests_until(order, {one.id}) for one in order]
    assert all(count is not None for count in at)
    assert at == sorted(at, key=lambda count: count or 0)
    assert fit_order.requests_until(order, {"nothing"}) is None
    control = f"control:{order[0].operation.id}"
    assert fit_order.requests_until(order, {control}) == 1


def _session(depth: str, *, may_end_early: bool, fail_fast: bool = False) -> Any:
    return SimpleNamespace(
        may_end_early=may_end_early,
        profile=SimpleNamespace(limits=SimpleNamespace(depth=depth)),
        options=SimpleNamespace(fail_fast=fail_fast),
    )


def test_quick_depth_runs_the_checks_of_an_operation_together() -> None:
    """Their negatives share a control then; what runs alone stays last, in its order."""
    found = list(ordering.sort_for_session(everything(), _session("quick", may_end_early=False)))
    ordinary = [one.operation.id for one in found if not one.check.exclusive]
    assert [name for name, _ in groupby(ordinary)] == sorted(set(ordinary))
    assert found[len(ordinary) :] == [one for one in everything() if one.check.exclusive]


def test_a_run_that_may_end_early_begins_with_what_is_worth_most() -> None:
    """In every depth."""
    for depth in ("quick", "standard"):
        found = list(ordering.sort_for_session(everything(), _session(depth, may_end_early=True)))
        assert found == ordering.sort_by_priority(everything())


def test_until_the_first_failure_nothing_is_run_for_breadth() -> None:
    """Where a budget covers each requirement first, `-x` repeats what finds more for each request."""
    found = list(ordering.sort_for_session(everything(), _session("standard", may_end_early=True, fail_fast=True)))
    assert found == ordering.sort_by_priority(everything(), until_failure=True)
    assert sorted(ids(found)) == sorted(ids(everything()))
    requirements = {one.check.requirement for one in everything() if not one.check.exclusive}
    breadth = {one.check.requirement for one in ordering.sort_by_priority(everything())[: len(requirements)]}
    assert requirements == breadth
    assert len({one.check.requirement for one in found[: len(requirements)]}) < len(requirements)


def test_each_instance_is_chosen_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends with its first checks does not wait for the order of all."""
    chosen: list[object] = []
    note = Search._note

    def counted(search: Any, kind: Any, **options: Any) -> None:
        chosen.append(kind)
        note(search, kind, **options)

    monkeypatch.setattr(Search, "_note", counted)
    order = ordering.iterate_by_priority(everything(), until_failure=True)
    first = [next(order) for _ in range(10)]
    assert len(chosen) == 10
    assert [*first, *order] == ordering.sort_by_priority(everything(), until_failure=True)


def test_an_unlimited_run_spreads_each_operation_over_its_whole_length() -> None:
    """Each module's instances of an operation keep their order, and half of them stand in each half of the run."""
    found = list(ordering.sort_for_session(everything(), _session("standard", may_end_early=False)))
    assert sorted(one.id for one in found) == sorted(one.id for one in everything())
    first_half = Counter(_group(one) for one in found[: len(found) // 2])
    for group in {_group(one) for one in found}:
        given = [one for one in everything() if _group(one) == group]
        assert [one for one in found if _group(one) == group] == given
        assert abs(first_half[group] - len(given) / 2) <= 1


def _group(instance: Instance) -> tuple[str, str]:
    return instance.operation.id, instance.check.subject


def test_calls_that_checks_share_are_paid_for_once() -> None:
    """The second check that judges them costs little, and only on the same operation."""
    shared = [one for one in everything() if one.check.shares == "replays"]
    by_operation: dict[str, list[Instance]] = {}
    for one in shared:
        by_operation.setdefault(one.operation.id, []).append(one)
    both = next(pair for pair in by_operation.values() if len(pair) == 2)
    first, second = (dict(setups(one)) for one in both)
    assert first == second and sum(first.values()) > 2 * expected_cost(both[0])
    other = next(one for one in shared if one.operation != both[0].operation)
    assert not first.keys() & dict(setups(other)).keys()
    one_budget = sum(first.values()) + 2 * expected_cost(both[0]) + 0.01
    assert ordering.select_within(both, one_budget) == {one.id for one in both}


def test_a_check_that_judges_nothing_promises_no_unknown_fault() -> None:
    """Of two checks with the same cost, the one that can fail comes first."""
    requirements = load_contract().requirements
    observed = [one for one in everything() if requirements[one.check.requirement].level is Level.OBSERVED]
    judged = [one for one in everything() if one.check.requirement == "BODY-1"]
    empty = Evidence.from_file(fit_order.evidence({}, ()))
    budget = 3.5
    selected = ordering.select_within([observed[0], *judged], budget, empty)
    assert observed and observed[0].id in selected  # each requirement once
    order = ordering.sort_by_priority([*observed, *judged], empty)
    last = {one.check.requirement for one in order[-len(observed) // 2 :]}
    assert {requirements[name].level for name in last} == {Level.OBSERVED}
