"""After its Retry-After a limited request is answered: what counts as an answer, and what RATE-7 does not ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.retry_after import observe_retry_after
from conformance.client.fixtures import Fixtures
from conformance.contract import load_contract
from conformance.core.outcomes import Outcome
from conformance.profile.model import Limits
from conformance.profile.resources import Fixture, OperationFacts

QUOTE = load_contract().operations["quotePublicCart"]


async def check(case: Case) -> None:
    """Passes where the last answer is another one than 429."""
    before, after = await observe_retry_after(case, await case.arrange()) or (None, None)
    assert before is not None
    assert after is not None
    if after.status == 429:
        raise case.violation("still limited", before, after)


@pytest.fixture
def asked(judged: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Outcome]:
    """What the check says of a target, whose control is answered before."""

    async def fresh(self: Any, fixture: Any, scope: Any) -> dict[str, str]:
        return {"id": "cart-1"}

    def run(script: Any) -> Outcome:
        monkeypatch.setattr(Fixtures, "get_fresh", fresh)
        outcome: Outcome = judged(
            script,
            check,
            QUOTE,
            limits=Limits(timeout_s=2, patience_s=5),
            fixtures={"cart": {"open": Fixture("cart", "open", python="made.py:cart")}},
            operations={"quotePublicCart": OperationFacts(body={"reason": "x"}, path={"cartId": "{cart.id}"})},
        )[0].outcome
        return outcome

    return run


class Limiter:
    """Answers the control, limits some requests of the burst, and then decides by `later`."""

    def __init__(self, answer: Any, later: Callable[[str, set[str]], bool]) -> None:
        """`later`: whether a key is limited after the burst, by the key and those that were limited."""
        self.answer, self.later = answer, later
        self.limited: set[str] = set()
        self.count = 0

    def __call__(self, arrived: Any) -> Any:
        key = arrived.all("Idempotency-Key")[0]
        self.count += 1
        in_burst = 5 < self.count <= 11
        if in_burst or (self.count > 11 and self.later(key, self.limited)):
            self.limited.add(key)
            return self.answer(429, {"code": "limited"}, Retry_After="0")
        return self.answer(200, {"data": {}})


def test_a_key_that_a_429_used_up_is_no_question_of_retry_after(asked: Any, answer: Any) -> None:
    """The call is answered under another key: the time was true, and the key is IDEM-8's question."""
    assert asked(Limiter(answer, lambda key, limited: key in limited)) is Outcome.PASSED


def test_a_limit_that_outlives_its_retry_after_is_seen_under_every_key(asked: Any, answer: Any) -> None:
    assert asked(Limiter(answer, lambda key, limited: True)) is Outcome.FAILED
