"""When a burst exceeds a declared limit, when it was too slow to tell, and what a Retry-After states."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.checks.support.bursts import (
    Burst,
    continue_through_window,
    exceeds,
    expect_decisive_size,
    send_burst,
    slow_burst_message,
)
from conformance.checks.support.races import without_gateway_trouble
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.client.retry_after import retry_after_s
from conformance.contract import load_contract
from conformance.profile.behavior import RateLimit

REQUEST = Request(load_contract().operations["getPublicRuntimeConfig"])
SLEEP = asyncio.sleep
"""As it is before the fixture of all checks' tests shortens it."""
DATE = "Mon, 23 Nov 2026 04:00:00 GMT"


def answered(status: int, *headers: tuple[str, str]) -> Answer:
    return Answer("x1", REQUEST, "u", (), b"", status, headers)


def burst(passed: int, seconds: float, *, limited: bool = False) -> Burst:
    return Burst(answered(429) if limited else None, answered(200), max(passed, 1), passed, seconds)


@pytest.mark.parametrize(
    ("passed", "seconds", "tolerance", "expected"),
    [
        (120, 1.0, 2.0, True),  # 20 in 2 s: a bucket lets 30 pass in a second, and twice as many are tolerated
        (61, 1.0, 2.0, True),
        (60, 1.0, 2.0, False),
        (60, 1.0, 1.0, True),
        (40, 0.01, 2.0, False),  # where two windows meet
        (120, 10.0, 2.0, False),  # slower than the limit
    ],
)
def test_what_exceeds_a_declared_limit(passed: int, seconds: float, tolerance: float, expected: bool) -> None:
    """Whether a 429 came as well or not."""
    facts = RateLimit(limit=20, window_s=2, tolerance=tolerance)
    assert exceeds(facts, burst(passed, seconds)) is expected
    assert exceeds(facts, burst(passed, seconds, limited=True)) is expected


def test_nothing_exceeds_a_limit_that_nobody_declared() -> None:
    assert not exceeds(RateLimit(), burst(1000, 0.1))
    assert not exceeds(RateLimit(limit=5), burst(1000, 0.1))


def case_with(facts: RateLimit) -> Any:
    return SimpleNamespace(profile=SimpleNamespace(rate_limit=facts))


@pytest.mark.parametrize(
    ("facts", "passed", "seconds", "advice"),
    [
        (RateLimit(limit=100, window_s=10, max_requests=60), 60, 0.5, "max_requests of 241 or more"),
        (RateLimit(limit=100, window_s=1, max_requests=600), 600, 6, "raise limits.concurrency"),
        (RateLimit(limit=100, window_s=1, max_requests=600), 600, 6, "or let rate_limit.prepare set a smaller limit"),
        (RateLimit(limit=5, window_s=1, max_requests=60), 1, 0.01, "too few were answered 200"),
    ],
)
def test_a_slow_burst_says_what_would_make_it_faster(
    facts: RateLimit, passed: int, seconds: float, advice: str
) -> None:
    """The rate that was reached, and only advice that would help."""
    told = slow_burst_message(case_with(facts), burst(passed, seconds))
    assert advice in told
    assert "a second" in told


def test_a_burst_that_was_refused_otherwise_was_not_too_slow() -> None:
    """A limiter that answers another status than 429: the message has it, and no advice about speed."""
    refused = Burst(None, answered(400), 60, 5, 0.01)
    message = slow_burst_message(case_with(RateLimit(limit=5, window_s=1, max_requests=60)), refused)
    assert message.startswith("no 429, and 55 of 60 requests were refused otherwise: 400")


def test_a_refused_burst_below_the_limit_was_too_slow() -> None:
    """Codes and tickets are used up by a burst's first call: the rest is refused, and a slow machine meets no limit."""
    refused = Burst(None, answered(400), 220, 0, 2.7)
    message = slow_burst_message(case_with(RateLimit(limit=100, window_s=1, max_requests=220)), refused)
    assert message.startswith(
        "no 429, but too slow to exceed 100 in 1 s: 0 of 220 requests passed in 2.70 s (81 a second)"
    )
    assert "refused otherwise" not in message


def test_a_burst_that_stays_below_the_limit_is_not_sent() -> None:
    """What would do is said: more than the limit, times the tolerance."""
    facts = RateLimit(limit=5, window_s=1, run_limit=600, run_window_s=60, max_requests=600)
    with pytest.raises(Inconclusive, match="max_requests of 1201 or more"):
        expect_decisive_size(facts.for_the_run)
    expect_decisive_size(facts)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (RateLimit(), None),
        (RateLimit(run_limit=9, run_window_s=60), None),
        (RateLimit(recovery_s=10, run_limit=9, run_window_s=60), 60),
        (RateLimit(recovery_s=10, run_limit=9, run_window_s=1), 10),
    ],
)
def test_the_longest_recovery_is_that_of_both_limits(facts: RateLimit, expected: float | None) -> None:
    """A window of the run may outlive the stated recovery, which is that of the other limit."""
    assert facts.longest_recovery_s == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((("Retry-After", "7"),), 7),
        ((("Retry-After", "Mon, 23 Nov 2026 04:00:09 GMT"), ("Date", DATE)), 9),
        ((("Retry-After", "Mon, 23 Nov 2026 03:00:00 GMT"), ("Date", DATE)), 0),
        ((("Retry-After", "Mon, 23 Nov 2026 04:00:09 GMT"),), None),
        ((("Retry-After", "soon"), ("Date", DATE)), None),
        ((), None),
    ],
)
def test_what_a_retry_after_states(headers: tuple[tuple[str, str], ...], expected: float | None) -> None:
    """A date by the target's own clock; without that, nothing."""
    assert retry_after_s(answered(429, *headers)) == expected


class Limiter:
    """A target whose fixed window lets `limit` requests pass; `case` sends to it."""

    def __init__(self, limit: int, window_s: float, facts: RateLimit) -> None:
        self.limit, self.window_s = limit, window_s
        self.start, self.window, self.count = time.monotonic(), 0, 0
        settings = SimpleNamespace(concurrency=10)
        self.case: Any = SimpleNamespace(
            profile=SimpleNamespace(rate_limit=facts), runtime=SimpleNamespace(settings=settings), send=self.send
        )

    async def send(self, request: Request, *_: Any, **__: Any) -> Answer:
        at = time.monotonic() - self.start
        if (window := int(at / self.window_s)) != self.window:
            self.window, self.count = window, 0
        self.count += 1
        return Answer("x1", request, "u", (), b"", 200 if self.count <= self.limit else 429, at=at)

    def observe(self) -> Burst:
        async def bursts() -> Burst:
            return await continue_through_window(self.case, REQUEST, await send_burst(self.case, REQUEST))

        return asyncio.run(bursts())


@pytest.fixture
def real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio, "sleep", SLEEP)


@pytest.mark.usefixtures("real_time")
def test_a_window_that_ends_too_early_exceeds_the_limit() -> None:
    """The requests of the whole window count; what passes after 429s shows that the limit has recovered."""
    facts = RateLimit(limit=5, window_s=0.2, max_requests=40)
    early = Limiter(5, 0.02, facts).observe()
    assert early.request_count == 30 and exceeds(facts, early)
    assert early.limited_answer is not None
    assert early.recovery is not None and early.recovery.status == 200


@pytest.mark.usefixtures("real_time")
def test_a_window_that_lasts_shows_no_recovery() -> None:
    """A window of at least the stated length, seen from its beginning to its end."""
    facts = RateLimit(limit=5, window_s=0.2, max_requests=40)
    burst = Limiter(5, 60, facts).observe()
    assert (burst.successes, burst.recovery) == (5, None)
    assert burst.seconds >= 0.19
    assert not exceeds(facts, burst)


@pytest.mark.usefixtures("real_time")
def test_a_burst_that_exceeds_the_limit_by_itself_is_not_measured_with_its_window() -> None:
    """In the time of the window as many might have passed: three times the limit at once would be no excess."""
    facts = RateLimit(limit=5, window_s=0.2, max_requests=40)
    burst = Limiter(15, 60, facts).observe()
    assert burst.successes == 15 and burst.seconds < 0.1
    assert exceeds(facts, burst)


@pytest.mark.parametrize(("troubles", "remaining"), [(0, 10), (1, 9), (3, 7), (4, 10), (10, 10)])
def test_a_gateways_trouble_in_a_burst_says_nothing_unless_it_is_frequent(troubles: int, remaining: int) -> None:
    """One of a hundred answers of a gateway is lost; where many are, the calls are the reason."""
    answers = [answered(502)] * troubles + [answered(200)] * (10 - troubles)
    assert len(without_gateway_trouble(answers)) == remaining
