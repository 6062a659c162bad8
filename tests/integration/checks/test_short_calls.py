"""Calls that take a few milliseconds: a duplicate or a rival is rarely seen beside them (IDEM-15, CONF-2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.checks.check_concurrency import a_duplicate_in_flight_is_treated_as_stated as law
from conformance.checks.check_concurrency import what_ends_a_state_ends_it_for_calls_at_that_time
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Idempotency, Transition
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT, key_of

QUOTE = CONTRACT.operations["quotePublicCart"]
REVOKE = CONTRACT.operations["revokePublicCart"]
CONFLICTS = replace(Idempotency("header", name="Idempotency-Key"), in_flight="conflict")


@pytest.mark.parametrize("burst", [1, 3, 0], ids=["the first burst", "the third burst", "a call and its duplicate"])
def test_a_409_of_any_burst_or_pair_is_what_the_profile_states(judged: Any, answer: Any, burst: int) -> None:
    """Short calls: the first duplicates may all come after the call that they repeat."""
    keys: dict[str, int] = {}

    def script(arrived: Any) -> bytes:
        key = key_of(arrived)
        keys[key] = keys.get(key, 0) + 1
        is_pair = len(keys) > 6  # the keys of the controls, and of three bursts, are fewer
        seen = is_pair if not burst else list(keys).index(key) >= burst
        return bytes(answer(409 if key and seen and keys[key] == 2 else 200, {"data": {"id": "c1"}}))

    carts = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(40)))}}
    result, _ = judged(script, law, QUOTE, idempotency=CONFLICTS, fixtures=carts)
    assert result.outcome is Outcome.PASSED, result


def test_a_limited_pair_is_sent_again(judged: Any, answer: Any) -> None:
    """A limiter that answers 429 now and then, to a call, its duplicate or the read, leaves nothing open."""
    keys: dict[str, int] = {}
    limited: list[str] = []

    def script(arrived: Any) -> bytes:
        key = key_of(arrived)
        keys[key] = keys.get(key, 0) + 1
        is_second_of_a_pair = len(keys) > 6 and key and keys[key] == 2
        if is_second_of_a_pair and len(limited) < 2:
            limited.append(key)
            return bytes(answer(429, {"error": "too many"}))
        return bytes(answer(409 if is_second_of_a_pair and key not in limited else 200, {"data": {"id": "c1"}}))

    carts = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(40)))}}
    result, _ = judged(script, law, QUOTE, idempotency=CONFLICTS, fixtures=carts)
    assert result.outcome is Outcome.PASSED, result


def test_calls_that_nobody_sees_in_progress_prove_nothing(judged: Any, answer: Any) -> None:
    """Neither that duplicates wait nor that they are refused."""
    carts = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(40)))}}
    script = lambda _arrived: bytes(answer(200, {"data": {"id": "c1"}}))
    result, _ = judged(script, law, QUOTE, idempotency=CONFLICTS, fixtures=carts)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "overlap" in result.message


_ENDS = {
    "keeps its states": Outcome.PASSED,
    "locks the cart": Outcome.INAPPLICABLE,
    "forgets the end": Outcome.INCONCLUSIVE,
    "revives the cart": Outcome.FAILED,
    "loses an answer": Outcome.INAPPLICABLE,
}


@pytest.mark.parametrize("service", _ENDS)
def test_a_quote_at_the_time_of_a_revocation_does_not_revive_the_cart(judged: Any, answer: Any, service: str) -> None:
    """One that was carried out before it is answered 200 as well, and of one whose answer was lost nothing is known."""
    calls: dict[str, list[str]] = {}
    revoked: set[str] = set()

    def script(arrived: Any) -> bytes:
        cart, name = arrived.target.split("/")[-2:]
        done = calls.setdefault(cart, [])
        done.append(name)
        is_race = done.count("quote") > 1 or (done[0] == "quote" and len(done) > 1)
        status = 409 if cart in revoked and service != "forgets the end" else 200
        if name == "revoke":
            status = 409 if service == "locks the cart" and len(done) > 1 else 200
            revoked.update({cart} if status == 200 else ())
        elif service == "revives the cart" and is_race and len(done) < 4:
            status = 200
            revoked.discard(cart)
        elif service == "loses an answer" and is_race:
            status = 503
        return bytes(answer(status, {"data": {}} if status == 200 else {"error": "revoked"}))

    async def law(case: Case) -> None:
        await what_ends_a_state_ends_it_for_calls_at_that_time(case, ("cart.open", REVOKE.id))

    stated = (
        Transition(QUOTE.id, "cart.open", leads_to="cart.open"),
        Transition(REVOKE.id, "cart.open", leads_to="cart.revoked"),
        Transition(QUOTE.id, "cart.revoked"),
    )
    body = OperationFacts(body={"reason": "{unique}"}, path={"cartId": "{cart.id}"})
    carts = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(40)))}}
    facts = {"fixtures": carts, "operations": {QUOTE.id: body, REVOKE.id: body}, "transitions": stated}
    result, _ = judged(script, law, QUOTE, **facts)
    assert result.outcome is _ENDS[service], result
