"""One write at a time: its body, its key, its proof."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.law_facts import BodyRule, KeyRule
from conformance.core.model import Message
from conformance.core.outcomes import Outcome
from tests.support.recorded_traffic import CREATE, TOKEN, exchange, facts, outcome
from tests.support.values import replace


def test_a_missing_body_is_refused() -> None:
    """BODY-1: 200 to nothing; a recording that may have lost the body is not judged."""
    assert outcome("BODY-1", exchange(key="k")) is Outcome.FAILED
    assert outcome("BODY-1", exchange(key="k", headers={"Content-Length": "20"})) is Outcome.UNTESTED
    assert outcome("BODY-1", exchange(key="k", body={})) is Outcome.UNTESTED


@pytest.mark.parametrize("body", ['{"a": 1} x', "a=1&b=2", '{"a": '])
def test_what_is_no_json_is_refused(body: str) -> None:
    """BODY-2: 200 to a text that no reader takes for JSON."""
    assert outcome("BODY-2", exchange(key="k", body=body)) is Outcome.FAILED
    assert outcome("BODY-2", exchange(key="k", body=body, status=400)) is Outcome.PASSED


@pytest.mark.parametrize(
    "changes",
    [
        {"body": '{"a": NaN}'},
        {"body": '\ufeff{"a": 1}'},
        {"body": '{"a": "\\xff'},
        {"body": "[" * 9000},
        {"body": "x", "headers": {"Content-Encoding": "gzip"}},
        {"request": Message((), '{"a": ', 9000, truncated=True)},
    ],
)
def test_what_may_be_json_is_not_judged(changes: dict[str, Any]) -> None:
    """BODY-2 is silent on lenient readings, other encodings, and bodies that were cut."""
    assert outcome("BODY-2", exchange(key="k", **changes)) is Outcome.UNTESTED


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        (BodyRule(max_bytes=5), {"body": "[1, 2, 3]"}),
        (BodyRule(max_depth=2), {"body": "[[[]]]"}),
        (BodyRule(media_types=("application/*+json",)), {"body": "[]"}),
    ],
)
def test_a_body_is_as_stated(rule: BodyRule, changes: dict[str, Any]) -> None:
    """BODY-9: 200 to what the profile states as refused; a smaller, flatter body of the type passes silently."""
    assert outcome("BODY-9", exchange(key="k", **changes), stated=facts(bodies=rule)) is Outcome.FAILED
    wide = BodyRule(("application/json",), max_bytes=99, max_depth=9)
    assert outcome("BODY-9", exchange(key="k", **changes), stated=facts(bodies=wide)) is Outcome.UNTESTED


def test_a_missing_key_is_refused_where_that_is_stated() -> None:
    """IDEM-3: without the profile's word nothing is judged."""
    refused = facts(idempotency=KeyRule("header", "Idempotency-Key", missing_is_refused=True))
    assert outcome("IDEM-3", exchange(body={}), stated=refused) is Outcome.FAILED
    assert outcome("IDEM-3", exchange(body={}, key=""), stated=refused) is Outcome.FAILED
    assert outcome("IDEM-3", exchange(body={})) is Outcome.UNSTATED
    twice = (("Idempotency-Key", "a"), ("Idempotency-Key", "b"))
    assert outcome("IDEM-3", exchange(request=Message(twice)), stated=refused) is Outcome.UNTESTED


def test_a_key_of_another_format_is_refused_where_that_is_stated() -> None:
    """IDEM-13: a redacted key, and one of the format, are not judged."""
    digits = facts(idempotency=KeyRule("header", "Idempotency-Key", format="[0-9]+"))
    assert outcome("IDEM-13", exchange(body={}, key="x1"), stated=digits) is Outcome.FAILED
    assert outcome("IDEM-13", exchange(body={}, key="11"), stated=digits) is Outcome.UNTESTED
    assert outcome("IDEM-13", exchange(body={}, key="«redacted»"), stated=digits) is Outcome.UNTESTED


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"body": {"reason": "b"}}, Outcome.FAILED),
        ({"body": {"reason": "A"}}, Outcome.UNTESTED),
        ({"body": {"reason": "b"}, "status": 409}, Outcome.UNTESTED),
        ({"body": {"reason": "b"}, "path": "cart_2"}, Outcome.UNTESTED),
        ({"body": {"reason": "a"}}, Outcome.FAILED),
        ({"body": {"reason": "a"}, "answer": {"data": 1}}, Outcome.PASSED),
        ({"body": {"reason": "a"}, "at": 0.005}, Outcome.UNTESTED),
    ],
)
def test_keys_in_capitals_are_the_same_where_that_is_stated(changes: dict[str, Any], expected: Outcome) -> None:
    """IDEM-13: a second answer under the key in capitals; bodies that may mean the same decide nothing."""
    stated = facts(idempotency=KeyRule("header", "Idempotency-Key", is_case_insensitive=True))
    first = exchange(body={"reason": "a"}, key="ab", answer={"data": 1})
    usual: dict[str, Any] = {"key": "AB", "at": 1, "answer": {"data": 2}}
    assert outcome("IDEM-13", first, exchange(**{**usual, **changes}), stated=stated) is expected
    assert outcome("IDEM-13", first, exchange(**{**usual, **changes})) is Outcome.UNSTATED


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Outcome.FAILED),
        ({"status": 200}, Outcome.PASSED),
        ({"status": 409}, Outcome.UNTESTED),
        ({"body": {"reason": "b"}}, Outcome.UNTESTED),
        ({"path": "cart_2"}, Outcome.UNTESTED),
        ({"key": "x"}, Outcome.UNTESTED),
        ({"credential": "spare"}, Outcome.UNTESTED),
    ],
)
def test_a_body_without_media_type_is_accepted_where_that_is_stated(changes: dict[str, Any], expected: Outcome) -> None:
    """BODY-9: a 400 is judged only where body, path, caller and key were answered 200 or are of the stated form."""
    rule = BodyRule(absent_media_type_is_accepted=True)
    stated = facts(bodies=rule, idempotency=KeyRule("header", "Idempotency-Key", accepted="[0-9]+"))
    good = exchange(body={"reason": "a"}, key="1")
    bare = exchange(**{"body": {"reason": "a"}, "key": "2", "status": 400, "at": 1, **changes})
    kept = tuple(header for header in bare.request.headers if header[0] != "Content-Type")
    bare = replace(bare, request=replace(bare.request, headers=kept))
    assert outcome("BODY-9", good, bare, stated=stated) is expected


def test_a_key_of_the_format_is_accepted() -> None:
    """IDEM-10: a refusal of a body that was answered 200 with another key; of an object it may have another cause."""
    digits = facts(idempotency=KeyRule("header", "Idempotency-Key", accepted="[0-9]+"))
    good, refused = exchange(CREATE, body={}, key="1"), exchange(CREATE, body={}, key="2", status=400)
    assert outcome("IDEM-10", good, refused, stated=digits) is Outcome.FAILED
    on_cart = exchange(body={}, key="1"), exchange(body={}, key="2", status=400)
    assert outcome("IDEM-10", *on_cart, stated=digits) is not Outcome.FAILED
    assert outcome("IDEM-10", refused, stated=digits) is Outcome.UNTESTED


def test_the_token_exchange_needs_proof_and_verifier() -> None:
    """OA-6, OA-2, OA-10: 200 without a DPoP header, without the verifier, and without a word on caching."""
    bare = exchange(TOKEN, credential="", key="k", body={"code": "c"})
    proven = exchange(TOKEN, credential="", key="k", body={"code": "c", "v": "x"}, headers={"DPoP": "«redacted»"})
    known = facts(verifier="/v")
    assert (outcome("OA-6", bare), outcome("OA-6", proven)) == (Outcome.FAILED, Outcome.UNTESTED)
    assert outcome("OA-2", bare, stated=known) is Outcome.FAILED
    assert outcome("OA-2", proven, stated=known) is Outcome.UNTESTED
    cached = exchange(TOKEN, credential="", response=Message((("Date", "now"),), "{}"))
    assert (outcome("OA-10", cached), outcome("OA-10", bare)) == (Outcome.WARNED, Outcome.UNTESTED)
