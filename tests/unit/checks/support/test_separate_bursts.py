"""Where a burst on one resource is mostly refused, one of requests that may all succeed looks for a limit (RATE-5)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from conformance.checks.check_rate_limit import a_declared_limit_is_enforced
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import RateLimit
from conformance.profile.resources import Fixture
from tests.support.check_runs import CONTRACT

QUOTE = CONTRACT.operations["quotePublicCart"]
FACTS = RateLimit(provoke=True, max_requests=30, limit=5, window_s=60, per="key")
CREATED = """
import itertools
numbers = itertools.count()
def cart(*, context):
    return {"id": f"c{next(numbers)}"}
def three_carts(*, context):
    number = next(numbers)
    if number > 2:
        raise RuntimeError("no more carts")
    return {"id": f"c{number}"}
"""


class Service:
    """Answers the first call on each cart 200 and others 409; counts successes alone, up to a limit."""

    def __init__(self, answer: Any, limit: int) -> None:
        self.answer, self.limit = answer, limit
        self.quoted: set[str] = set()
        self.times: list[float] = []

    def __call__(self, arrived: Any) -> bytes:
        if arrived.target.split("?")[0] in self.quoted:
            return bytes(self.answer(409, {"error": {"code": "c", "message": "m"}}))
        recent = [at for at in self.times if time.monotonic() - at < 60]
        if len(recent) >= self.limit:
            return bytes(self.answer(429, {"error": {"code": "c", "message": "m"}}))
        self.times.append(time.monotonic())
        self.quoted.add(arrived.target.split("?")[0])
        return bytes(self.answer(200, {"data": {"id": "q"}}))


@pytest.mark.parametrize(
    ("outcome", "limit", "facts", "fixture"),
    [
        (Outcome.FAILED, 999, FACTS, Fixture("cart", "open", python="created.py:cart")),
        (Outcome.PASSED, 5, FACTS, Fixture("cart", "open", python="created.py:cart")),
        (Outcome.PASSED, 8, FACTS, Fixture("cart", "open", python="created.py:cart")),
        (Outcome.INCONCLUSIVE, 999, FACTS, Fixture("cart", "open", python="created.py:three_carts")),
        (Outcome.INCONCLUSIVE, 999, replace(FACTS, per=""), Fixture("cart", "open", python="created.py:cart")),
        (Outcome.INCONCLUSIVE, 999, replace(FACTS, max_requests=9), Fixture("cart", "open", python="created.py:cart")),
        (Outcome.INCONCLUSIVE, 999, FACTS, Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(60)))),
    ],
    ids=["no limit", "kept", "tolerated", "few carts", "unstated count", "small burst", "finite list"],
)
def test_where_one_call_on_a_resource_succeeds_a_burst_has_as_many_resources(
    judged: Any,
    answer: Any,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    outcome: Outcome,
    limit: int,
    facts: RateLimit,
    fixture: Fixture,
) -> None:
    """Where they cannot be had, where they may be counted separately, or where they are too few, nothing is judged."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "created.py").write_text(CREATED)
    service = Service(answer, limit)
    result, _ = judged(
        service, a_declared_limit_is_enforced, QUOTE, rate_limit=facts, fixtures={"cart": {"open": fixture}}
    )
    assert result.outcome is outcome, result
