"""Calls that take a few milliseconds: a duplicate is rarely seen while one is in progress (IDEM-15)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.checks.check_concurrency import a_duplicate_in_flight_is_treated_as_stated as law
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Idempotency
from conformance.profile.resources import Fixture
from tests.support.check_runs import CONTRACT, key_of

QUOTE = CONTRACT.operations["quotePublicCart"]
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


def test_calls_that_nobody_sees_in_progress_prove_nothing(judged: Any, answer: Any) -> None:
    """Neither that duplicates wait nor that they are refused."""
    carts = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(40)))}}
    script = lambda _arrived: bytes(answer(200, {"data": {"id": "c1"}}))
    result, _ = judged(script, law, QUOTE, idempotency=CONFLICTS, fixtures=carts)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "overlap" in result.message
