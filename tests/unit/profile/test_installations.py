"""Which installation a key belongs to: what is not stated is not known, and shows nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.profile.installations import (
    are_of_two_installations,
    home_of,
    installation_fact,
    is_foreign,
    is_of_home,
)
from conformance.profile.model import Credential, Profile, SecretSource
from tests.support.check_runs import profile as profile_with


def stated(*installations: str) -> Profile:
    """A profile with a key for each of these installations, `k0` first; none is stated by an empty text."""
    source = SecretSource(env="X")
    keys = [Credential(f"k{n}", source, frozenset(), installation=name) for n, name in enumerate(installations)]
    return replace(profile_with("http://localhost"), credentials={key.name: key for key in keys})


@pytest.mark.parametrize(
    ("installations", "of_home", "foreign"),
    [
        (("", ""), "k0 k1", ""),
        (("A", "A", "B"), "k0 k1", "k2"),
        (("", "B"), "k0", "k1"),
        (("", "B", ""), "k0 k2", "k1"),
        (("", "A", "A"), "k0", ""),
        (("A", "", "B"), "k0", "k2"),
        (("A", ""), "k0", ""),
        (("", "A", "A", "B"), "k0", ""),
        (("", "A", "", "B"), "k0", ""),
        (("A", "B", "C"), "k0", "k1 k2"),
    ],
)
def test_a_key_is_of_home_or_foreign_where_it_is_stated(
    installations: tuple[str, ...], of_home: str, foreign: str
) -> None:
    """A key without an installation may belong to any, except where the home has no name, and not by one key alone."""
    profile = stated(*installations)
    keys = profile.credentials.values()
    assert [key.name for key in keys if is_of_home(profile, key)] == of_home.split()
    assert [key.name for key in keys if is_foreign(profile, key)] == foreign.split()
    assert home_of(profile) == installations[0]


@pytest.mark.parametrize(
    ("installations", "pairs"),
    [
        (("", ""), ""),
        (("A", "A", "B"), "02 12"),
        (("", "B", ""), "01 12"),
        (("", "A", "A"), ""),
        (("A", "", "B"), "02"),
        (("", "A", "B"), "12"),
    ],
)
def test_two_keys_are_of_two_installations_where_both_are_known(installations: tuple[str, ...], pairs: str) -> None:
    """In either order."""
    profile = stated(*installations)
    keys = list(profile.credentials.values())
    found = [
        (a, b)
        for a in range(len(keys))
        for b in range(len(keys))
        if are_of_two_installations(profile, keys[a], keys[b])
    ]
    assert sorted(found) == sorted(
        pair for a, b in (map(int, pair) for pair in pairs.split()) for pair in ((a, b), (b, a))
    )


def test_without_keys_a_stated_installation_is_another_one() -> None:
    """So may an exclusion be, of keys that do not exist."""
    absent = Credential("other", SecretSource(env="X"), frozenset(), installation="B")
    assert is_foreign(stated(), absent)
    assert not is_of_home(stated(), absent)


@pytest.mark.parametrize(("scopes", "expected"), [((), True), (("catalog:read",), False)])
def test_an_exclusion_without_any_fact_is_about_a_second_installation_too(
    scopes: tuple[str, ...], expected: bool
) -> None:
    """One with scopes is about those alone."""
    absent = Credential("other", SecretSource(env="X"), frozenset(scopes))
    assert is_foreign(stated("A", "A"), absent) is expected


@pytest.mark.parametrize(
    ("installations", "fact"),
    [
        (("A", "", "A"), "credentials.k1.installation"),
        (("", "A", "B"), "credentials.k0.installation"),
        (("", "A", "A"), "credentials.k0.installation"),
        (("A", "B", "A"), ""),
        (("", ""), ""),
    ],
)
def test_the_fact_that_is_missing_is_not_stated_already(installations: tuple[str, ...], fact: str) -> None:
    """Of a key that may be of the home or of another installation; first of all where the home is."""
    profile = stated(*installations)
    assert installation_fact(profile, lambda key: is_foreign(profile, key)) == fact
