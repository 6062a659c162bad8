"""What can be used once, states, limits, and what answers show."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.law_facts import AnswerRule, ConflictRule
from conformance.core.model import Exchange
from conformance.core.outcomes import Outcome
from tests.support.recorded_traffic import CHECKOUT, IDENTITY, QUOTE, REVOKE, TICKET, TOKEN, exchange, facts, outcome

CODE = "«redacted:oauth.code#aaaa0123456789ab»"
OTHER_CODE = "«redacted:oauth.code#aaaa0123456789ac»"


def use(operation: str, value: str, key: str | None, at: float = 0.0, status: int | None = 200) -> Exchange:
    member = "code" if operation == TOKEN else "ticket"
    return exchange(operation, credential="", key=key, at=at, status=status, body={member: value}, path="s1")


@pytest.mark.parametrize(("requirement", "operation"), [("OA-4", TOKEN), ("HO-2", TICKET)])
def test_a_code_and_a_ticket_are_used_once(requirement: str, operation: str) -> None:
    """OA-4, HO-2: two answers of 200 under two keys, also at once; refusals, replays and other secrets are fine."""
    first = use(operation, CODE, "k1")
    assert outcome(requirement, first, use(operation, CODE, "k2", 1)) is Outcome.FAILED
    assert outcome(requirement, first, use(operation, CODE, "k2", 0)) is Outcome.FAILED
    assert outcome(requirement, first, use(operation, CODE, "k2", 1, 409)) is Outcome.PASSED
    assert outcome(requirement, first, use(operation, CODE, "k1", 1)) is Outcome.UNTESTED
    assert outcome(requirement, first, use(operation, OTHER_CODE, "k2", 1)) is Outcome.UNTESTED
    assert (
        outcome(requirement, use(operation, "«redacted»", "k1"), use(operation, "«redacted»", "k2", 1))
        is Outcome.UNTESTED
    )


CONFLICT = facts(conflicts=(ConflictRule(CHECKOUT, REVOKE, 409),))


def write(operation: str, at: float, status: int | None = 200, key: str = "") -> Exchange:
    return exchange(operation, at=at, status=status, key=key or f"{operation}{at}", body={})


def test_a_conflict_is_refused() -> None:
    """CONF-1: 200 to what conflicts with the state that the last call has led to."""
    assert outcome("CONF-1", write(REVOKE, 0), write(CHECKOUT, 1), stated=CONFLICT) is Outcome.FAILED
    assert outcome("CONF-1", write(REVOKE, 0), write(CHECKOUT, 1, 409), stated=CONFLICT) is Outcome.PASSED


@pytest.mark.parametrize(
    "between",
    [
        [write(QUOTE, 0.5)],
        [write(QUOTE, 0.5, None)],
        [write(QUOTE, 0.5, 503)],
        [write(QUOTE, 0.995)],
        [write(CHECKOUT, 0.5, 409, key="c")],
        [write(CHECKOUT, 0.5, 409, key="C")],
    ],
)
def test_a_state_that_may_have_changed_is_not_judged(between: list[Exchange]) -> None:
    """CONF-1 is silent after lost answers, other changes, overlapping calls, and on repeated keys."""
    calls = (write(REVOKE, 0), *between, write(CHECKOUT, 1, key="c"))
    assert outcome("CONF-1", *calls, stated=CONFLICT) is not Outcome.FAILED


@pytest.mark.parametrize(("is_all", "soon", "late"), [(False, 4, 7), (True, 50, 70)])
def test_a_state_may_be_changed_by_hand_after_a_while(is_all: bool, soon: float, late: float) -> None:
    """CONF-1: staff may open an order again. Where all requests were recorded, that takes them longer."""
    stated = facts(conflicts=CONFLICT.conflicts, is_all_traffic=is_all)
    assert outcome("CONF-1", write(REVOKE, 0), write(CHECKOUT, soon), stated=stated) is Outcome.FAILED
    assert outcome("CONF-1", write(REVOKE, 0), write(CHECKOUT, late), stated=stated) is Outcome.UNTESTED
    assert outcome("CONF-1", write(REVOKE, 0), write(CHECKOUT, late, 409), stated=stated) is Outcome.UNTESTED


def limited(at: float, status: int, **changes: Any) -> Exchange:
    return exchange(IDENTITY, at=at, status=status, **changes)


def test_a_limit_ends() -> None:
    """RATE-3: 429 again after the stated time in which nothing was sent; with other traffic nothing is known.

    Each of the two 429s has another one beside it: a single one may shed load at random.
    """
    stated = facts(recovery_s=2.0, is_all_traffic=True)
    in_force = [limited(at, 429) for at in (-0.5, 0, 3, 3.5)]
    assert outcome("RATE-3", *in_force, stated=stated) is Outcome.FAILED
    assert outcome("RATE-3", *in_force[:3], stated=stated) is Outcome.UNTESTED
    assert outcome("RATE-3", *in_force[1:], stated=stated) is Outcome.UNTESTED
    assert outcome("RATE-3", limited(0, 429), limited(3, 200), stated=stated) is Outcome.PASSED
    assert outcome("RATE-3", limited(0, 429), limited(1, 429), stated=stated) is Outcome.UNTESTED
    other = exchange(QUOTE, at=1.5, body={})
    assert outcome("RATE-3", *in_force[:2], other, *in_force[2:], stated=stated) is Outcome.UNTESTED
    assert outcome("RATE-3", *in_force, stated=facts(recovery_s=2.0)) is Outcome.UNTESTED


def test_answers_show_what_is_stated() -> None:
    """OA-17, IDN-1: another spelling, lifetime or scope at the stated place; an absent member says nothing."""
    rules = (
        AnswerRule(TOKEN, "OA-17", "/data/type", "text", "DPoP"),
        AnswerRule(TOKEN, "OA-17", "/data/life", "seconds", "60"),
        AnswerRule(IDENTITY, "IDN-1", "/data/scopes", "scopes"),
    )
    stated = facts(answers=rules)
    for data, expected in (
        ({"type": "dpop"}, Outcome.FAILED),
        ({"type": "DPoP", "life": 59.5}, Outcome.PASSED),
        ({"life": 30}, Outcome.FAILED),
        ({"life": "sixty"}, Outcome.FAILED),
        ({}, Outcome.UNTESTED),
    ):
        assert outcome("OA-17", exchange(TOKEN, credential="", answer={"data": data}), stated=stated) is expected
    for shown, expected in ((["webhooks:read"], Outcome.PASSED), ([], Outcome.FAILED), ({}, Outcome.UNTESTED)):
        identity = exchange(IDENTITY, credential="reader", answer={"data": {"scopes": shown}})
        assert outcome("IDN-1", identity, stated=stated) is expected


def test_installations_are_told_apart() -> None:
    """TEN-2: one value for two installations, or two for one."""
    stated = facts(answers=(AnswerRule(IDENTITY, "TEN-2", "/data/of", "installation"),))

    def shown(credential: str, value: str) -> Exchange:
        return exchange(IDENTITY, credential=credential, answer={"data": {"of": value}})

    assert outcome("TEN-2", shown("full", "a"), shown("foreign", "a"), stated=stated) is Outcome.FAILED
    assert outcome("TEN-2", shown("full", "a"), shown("spare", "b"), stated=stated) is Outcome.FAILED
    assert (
        outcome("TEN-2", shown("full", "a"), shown("foreign", "b"), shown("spare", "a"), stated=stated)
        is Outcome.PASSED
    )
