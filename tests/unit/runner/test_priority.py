"""The order in which checks begin: it loses nothing, is always the same, and leaves no question for long unasked."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

from conformance.checks.support.registry import Instance, all_checks, instances
from conformance.contract import load_contract
from conformance.profile.loader import load_profile
from conformance.runner import priority as ordering
from conformance.runner.embedded_reference import bundled_profiles
from tests.matrix.count_kills import cover

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


def test_the_instances_that_lead_are_there_and_come_first() -> None:
    """Each of them is an instance of today's checks; `first.json` is made anew when it is not."""
    lead = list(ordering.leaders())
    assert lead
    assert ids(ordering.sort_by_priority(everything()))[: len(lead)] == lead


def test_every_requirement_and_every_operation_has_its_turn_in_the_first_third() -> None:
    """A fault that nobody foresaw may be anywhere."""
    ordinary = [one for one in ordering.sort_by_priority(everything()) if not one.check.exclusive]
    early = ordinary[: len(ordinary) // 3]
    assert {one.operation.id for one in early} == {one.operation.id for one in ordinary}
    assert {one.check.requirement for one in early} == {one.check.requirement for one in ordinary}


def test_a_cover_finds_every_fault_with_the_cheapest_that_finds_most_first() -> None:
    """What nothing finds is left out, and what is found already asks for nothing more."""
    killers = {"F1": ["a", "b"], "F2": ["a"], "F3": ["a", "c"], "F4": ["d", "e"], "F5": []}
    assert cover(killers, {"a": 2, "b": 1, "c": 1, "d": 5, "e": 1}) == ["a", "e"]
    assert cover(killers, {"b": 1, "c": 1, "d": 5}) == ["b", "c", "d"]
