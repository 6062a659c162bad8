"""Every check reads like its requirement, and no requirement is forgotten."""

from __future__ import annotations

import inspect
import textwrap
from collections import Counter

import pytest

from conformance.checks.support.registry import Check, all_checks, check_set_digest, instances
from conformance.contract import load_contract
from conformance.core.model import Requirement
from conformance.judge.invariant_results import INVARIANTS
from conformance.profile.loader import load_profile
from tests.support.paths import PROFILES

CONTRACT = load_contract()
CHECKS = all_checks()
LONGEST = 40
PROFILE = load_profile(PROFILES / "reference.toml")
each = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)


@each
def test_a_check_says_what_it_judges(check: Check) -> None:
    """It has a docstring of its own, whose first line is a sentence that fits on one line."""
    assert check.summary.endswith((".", "?")), check.summary
    assert 10 < len(check.summary) <= 140


@each
def test_a_check_cites_a_known_requirement(check: Check) -> None:
    """Each is about one requirement of the catalogue that is not stated to be unchecked, nor an invariant's alone."""
    assert check.requirement in CONTRACT.requirements
    assert not CONTRACT.requirements[check.requirement].unchecked


@each
def test_a_check_is_a_short_coroutine(check: Check) -> None:
    """An async function that a reader takes in at a glance."""
    function = inspect.unwrap(check.function)
    assert inspect.iscoroutinefunction(function)
    assert len(textwrap.dedent(inspect.getsource(function)).splitlines()) <= LONGEST
    assert check.subject.startswith("check_")


@each
def test_a_check_has_operations(check: Check) -> None:
    """It selects some operation, among them some that its requirement is about."""
    selected = {operation.id for operation in check.operations(CONTRACT)}
    assert selected & set(CONTRACT.requirements[check.requirement].operations)


@each
def test_a_run_in_deep_depth_asks_more_operations_of_the_requirement(check: Check) -> None:
    """What deep depth adds is further operations of the same requirement: none is left out, none is foreign to it."""
    usual, deep = {*check.operations(CONTRACT)}, {*check.operations(CONTRACT, "deep")}
    assert usual < deep if check.deep_on else usual == deep
    if check.deep_on and check.requirement not in INVARIANTS:
        assert {operation.id for operation in deep} <= {*CONTRACT.requirements[check.requirement].operations}


def test_no_two_checks_share_a_name() -> None:
    """A name on the command line means one check, whatever file it stands in."""
    assert [name for name, times in Counter(check.name for check in CHECKS).items() if times > 1] == []


def test_no_two_instances_share_a_name() -> None:
    """A name with its operation and case means one instance: one pytest item, one result."""
    found = instances(CHECKS, PROFILE, CONTRACT)
    assert [name for name, times in Counter(one.name for one in found).items() if times > 1] == []
    keys = Counter((one.check.id, one.operation.id, one.case) for one in found)
    assert [key for key, times in keys.items() if times > 1] == []


def test_the_instances_of_a_profile_are_always_the_same() -> None:
    """Same profile, same list, same order: sharding and `--only` rest on it."""
    names = [[one.id for one in instances(CHECKS, PROFILE, CONTRACT)] for _ in range(2)]
    assert names[0] == names[1]


def test_names_can_be_typed() -> None:
    """No blank, quote or bracket in the name of a check or a case: they go on command lines and into file names."""
    for one in instances(CHECKS, PROFILE, CONTRACT):
        assert one.check.name.isidentifier(), one.name
        assert not set(one.case) & set(" \t\n'\"[]\\"), one.name


def test_every_requirement_is_checked_or_says_why_not() -> None:
    """A check, an invariant, or a reason: nothing is silently left out."""
    checked = {check.requirement for check in CHECKS} | set(INVARIANTS)
    left_out = [one.id for one in CONTRACT.requirements.values() if one.id not in checked and not one.unchecked]
    assert left_out == []


@pytest.mark.parametrize("requirement", CONTRACT.requirements.values(), ids=lambda requirement: requirement.id)
def test_a_requirement_is_checked_on_every_operation_that_it_is_about(requirement: Requirement) -> None:
    """What it applies to and what its checks look at are the same operations; an invariant looks at every exchange."""
    if requirement.unchecked or requirement.id in INVARIANTS:
        return
    own = [check for check in CHECKS if check.requirement == requirement.id]
    assert {operation.id for check in own for operation in check.operations(CONTRACT)} == set(requirement.operations)


def test_the_digest_names_the_check_set() -> None:
    """A sha256 that stays the same while the code does."""
    assert len(check_set_digest()) == 64
    assert check_set_digest() == check_set_digest()


def test_what_a_check_rests_on_is_another_check_without_further_dependence() -> None:
    """A chain of explanations, or the name of a check that is gone, would leave a failure without its cause."""
    independent = {check.id for check in CHECKS if not check.rests_on}
    assert {check.rests_on for check in CHECKS if check.rests_on} <= independent
