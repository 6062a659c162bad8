"""A burst of requests for one operation, measured: how many passed in how much time, and how many a limit allows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.checks.support.case import Case
from conformance.client.request import Request
from conformance.client.response import GATEWAY, Answer
from conformance.profile.model import RateLimit

TAKEN = GATEWAY | {429}
SMALL = 10
"""A limit below this is exceeded by the first requests of a burst."""


@dataclass(frozen=True)
class Burst:
    """What a burst met. Only what was answered 200, and by no cache, is known to have passed."""

    limited: Answer | None
    """One of the 429s, if any was met."""
    last: Answer
    sent: int
    passed: int
    seconds: float
    """From the first request to the last answer."""

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.sent / max(self.seconds, 1e-6)

    @property
    def measure(self) -> str:
        """For a message."""
        return f"{self.passed} of {self.sent} requests passed in {self.seconds:.2f} s ({self.rate:.0f} a second)"


def is_small(limit: int | None) -> bool:
    """Whether the first requests of a burst exceed the limit: a greater one, or one that nobody declared, is met by an
    operation only where nothing else is sent meanwhile."""
    return limit is not None and 0 < limit < SMALL


def at_once(case: Case) -> int:
    """How many requests of a burst are sent together."""
    concurrency = case.runtime.settings.concurrency
    return SMALL if is_small(case.profile.rate_limit.limit) else max(SMALL, concurrency)


async def send_burst(case: Case, request: Request, *, fresh_keys: bool = False) -> Burst:
    """Sends up to `rate_limit.max_requests` until some are answered 429.

    Raises a violation where most of the first ones are answered as by a broken gateway instead.
    """
    answers: list[Answer] = []
    left, together = case.profile.rate_limit.max_requests, at_once(case)
    while left > 0:
        now = min(together, left)
        requests = [request.with_fresh_key() if fresh_keys else request for _ in range(now)]
        some = await asyncio.gather(*(case.send(one, "burst", take=TAKEN) for one in requests))
        left -= now
        answers += [answer.slim if answer.status == 200 else answer for answer in some]
        if any(answer.status == 429 for answer in some):
            break
        refused = [answer for answer in some if answer.status in GATEWAY]
        if len(answers) == now and len(refused) > now // 2:
            raise case.violated("a limited request was answered as by a broken gateway", refused[-1], expected="429")
    return _measured(answers)


def _measured(answers: Sequence[Answer]) -> Burst:
    begun = min(answer.at for answer in answers)
    ended = max(answer.at + answer.duration_s for answer in answers)
    return Burst(
        limited=next((answer for answer in answers if answer.status == 429), None),
        last=max(answers, key=lambda answer: answer.at),
        sent=len(answers),
        passed=sum(answer.ok and not answer.header("Age") for answer in answers),
        seconds=ended - begun,
    )


def most_allowed(facts: RateLimit, seconds: float) -> float:
    """How many requests may pass in a time, with what a token bucket refills meanwhile, under the stated tolerance."""
    assert facts.limit is not None and facts.window_s
    return (facts.limit + facts.limit / facts.window_s * seconds) * facts.tolerance


def exceeds(facts: RateLimit, burst: Burst) -> bool:
    """Whether more passed than a declared limit allows. False where none is declared."""
    if facts.limit is None or not facts.window_s:
        return False
    return burst.passed > most_allowed(facts, burst.seconds)


def too_slow(case: Case, burst: Burst) -> str:
    """Why a burst that met no 429 proves nothing, and what would make it faster."""
    facts, limits = case.profile.rate_limit, case.profile.limits
    assert facts.limit is not None and facts.window_s
    told = f"no 429, but too slow to exceed {facts.limit} in {facts.window_s:g} s: {burst.measure}"
    least = facts.limit * facts.tolerance / facts.window_s
    if burst.rate > 1.1 * least:
        needed = int(facts.limit * facts.tolerance / (1 - least / burst.rate)) + 1
        if facts.max_requests < needed:
            return f"{told}; rate_limit.max_requests of {needed} or more would do at that rate"
        return f"{told}; too few were answered 200 to tell"
    if limits.rate is not None and limits.rate <= 1.1 * least:
        return f"{told}; limits.rate would have to be above {least:.0f}, or absent"
    return f"{told}; more than {least:.0f} a second are needed: raise limits.concurrency, or --concurrency"
