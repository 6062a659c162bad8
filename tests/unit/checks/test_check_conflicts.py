"""Sequences of stated transitions: which of them are tried."""

from __future__ import annotations

from conformance.checks.check_conflicts import _chains, _operation_of_state, _ruled_out_operation
from conformance.contract import load_contract
from conformance.profile.behavior import Authorization, Transition
from conformance.profile.model import Profile

REMOVE, QUOTE, REVOKE = (
    load_contract().operations[name] for name in ("removePublicCartPromotion", "quotePublicCart", "revokePublicCart")
)
STATED = (
    Transition(REMOVE.id, "cart.promoted", leads_to="cart.open"),
    Transition(REVOKE.id, "cart.open", leads_to="cart.revoked"),
    Transition(QUOTE.id, "cart.open", leads_to="cart.quoted"),
    Transition("checkoutPublicCart", "cart.quoted", leads_to="cart.checked_out"),
)


def _profile(*further: Transition) -> Profile:
    authorization = Authorization("Bearer {key}")
    return Profile("shop", "http://127.0.0.1", authorization, transitions=(*STATED, *further))


def test_long_sequences_come_first_and_then_those_of_two_that_no_long_one_begins_with() -> None:
    assert list(_chains(_profile(), REMOVE)) == [
        "cart.promoted-quotePublicCart-checkoutPublicCart",
        "cart.promoted-revokePublicCart",
    ]
    assert list(_chains(_profile(), REVOKE)) == [""]


def test_a_sequence_of_two_that_shows_the_new_state_is_tried_by_another_check() -> None:
    assert list(_chains(_profile(), QUOTE)) == ["cart.open-checkoutPublicCart"]
    refused_before = Transition("checkoutPublicCart", "cart.open")
    assert list(_chains(_profile(refused_before), QUOTE)) == [""]


def test_a_state_that_stays_is_shown_by_what_another_state_refuses() -> None:
    """Quoting a quoted cart leaves it quoted: the checkout, which an open cart refuses, is still allowed."""
    again = Transition(QUOTE.id, "cart.quoted", leads_to="cart.quoted")
    refused = Transition("checkoutPublicCart", "cart.open")
    assert _operation_of_state(_profile(again, refused), again) == "checkoutPublicCart"
    later = Transition(QUOTE.id, "cart.open", after=(QUOTE.id,), leads_to="cart.quoted")
    assert _operation_of_state(_profile(later, refused), later) == "checkoutPublicCart"
    assert _operation_of_state(_profile(again), again) == ""  # no state refuses it
    assert _operation_of_state(_profile(again, refused), STATED[2]) == ""  # its state changes


def test_a_new_state_is_told_from_those_that_allow_what_it_refuses() -> None:
    """A cart whose promotion was removed may not be checked out, which a quoted one may."""
    refused = Transition("checkoutPublicCart", "cart.open")
    assert _ruled_out_operation(_profile(refused), STATED[0]) == "checkoutPublicCart"
    assert _ruled_out_operation(_profile(), STATED[0]) == ""  # nothing is known to be refused
    assert _ruled_out_operation(_profile(refused, Transition(REVOKE.id, "cart.revoked")), STATED[0]) == (
        "checkoutPublicCart"
    )
