"""The model of states that a profile's transitions describe."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.transitions import ALLOWED, CONFLICT, UNKNOWN, Place, States, expect_conflict
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Transition
from conformance.profile.resources import Fixture
from tests.support.check_runs import CONTRACT

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


@pytest.mark.parametrize("lifted", [False, True], ids=["refused for good", "accepted the second time"])
def test_another_attempt_does_not_lift_a_conflict(judged: Any, answer: Any, lifted: bool) -> None:
    """What the state of a resource refuses is refused again."""
    tried: list[str] = []

    def script(arrived: Any) -> bytes:
        cart = arrived.target.split("/")[-2]
        status = 200 if cart.startswith("c0") or (lifted and cart in tried) else 409
        tried.append(cart)
        return bytes(answer(status, {"data": {}} if status == 200 else {"error": "revoked"}))

    async def law(case: Case) -> None:
        await expect_conflict(case, Transition("quotePublicCart", "cart.revoked"))

    states = {
        name: Fixture("cart", name, values=({"id": f"{text}"},) * 2)
        for name, text in (("open", "c0"), ("revoked", "r1"))
    }
    result, _ = judged(script, law, CONTRACT.operations["quotePublicCart"], fixtures={"cart": states})
    assert result.outcome is (Outcome.FAILED if lifted else Outcome.PASSED), result
    assert not lifted or "another attempt" in result.message
