"""What lies between the extremes is sent as it is meant, and only what breaks an answer fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.checks.check_ladder import (
    _numbers,
    _texts,
    a_broken_escape_in_a_query_breaks_nothing,
    a_broken_escape_in_a_session_breaks_nothing,
    a_member_of_any_size_is_survived,
    a_number_of_any_size_is_survived,
    a_search_text_of_any_length_is_survived,
    an_id_of_any_length_breaks_nothing,
)
from conformance.checks.support import ladder
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Search
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

QUOTE, SEARCH = CONTRACT.operations["quotePublicCart"], CONTRACT.operations["searchPublicProducts"]
CONSUME, CONFIG = (CONTRACT.operations[n] for n in ("consumeHostedCheckoutBrowserTicket", "getPublicRuntimeConfig"))
QUERY = {"q": "a", "locale": "en", "market": "US", "sort": "name", "page": 1, "pageSize": 2}
BODY = {"reason": "late", "lines": [{"name": "one", "quantity": 2}, {"name": "two", "quantity": 3}], "urgent": True}
FACTS: dict[str, Any] = {
    "operations": {
        QUOTE.id: OperationFacts(body=BODY, path={"cartId": "{cart.id}"}),
        CONSUME.id: OperationFacts(body={"ticket": "{session.ticket}"}, path={"sessionId": "{session.id}"}),
    },
    "fixtures": {
        "cart": {"open": Fixture("cart", "open", values=({"id": "c1"},), reusable=True)},
        "session": {"open": Fixture("session", "open", values=({"id": "s1", "ticket": "t" * 20},), reusable=True)},
    },
    "search": Search(query=QUERY, page_base=1, page_size_min=1, page_size_max=50),
}


def of(function: Any, *values: Any) -> Callable[[Case], Any]:
    async def law(case: Case) -> None:
        await function(case, *values)

    return law


SWEEPS: dict[str, tuple[Any, Any]] = {
    "texts": (of(a_member_of_any_size_is_survived, _texts), QUOTE),
    "numbers": (of(a_member_of_any_size_is_survived, _numbers), QUOTE),
    "ids": (of(an_id_of_any_length_breaks_nothing), QUOTE),
    "sessions": (of(a_broken_escape_in_a_session_breaks_nothing), CONSUME),
    "pages": (of(a_number_of_any_size_is_survived, "page"), SEARCH),
    "page sizes": (of(a_number_of_any_size_is_survived, "pageSize"), SEARCH),
    "searches": (of(a_search_text_of_any_length_is_survived, "q"), SEARCH),
    "escapes": (of(a_broken_escape_in_a_query_breaks_nothing, ("q", ladder.BROKEN_ESCAPES)), SEARCH),
    "unknown": (of(a_broken_escape_in_a_query_breaks_nothing, ("x", ("%00", "%ff%zz"))), CONFIG),
}


def sweep(judged: Any, name: str, script: Any) -> tuple[Any, list[Any]]:
    law, operation = SWEEPS[name]
    result, target = judged(script, law, operation, **FACTS)
    return result, target.arrived


@pytest.mark.parametrize("status", [200, 400, 404, 409])
@pytest.mark.parametrize("name", SWEEPS)
def test_every_declared_status_will_do(judged: Any, answer: Any, name: str, status: int) -> None:
    """Once the control is proven, what is swept may be accepted or refused."""
    seen: list[Any] = []

    def script(arrived: Any) -> bytes:
        seen.append(arrived)
        return bytes(answer(200 if len(seen) == 1 else status, {"data": {}}))

    result, arrived = sweep(judged, name, script)
    assert result.outcome is Outcome.PASSED, result
    assert len(arrived) >= 3


BREAKS: dict[str, Callable[[Any], bool]] = {
    "texts": lambda arrived: any(len(one["name"]) == 10_000 for one in arrived.json["lines"]),
    "numbers": lambda arrived: 2**31 <= arrived.json["lines"][0]["quantity"] < 2**53,
    "ids": lambda arrived: 255 < len(arrived.target) < 2_000,
    "sessions": lambda arrived: "s1%00" in arrived.target,
    "pages": lambda arrived: "page=10000&" in arrived.target or arrived.target.endswith("page=10000"),
    "page sizes": lambda arrived: arrived.target.endswith("pageSize=51"),
    "searches": lambda arrived: "a" * 1000 in arrived.target and len(arrived.target) < 2_000,
    "escapes": lambda arrived: arrived.target.endswith("q=a%ff") or arrived.target.endswith("q=%ff"),
    "unknown": lambda arrived: arrived.target.endswith("?x=%00"),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_one_value_between_the_extremes_that_breaks_the_answer_fails(judged: Any, answer: Any, name: str) -> None:
    def script(arrived: Any) -> bytes:
        return bytes(answer(500 if BREAKS[name](arrived) else 200, {"data": {}}))

    result, arrived = sweep(judged, name, script)
    assert result.outcome is Outcome.FAILED, result
    assert BREAKS[name](arrived[-1])


@pytest.mark.parametrize("name", ["ids", "searches"])
def test_a_url_may_be_refused_for_its_length(judged: Any, answer: Any, name: str) -> None:
    """With a status of its own, and in words that are not JSON, where it is long."""

    def script(arrived: Any) -> bytes:
        refused = len(arrived.target) > 2_000
        return bytes(answer(414, body=b"<h1>too long</h1>") if refused else answer(200, {"data": {}}))

    assert sweep(judged, name, script)[0].outcome is Outcome.PASSED


def test_of_a_body_every_leaf_but_the_key_is_swept_and_of_an_array_the_first() -> None:
    swept = list(ladder.texts({**BODY, "key": "k"}, "/key"))
    assert {where for where, _ in swept} == {"/reason", "/lines/0/name"}
    assert [len(text) for where, text in swept if where == "/reason"] == list(ladder.LENGTHS)
    assert all(text.startswith("late"[: len(text)]) for where, text in swept if where == "/reason")
    cut = [len(text) for _, text in ladder.texts({"ticket": "t" * 400}, "")]
    assert cut == [0, 1, 1_000, 10_000]  # no part of what may be a secret
    assert [number for where, number in ladder.numbers(BODY)] == list(ladder.NUMBERS)
    assert {where for where, _ in ladder.numbers(BODY)} == {"/lines/0/quantity"}


def test_the_ladder_has_the_steps_at_which_machines_end() -> None:
    steps = {0, 1, 100, 1_000, 10_000, 1_000_000, 2**31, 2**53, 2**63, 10**40}
    assert steps <= set(ladder.NUMBERS)
    assert {0, 1, 100, 1_000, 10_000} == set(ladder.LENGTHS)
