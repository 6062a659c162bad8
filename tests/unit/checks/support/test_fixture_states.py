"""Every state of a fixture in a path is a case, but what belongs to another installation."""

from __future__ import annotations

import pytest

from conformance.checks.support.fixture_states import states_in_path
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import profile

STATES = {
    "open": Fixture("cart", "open"),
    "revoked": Fixture("cart", "revoked"),
    "foreign": Fixture("cart", "foreign"),
    "of_b": Fixture("cart", "of_b", foreign=True),
}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ({"cartId": "{cart.id}"}, ["cart-open", "cart-revoked"]),
        ({"cartId": "{cart.revoked.id}"}, ["cart-open", "cart-revoked"]),
        ({"cartId": "c1"}, []),
        ({"cartId": "{order.id}"}, []),
    ],
    ids=["default state", "named state", "no placeholder", "unknown kind"],
)
def test_the_states_of_the_kind_in_the_path_are_named(path: dict[str, str], names: list[str]) -> None:
    """In the order of the profile, the default state first."""
    facts = {"quotePublicCart": OperationFacts(path=path)}
    found = states_in_path(profile("http://t", fixtures={"cart": STATES}, operations=facts), "quotePublicCart")
    assert list(found) == names
    assert all(found[name] == tuple(name.split("-")) for name in names)


def test_an_operation_without_facts_has_none() -> None:
    """Its path values are not known."""
    assert states_in_path(profile("http://t", operations={}), "quotePublicCart") == {}
