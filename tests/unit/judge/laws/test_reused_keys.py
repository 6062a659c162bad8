"""A used key elsewhere: another resource, operation, caller."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.law_facts import KeyRule
from conformance.core.model import Exchange
from conformance.core.outcomes import Outcome
from tests.support.recorded_traffic import QUOTE, REVOKE, exchange, facts, outcome
from tests.support.values import replace

BODY = {"reason": "price check"}


def call(at: float = 0.0, **changes: Any) -> Exchange:
    usual = {"key": "k1", "body": BODY, "at": at, "path": "cart_1", "answer": {"data": {"id": "cart_1"}}}
    return exchange(**{**usual, **changes})


def test_the_answer_of_another_resource_is_a_violation() -> None:
    """IDEM-5: the second call is answered with the object of the first."""
    assert outcome("IDEM-5", call(), call(1, path="cart_2")) is Outcome.FAILED


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"path": "cart_2", "answer": {"data": {"id": "cart_2"}}}, Outcome.PASSED),
        ({"path": "cart_2", "status": 409}, Outcome.UNTESTED),
        ({"path": "cart_2", "at": 0.005}, Outcome.UNTESTED),
        ({"path": "cart_2", "key": "k2"}, Outcome.UNTESTED),
        ({"path": "cart_2", "credential": "spare"}, Outcome.UNTESTED),
    ],
)
def test_an_answer_of_its_own_is_none(changes: dict[str, Any], expected: Outcome) -> None:
    """IDEM-5 is silent where the second call was refused, overlaps, or has another key or caller."""
    assert outcome("IDEM-5", call(), call(**{"at": 1, **changes})) is expected


def test_answers_that_name_no_resource_are_not_judged() -> None:
    """IDEM-5: equal answers that do not show which resource they are about prove nothing."""
    plain = {"answer": {"data": {"state": "quoted"}}}
    assert outcome("IDEM-5", call(**plain), call(1, path="cart_2", **plain)) is Outcome.UNTESTED


def test_the_members_of_another_operation_are_a_violation() -> None:
    """IDEM-5: on the same resource, an answer with members that this operation never has otherwise."""
    revoked = [{"data": {"id": f"c{n}", "revoked": 1}} for n in range(3)]
    own = [call(9, operation=REVOKE, key=f"r{n}", path=f"c{n}", answer=answer) for n, answer in enumerate(revoked)]
    quoted = {"data": {"id": "cart_1", "total": 1}}
    first, other = call(answer=quoted), call(1, operation=REVOKE, answer=quoted)
    assert outcome("IDEM-5", *own, first, other) is Outcome.FAILED
    assert outcome("IDEM-5", first, other) is Outcome.UNTESTED


@pytest.mark.parametrize("credential", ["", "revoked", "reader"])
def test_a_repetition_without_access_is_a_violation(credential: str) -> None:
    """IDEM-9: a known key opens nothing; the same calls belong to no law of authentication."""
    first, again = call(), call(1, credential=credential)
    assert outcome("IDEM-9", first, again) is Outcome.FAILED
    assert outcome("IDEM-9", first, replace(again, status=403)) is Outcome.PASSED
    for other in ("AUTH-1", "AUTH-4", "SCO-1"):
        assert outcome(other, first, again) is Outcome.UNTESTED


@pytest.mark.parametrize(
    "changes",
    [
        {"credential": "spare"},
        {"credential": "", "body": {"reason": "other"}},
        {"credential": "", "path": "cart_2"},
        {"credential": "", "at": 0.005},
        {"credential": "", "headers": {"Cookie": "«redacted»"}},
        {"credential": "", "headers": {"Authorization": "«redacted#aaaa0123456789ab»"}},
    ],
)
def test_a_caller_who_may_have_access_is_not_judged(changes: dict[str, Any]) -> None:
    """IDEM-9 is silent on other calls, on overlaps, and on callers whom cookies or unknown keys may name."""
    assert outcome("IDEM-9", call(), call(**{"at": 1, **changes})) is Outcome.UNTESTED


@pytest.mark.parametrize(
    ("namespace", "changes", "expected"),
    [
        (("operation",), {"path": "cart_2"}, Outcome.FAILED),
        (("installation",), {"operation": REVOKE}, Outcome.FAILED),
        (("installation",), {"credential": "spare", "body": {"reason": "other"}}, Outcome.FAILED),
        (("path",), {"path": "cart_2"}, Outcome.PASSED),
        (("path",), {"operation": REVOKE}, Outcome.PASSED),
        (("path",), {"path": "cart_2", "status": 409}, Outcome.UNTESTED),
        (("installation",), {"credential": "foreign", "status": 409}, Outcome.UNTESTED),
        (("installation",), {"credential": "foreign"}, Outcome.PASSED),
        (("operation",), {"credential": "spare"}, Outcome.UNTESTED),
        (("operation",), {"path": "cart_2", "status": 409}, Outcome.PASSED),
        (("operation",), {"path": "cart_2", "at": 0.005}, Outcome.UNTESTED),
    ],
)
def test_a_key_belongs_to_what_is_stated(
    namespace: tuple[str, ...], changes: dict[str, Any], expected: Outcome
) -> None:
    """IDEM-14: 200 for another call under a key that does not belong to what differs; 409 is right."""
    stated = facts(idempotency=KeyRule("header", "Idempotency-Key", retention_s=60, namespace=namespace))
    other = call(**{"at": 1, "answer": {"data": {"id": "another"}}, **changes})
    assert outcome("IDEM-14", call(operation=QUOTE), other, stated=stated) is expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Outcome.FAILED),
        ({"credential": "spare"}, Outcome.UNTESTED),
        ({"credential": "foreign", "status": 404}, Outcome.UNTESTED),
        ({"credential": "foreign", "key": "k2"}, Outcome.UNTESTED),
        ({"credential": "foreign", "at": 0.005}, Outcome.UNTESTED),
        ({"credential": "foreign", "answer": {"data": {"id": "wh_1f60a3b9c2d4e5f6a7b8"}}}, Outcome.PASSED),
    ],
)
def test_a_key_of_another_installation_brings_nothing_back(changes: dict[str, Any], expected: Outcome) -> None:
    """IDEM-6: an id that cannot have been given out twice shows that the first answer was repeated."""
    unique = {"data": {"id": "wh_da2908bd7cc3bf7518a5"}}
    first, usual = call(answer=unique), {"credential": "foreign", "answer": unique}
    assert outcome("IDEM-6", first, call(**{"at": 1, **usual, **changes})) is expected


def test_equal_answers_without_an_id_are_none() -> None:
    """IDEM-6: two installations may have equal answers of their own."""
    assert outcome("IDEM-6", call(), call(1, credential="foreign")) is Outcome.UNTESTED
