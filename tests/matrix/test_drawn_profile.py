"""What the owner of a drawn target leaves out: excluded with a reason, or in silence, down to three facts."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from conformance.core.model import Result, Run
from conformance.core.outcomes import Outcome
from conformance.core.run_options import RunOptions
from conformance.engine.in_process import document_profile, merge_patch
from conformance.journal.lines import CheckConcluded
from conformance.judge.assemble import assemble
from conformance.profile.exclusions import exclusion_of
from conformance.profile.installations import is_foreign
from conformance.reference.random_targets.choices import RandomTarget, target_from
from conformance.reference.random_targets.legitimate_values import ALL_FACTS, CHOICES
from conformance.reference.random_targets.profile_writer import profile_of
from conformance.reference.random_targets.strategy import random_targets
from conformance.runner import kill_matrix as matrix
from conformance.runner.embedded_reference import bundled_profiles
from conformance.runner.random_target import is_sound, reduce_facts, with_exclusions
from tests.support.journals import END, conformant_lines

REFERENCE = bundled_profiles() / "reference.toml"
DOCUMENT = tomllib.loads(REFERENCE.read_text(encoding="utf-8"))
OPTIONS = RunOptions(profile=REFERENCE, base_url="http://127.0.0.1:1", variables={"control": "http://127.0.0.1:1"})


def written(target: RandomTarget) -> dict[str, Any]:
    return with_exclusions(target, merge_patch(DOCUMENT, profile_of(target, DOCUMENT)), DOCUMENT)


@pytest.mark.parametrize(
    ("fact", "key"),
    [
        ("effects", "effects.quotePublicCart"),
        ("effects.http", "effects.createInstallationWebhook"),
        ("fixtures.foreign", "fixtures.cart.foreign"),
        ("rate_limit", "rate_limit.provoke"),
        ("rate_limit.limit", "rate_limit.window_s"),
        ("search.item_id", "search.item_id"),
        ("oauth.code", "oauth.code"),
        ("transitions", "transitions.quotePublicCart"),
        ("bodies", "operations.quotePublicCart.bodies"),
        ("identity.scopes", "identity.scopes"),
    ],
)
def test_what_is_left_out_is_excluded(fact: str, key: str) -> None:
    """By the key that a check would ask for."""
    target = target_from({"omitted_facts": [fact]})
    assert exclusion_of(document_profile(OPTIONS, written(target)), key) is not None


def test_a_credential_that_is_left_out_is_excluded_by_its_sort() -> None:
    """A key of another installation, a revoked one."""
    profile = document_profile(OPTIONS, written(target_from({"omitted_facts": ["credentials.revoked"]})))
    assert "revoked" not in profile.credentials
    assert exclusion_of(profile, "credentials", lambda one: not one.active) is not None


def test_a_credential_called_none_is_left_out_alone() -> None:
    """The reference's key without a scope has the name that exclusions have elsewhere."""
    profile = document_profile(OPTIONS, written(target_from({"omitted_facts": ["credentials.none"]})))
    assert set(profile.credentials) == set(DOCUMENT["credentials"]) - {"none"}


@pytest.mark.parametrize("target", random_targets(20, seed=5))
def test_every_drawn_profile_with_exclusions_loads(target: RandomTarget) -> None:
    """Whatever it leaves out, and whatever it chose."""
    assert document_profile(OPTIONS, written(target)).name == "reference"


@pytest.mark.parametrize("facts", [size for size in CHOICES["facts"] if size != ALL_FACTS])
def test_a_small_profile_has_so_many_facts_and_loads(facts: int) -> None:
    """The same ones each time; three facts are left where none is kept."""
    small = reduce_facts(DOCUMENT, facts, OPTIONS)
    profile = document_profile(OPTIONS, small)
    assert small == reduce_facts(DOCUMENT, facts, OPTIONS)
    own = set(small) - {"name", "base_url", "description", "variables", "limits", "authorization"}
    assert len(own) <= facts
    assert bool(profile.credentials or profile.operations or profile.fixtures or own) == bool(facts)


@pytest.mark.parametrize("facts", range(70, 131, 10))
def test_a_small_profile_states_no_limit_that_it_does_not_set(facts: int) -> None:
    """The reference has its small limit only after `rate_limit.prepare`: without it the fact would be false."""
    rate_limit = reduce_facts(DOCUMENT, facts, OPTIONS).get("rate_limit", {})
    assert "prepare" in rate_limit or not {"limit", "window_s"} & set(rate_limit)


@pytest.mark.parametrize("facts", range(20, 121, 5))
def test_a_small_profile_calls_no_key_of_the_home_foreign(facts: int) -> None:
    """Where the first key's installation is left out, a name on another key is that of another installation."""
    document = reduce_facts(DOCUMENT, facts, OPTIONS)
    profile = document_profile(OPTIONS, document)
    names = {name: DOCUMENT["credentials"][name]["installation"] for name in profile.credentials}
    home = next((names[name] for name, key in profile.credentials.items() if key.active), "")
    assert not [name for name, key in profile.credentials.items() if is_foreign(profile, key) and names[name] == home]


def _run(outcome: Outcome) -> Run:
    lines = conformant_lines()
    return assemble([*lines[:-1], CheckConcluded(Result("check_b::b", "VER-1", "", "", outcome)), END])


@pytest.mark.parametrize(
    ("choices", "outcome", "sound"),
    [
        ({}, Outcome.PASSED, True),
        ({}, Outcome.UNSTATED, False),
        ({"silence": "silent"}, Outcome.UNSTATED, True),
        ({"silence": "silent"}, Outcome.INCONCLUSIVE, False),
        ({"silence": "silent", "facts": 40}, Outcome.INCONCLUSIVE, True),
        ({"silence": "silent", "facts": 40}, Outcome.UNTESTED, True),
        ({"silence": "silent"}, Outcome.UNTESTED, False),
        ({"silence": "silent", "facts": 40}, Outcome.FAILED, False),
        ({"facts": 0}, Outcome.FAILED, False),
        ({"facts": 0}, Outcome.BROKEN, False),
    ],
)
def test_what_counts_as_a_false_alarm(choices: dict[str, Any], outcome: Outcome, sound: bool) -> None:
    """A failure always; an open verdict unless the owner was silent, and then for want of facts alone."""
    assert is_sound(target_from(choices), _run(outcome)) is sound


def test_a_sound_row_that_is_no_verdict_is_not_called_conformant() -> None:
    """Nothing failed, and too little was stated."""
    row = matrix.Row("R001", "t", "all", True, "incomplete", (), (), 0, 9, 1.0, "", {"facts": 0})
    assert " sound " in matrix.format_row(row)
