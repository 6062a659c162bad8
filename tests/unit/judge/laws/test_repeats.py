"""The same key again: a violation is found, and what has another explanation is not judged."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.law_facts import KeyRule
from conformance.core.model import Message
from conformance.core.outcomes import Outcome
from tests.support.recorded_traffic import QUOTE, TOKEN, exchange, facts, judged, outcome
from tests.support.values import replace

BODY = {"reason": "price check", "actor": {"tags": ["first", "second"]}}
OTHER = {**BODY, "reason": "stock check"}
FIRST = exchange(key="k1", body=BODY, answer={"data": {"version": 1, "at": "noon"}})
AGAIN: dict[str, Any] = {"key": "k1", "body": BODY, "at": 1.0}
ANSWER: dict[str, Any] = {"answer": {"data": {"version": 1, "at": "noon"}}}
DIFFERENT: dict[str, Any] = {"answer": {"data": {"version": 2, "at": "noon"}}}


def test_another_answer_to_the_same_call_is_a_violation() -> None:
    """IDEM-1: the decisive exchange stands last, and the place of the difference is named."""
    again = exchange(**AGAIN, **DIFFERENT)
    result = judged("IDEM-1", FIRST, again)
    assert result.outcome is Outcome.FAILED
    assert result.check == "law::IDEM-1"
    assert result.exchanges == (FIRST.id, again.id)
    assert "/data/version" in result.message


def test_the_same_answer_passes() -> None:
    """IDEM-1 counts what it judged; members in another order are the same value."""
    assert (
        outcome("IDEM-1", FIRST, exchange(**AGAIN, answer='{"data": {"at": "noon", "version": 1.0}}')) is Outcome.PASSED
    )


def test_another_status_is_a_violation() -> None:
    """IDEM-1: a call that was answered 200 is not refused with 404 when it is repeated."""
    assert outcome("IDEM-1", FIRST, exchange(**AGAIN, status=404)) is Outcome.FAILED


@pytest.mark.parametrize(
    "changes",
    [
        {"status": 401},
        {"status": 403},
        {"status": 429},
        {"status": 503},
        {"status": None},
        {"at": 0.005, **DIFFERENT},
        {"at": 61.0, **DIFFERENT},
        {"at": 0.5, "status": 409},
        {"credential": "spare", **DIFFERENT},
        {"path": "cart_2", **DIFFERENT},
        {"query": "a=1", **DIFFERENT},
        {"key": "k2", **DIFFERENT},
        {"body": '{"reason":  "price check", "actor": {"tags": ["first", "second"]}}', **DIFFERENT},
        {"headers": {"Accept-Language": "de"}, **DIFFERENT},
        {"headers": {"Authorization": "«redacted»"}, **DIFFERENT},
        {"answer": "not json"},
        {"method": "PUT", **DIFFERENT},
        {"url": "https://shop.example/api/v1/open/storefront/carts/%2e%2e/quote", **DIFFERENT},
    ],
)
def test_what_may_have_another_cause_is_not_judged(changes: dict[str, Any]) -> None:
    """IDEM-1 is silent on refusals for other reasons, lost answers, overlaps, expired keys, and on other calls."""
    assert outcome("IDEM-1", FIRST, exchange(**{**AGAIN, **changes})) is Outcome.UNTESTED


def test_a_key_that_stays_in_use_is_a_violation() -> None:
    """IDEM-1: a 409 to the same call is given time to settle, and no more."""
    assert outcome("IDEM-1", FIRST, exchange(**{**AGAIN, "at": 9.0}, status=409)) is Outcome.FAILED


def test_without_a_stated_retention_only_seconds_are_judged() -> None:
    """IDEM-1: how long a key is stored is not shown, so that only a repetition soon after is judged."""
    unstated = facts(idempotency=KeyRule("header", "Idempotency-Key"))
    assert outcome("IDEM-1", FIRST, exchange(**AGAIN, **DIFFERENT), stated=unstated) is Outcome.FAILED
    assert outcome("IDEM-1", FIRST, exchange(**{**AGAIN, "at": 6.0}, **DIFFERENT), stated=unstated) is Outcome.UNTESTED


def test_volatile_members_may_differ() -> None:
    """IDEM-1: what the profile declares volatile is not compared."""
    stated = facts(idempotency=KeyRule("header", "Idempotency-Key", volatile=("/data/version",), retention_s=60))
    assert outcome("IDEM-1", FIRST, exchange(**AGAIN, **DIFFERENT), stated=stated) is Outcome.PASSED


def test_a_truncated_body_or_answer_is_not_compared() -> None:
    """IDEM-1: what was cut may be the same, or not."""
    again = exchange(**AGAIN, **DIFFERENT)
    cut_body = replace(again, request=replace(again.request, truncated=True))
    cut_answer = replace(again, response=replace(again.response, truncated=True))
    assert outcome("IDEM-1", FIRST, cut_body) is Outcome.UNTESTED
    assert outcome("IDEM-1", FIRST, cut_answer) is not Outcome.FAILED


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("«redacted:token#aaaa0123456789ab»", "«redacted:token#aaaa0123456789ab»", Outcome.PASSED),
        ("«redacted:token#aaaa0123456789ab»", "«redacted:body#aaaa0123456789ab»", Outcome.PASSED),
        ("«redacted:token#aaaa0123456789ab»", "«redacted:token#aaaa0123456789ac»", Outcome.FAILED),
        ("«redacted:token#aaaa0123456789ab»", "«redacted:token#bbbb0123456789ac»", Outcome.PASSED),
        ("«redacted»", "«redacted:part»", Outcome.PASSED),
    ],
)
def test_secrets_are_compared_by_their_marks(first: str, second: str, expected: Outcome) -> None:
    """IDEM-1: marks of one process tell; redactions without marks, and marks of two processes, may be equal."""
    pair = [exchange(key="k1", body=BODY, at=at, answer={"data": {"secret": s}}) for at, s in ((0, first), (1, second))]
    assert outcome("IDEM-1", *pair) is expected


def test_the_token_exchange_is_left_out() -> None:
    """IDEM-1: a repetition of it has another proof, and what that makes of it is not required."""
    pair = [exchange(TOKEN, credential="", key="k1", body=BODY, at=at, answer={"data": at}) for at in (0, 1)]
    assert not [r for r in [judged("OA-6", *pair)] if r.requirement == "IDEM-1"]


def test_another_payload_answered_200_is_a_violation() -> None:
    """IDEM-4: another value of a member of the profile's bodies, whatever the answer is."""
    assert outcome("IDEM-4", FIRST, exchange(key="k1", body=OTHER, at=1.0, **ANSWER)) is Outcome.FAILED
    tags = {"reason": "price check", "actor": {"tags": ["first", "third"]}}
    assert outcome("IDEM-4", FIRST, exchange(key="k1", body=tags, at=1.0)) is Outcome.FAILED


def test_another_payload_answered_409_passes() -> None:
    """IDEM-4: the conflict is what the interface asks for."""
    assert outcome("IDEM-4", FIRST, exchange(key="k1", body=OTHER, at=1.0, status=409)) is Outcome.PASSED


@pytest.mark.parametrize(
    "changes",
    [
        {"body": {**BODY, "unknown": 1}},
        {"body": {**BODY, "reason": " PRICE  check"}},
        {"body": {**BODY, "reason": 1}},
        {"body": {**BODY, "reason": None}},
        {"body": {**BODY, "reason": "«redacted»"}},
        {"body": "{}"},
        {"body": "not json"},
        {"status": 400},
        {"status": 404},
        {"at": 0.005},
        {"at": 61.0},
        {"credential": "spare"},
        {"path": "cart_2"},
    ],
)
def test_a_payload_that_may_mean_the_same_is_not_judged(changes: dict[str, Any]) -> None:
    """IDEM-4 is silent on members of no meaning, other spellings, coerced types, overlaps, other calls, refusals."""
    assert outcome("IDEM-4", FIRST, exchange(**{"key": "k1", "body": OTHER, "at": 1.0, **changes})) is Outcome.UNTESTED


def test_calls_at_once_have_one_answer() -> None:
    """IDEM-7: of overlapping duplicates those with 200 are equal; those that do not overlap belong to IDEM-1."""
    overlapping = exchange(**{**AGAIN, "at": 0.005}, **DIFFERENT)
    assert outcome("IDEM-7", FIRST, overlapping) is Outcome.FAILED
    assert outcome("IDEM-7", FIRST, exchange(**{**AGAIN, "at": 0.005}, **ANSWER)) is Outcome.PASSED
    assert outcome("IDEM-7", FIRST, exchange(**AGAIN, **DIFFERENT)) is Outcome.UNTESTED


@pytest.mark.parametrize("carrier", ["body", "query"])
def test_keys_are_found_at_every_carrier(carrier: str) -> None:
    """A key in the body or in the query is as good as one in a header."""
    stated = facts(idempotency=KeyRule(carrier, "idem", "/idem", retention_s=60))
    body = {**BODY, "idem": "k1"} if carrier == "body" else BODY
    query = "x=1&idem=k1" if carrier == "query" else ""
    pair = [exchange(body=body, query=query, at=at, answer={"data": {"n": at}}) for at in (0, 1)]
    assert outcome("IDEM-1", *pair, stated=stated) is Outcome.FAILED


def test_a_mark_in_the_query_is_no_fragment() -> None:
    """The key behind another redacted parameter is found: the `#` of a mark does not end the query."""
    stated = facts(idempotency=KeyRule("query", "idem", retention_s=60, missing_is_refused=True))
    query = "x=«redacted:parameter#82895aa9650e610d»&idem=«redacted:token#82899fa762d923dd»"
    pair = [exchange(body=BODY, query=query, at=at, answer={"data": {"n": at}}) for at in (0, 1)]
    assert outcome("IDEM-1", *pair, stated=stated) is Outcome.FAILED
    assert outcome("IDEM-3", *pair, stated=stated) is Outcome.UNTESTED
    assert (
        outcome("IDEM-3", exchange(body=BODY, query="x=«redacted:parameter#82895aa9650e610d»#idem=k1"), stated=stated)
        is Outcome.FAILED
    )


def test_a_duplicate_within_the_precision_of_the_clock_decides_nothing() -> None:
    """IDEM-15: where the times of a recording are too coarse for which call began first, a 409 is not a violation."""
    first = exchange(key="k1", body=BODY, lasts=0.1)
    waits = facts(idempotency=KeyRule("header", "Idempotency-Key", in_flight="waits"), clock_s=0.003)
    for at, expected in ((0.002, Outcome.UNTESTED), (0.05, Outcome.FAILED), (0.099, Outcome.UNTESTED)):
        duplicate = exchange(key="k1", body=BODY, at=at, lasts=0.2, status=409)
        assert outcome("IDEM-15", first, duplicate, stated=waits) is expected


def test_the_missing_fact_is_named() -> None:
    """Without a stated carrier nothing can be judged, and the key of the profile is named."""
    result = judged("IDEM-1", FIRST, stated=facts(idempotency=None), operation=QUOTE)
    assert (result.outcome, result.fact) == (Outcome.UNSTATED, "idempotency")


def test_traffic_that_does_not_decide_says_what_to_send() -> None:
    """An untested law names the traffic that would close the gap."""
    result = judged("IDEM-1", FIRST)
    assert result.outcome is Outcome.UNTESTED
    assert "byte for byte" in result.message


def test_an_empty_message_is_no_trouble() -> None:
    """A recording without bodies and headers is judged silently."""
    bare = replace(FIRST, request=Message(), response=Message())
    assert outcome("IDEM-1", bare, replace(bare, id="t0", at=1.0)) is Outcome.UNTESTED


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"status": 409}, Outcome.FAILED),
        ({}, Outcome.PASSED),
        ({"status": 503}, Outcome.UNTESTED),
        ({"status": 409, "at": 1.0}, Outcome.UNTESTED),
        ({"status": 409, "body": OTHER}, Outcome.UNTESTED),
        ({"status": 409, "key": "k2"}, Outcome.UNTESTED),
        ({"status": 409, "credential": "spare"}, Outcome.UNTESTED),
    ],
)
def test_a_duplicate_in_flight_waits_where_that_is_stated(changes: dict[str, Any], expected: Outcome) -> None:
    """IDEM-15: a 409 to a duplicate that began while the call was in progress; of another call it is none."""
    first = exchange(key="k1", body=BODY, lasts=0.5)
    duplicate = exchange(**{"key": "k1", "body": BODY, "at": 0.1, "lasts": 0.2, **changes})
    waits = facts(idempotency=KeyRule("header", "Idempotency-Key", in_flight="waits"))
    assert outcome("IDEM-15", first, duplicate, stated=waits) is expected
    assert outcome("IDEM-15", first, duplicate) is Outcome.UNSTATED
    conflict = facts(idempotency=KeyRule("header", "Idempotency-Key", in_flight="conflict"))
    assert outcome("IDEM-15", first, duplicate, stated=conflict) is Outcome.UNTESTED
