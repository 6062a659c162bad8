"""The model of states that a profile's transitions describe."""

from __future__ import annotations

import pytest

from conformance.checks.support.transitions import ALLOWED, CONFLICT, UNKNOWN, Place, States
from conformance.profile.behavior import Transition

CART = States(
    [
        Transition("quote", "cart.open", leads_to="cart.quoted"),
        Transition("checkout", "cart.quoted", leads_to="cart.done"),
        Transition("checkout", "cart.open"),
        Transition("checkout", "cart.quoted", after=("revoke",)),
        Transition("revoke", "cart.quoted", after=("checkout",)),
        Transition("checkout", "cart.done"),
    ]
)


@pytest.mark.parametrize(
    ("fixture", "after", "operation", "expected"),
    [
        ("cart.open", (), "quote", ALLOWED),
        ("cart.open", (), "checkout", CONFLICT),
        ("cart.open", ("quote",), "checkout", ALLOWED),
        ("cart.open", ("quote", "checkout"), "checkout", CONFLICT),
        ("cart.open", ("quote", "checkout"), "revoke", CONFLICT),
        ("cart.done", (), "revoke", CONFLICT),
        ("cart.quoted", (), "revoke", ALLOWED),
        ("cart.quoted", ("revoke",), "checkout", CONFLICT),
        ("cart.open", ("quote", "revoke"), "checkout", CONFLICT),
        ("cart.quoted", ("revoke",), "revoke", UNKNOWN),
        ("cart.open", ("paint",), "checkout", UNKNOWN),
        ("order.open", (), "quote", UNKNOWN),
    ],
)
def test_what_is_expected(fixture: str, after: tuple[str, ...], operation: str, expected: str) -> None:
    """What is told is found by whatever way a resource came there; what is not told is unknown, never guessed."""
    assert CART.expected_outcome(Place(fixture, after), operation) == expected


def test_an_operation_that_others_come_after_is_allowed() -> None:
    """`after` says that the operation succeeds there, or nothing could come after it."""
    states = States([Transition("consume", "session.open", after=("consume",))])
    assert states.expected_outcome(Place("session.open"), "consume") == ALLOWED
    assert states.expected_outcome(Place("session.open", ("consume",)), "consume") == CONFLICT


@pytest.mark.parametrize(
    ("calls", "explained"),
    [
        ([("checkout", True), ("revoke", False)], True),
        ([("checkout", False), ("revoke", True)], True),
        ([("checkout", True), ("revoke", True)], False),
        ([("checkout", True), ("checkout", True)], False),
        ([("checkout", False)] * 9, True),
        ([("revoke", True)] * 10, True),
        ([("quote", True)] * 5 + [("checkout", True)], True),
    ],
)
def test_a_history_is_explained_by_some_order(calls: list[tuple[str, bool]], explained: bool) -> None:
    """Calls at once are judged as if they had come one after the other, in whichever order suits them best."""
    assert CART.explains("cart.quoted", calls) is explained


def test_a_circle_of_states_has_an_end() -> None:
    """A state that leads to itself, and two that lead to each other, are no trap."""
    states = States(
        [
            Transition("quote", "c.a", leads_to="c.a"),
            Transition("go", "c.a", leads_to="c.b"),
            Transition("go", "c.b", leads_to="c.a"),
            Transition("end", "c.b"),
        ]
    )
    assert states.expected_outcome(Place("c.a", ("quote", "go", "go", "go")), "end") == CONFLICT
