"""Bursts of requests for one operation, and how many requests a limit allows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import GATEWAY, Answer
from conformance.profile.behavior import RateLimit

LIMITED_STATUSES = GATEWAY | {429}
SMALL = 10
"""A limit below this is exceeded by the first requests of a burst."""
_LONGEST_WINDOW_S = 5.0
_CACHE_HEADERS = ("Cache-Status", "X-Cache", "X-Cache-Status", "CF-Cache-Status")
_HIT = re.compile(r"\bhit\b", re.IGNORECASE)
_WINDOW_LIMITS = 4
"""In one window, after a burst, at most this many times the limit is sent: enough to exceed it twice over."""

_ALMOST_ALL: Final = 0.8


class Burst(msgspec.Struct, frozen=True):
    """The result of a burst. A request has passed if it was answered 200, and not by a cache."""

    limited_answer: Answer | None
    """One of the 429s, if there was any."""
    last: Answer
    request_count: int
    successes: int
    seconds: float
    """From the first request to the last answer."""
    start: float = 0.0
    """When the first request was sent, in seconds of the run."""
    recovery: Answer | None = None
    """A request that passed later in the window, after 429s."""
    cached: int = 0
    """Those answered 200 by a cache: a limit behind it does not count them."""

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.request_count / max(self.seconds, 1e-6)

    @property
    def is_almost_all(self) -> bool:
        """Whether almost all of its requests passed, so that its 429s are no limit that is in force."""
        return self.successes > _ALMOST_ALL * self.request_count

    @property
    def measure(self) -> str:
        """For a message."""
        rate = f"{self.rate:.0f} a second"
        return f"{self.successes} of {self.request_count} requests passed in {self.seconds:.2f} s ({rate})"


def is_small(limit: int | None) -> bool:
    """Whether the first requests of a burst exceed the limit. A greater or undeclared limit is reached only if nothing
    else is sent at the same time."""
    return limit is not None and 0 < limit < SMALL


def batch_size(case: Case, limit: int | None) -> int:
    """The number of requests of a burst that are sent concurrently."""
    concurrency = case.runtime.settings.concurrency
    return SMALL if is_small(limit) else max(SMALL, concurrency)


async def send_burst(
    case: Case,
    request: Request,
    facts: RateLimit | None = None,
    *,
    fresh_keys: bool = False,
) -> Burst:
    """Sends up to `rate_limit.max_requests` requests until the limit is in force: of the profile, or of `facts`.

    A single 429 among requests that pass shows a limit of another kind, such as one that counts by node or sheds load.

    Raises a violation where most of the first answers are gateway errors instead, and the next one alone is too.
    """
    answers: list[Answer] = []
    facts = facts or case.profile.rate_limit
    remaining, batch = facts.max_requests, batch_size(case, facts.limit)
    while remaining > 0:
        count = min(batch, remaining)
        requests = [request.with_fresh_key() if fresh_keys else request for _ in range(count)]
        batch_answers = await asyncio.gather(
            *(case.send(item, "burst", accept_statuses=LIMITED_STATUSES) for item in requests)
        )
        remaining -= count
        answers += [answer.without_body if answer.status == 200 else answer for answer in batch_answers]
        if _is_in_force(batch_answers):
            break
        gateway_errors = [answer for answer in batch_answers if answer.status in GATEWAY]
        if len(answers) == count and len(gateway_errors) > count // 2:
            await _expect_trouble_alone(case, request)
            raise case.violation(
                "a limited request was answered as by a broken gateway", gateway_errors[-1], expected="429"
            )
    return measure(answers)


async def _expect_trouble_alone(case: Case, request: Request) -> None:
    """Inconclusive where one request alone is answered just after the burst: the gateway takes fewer at once."""
    lone_answer = await case.send(request, "after the burst, alone", accept_statuses=LIMITED_STATUSES)
    if lone_answer.status not in GATEWAY:
        message = "a burst was answered as by a broken gateway, and the next request was not: lower limits.concurrency"
        raise Inconclusive(f"{message}, or --concurrency", lone_answer, cause="rate limit")


async def continue_through_window(case: Case, request: Request, burst: Burst, facts: RateLimit | None = None) -> Burst:
    """The burst with more requests for the length of a short window, evenly spaced: the window may end too early.

    A burst of which more passed than the limit allows stays alone: in the time of the window as many might have passed.
    """
    facts = facts or case.profile.rate_limit
    if exceeds(facts, burst):
        return burst
    if not (facts.limit and facts.window_s and facts.window_s <= _LONGEST_WINDOW_S):
        return burst
    count = min(facts.max_requests - burst.request_count, _WINDOW_LIMITS * facts.limit)
    if count <= 0:
        return burst
    answers = await _send_evenly(case, request, count, facts.window_s)
    later = measure(answers)
    return Burst(
        limited_answer=burst.limited_answer or later.limited_answer,
        last=later.last,
        request_count=burst.request_count + later.request_count,
        successes=burst.successes + later.successes,
        seconds=later.start + later.seconds - burst.start,
        start=burst.start,
        recovery=next(filter(_is_success, answers), None) if burst.limited_answer else None,
        cached=burst.cached + later.cached,
    )


async def _send_evenly(case: Case, request: Request, count: int, seconds: float) -> list[Answer]:
    async def send_after(pause_s: float) -> Answer:
        await asyncio.sleep(pause_s)
        return await case.send(request, "through the window", accept_statuses=LIMITED_STATUSES)

    answers = await asyncio.gather(*(send_after(seconds * number / count) for number in range(1, count + 1)))
    return [answer.without_body if answer.status == 200 else answer for answer in answers]


def _is_in_force(answers: Sequence[Answer]) -> bool:
    """Whether half of the answers are 429, or both that were sent last."""
    limited = [answer.status == 429 for answer in sorted(answers, key=lambda answer: answer.at)]
    return 2 * sum(limited) >= len(limited) or all(limited[-2:])


def measure(answers: Sequence[Answer]) -> Burst:
    """What answers to requests that were sent together show."""
    start = min(answer.at for answer in answers)
    end = max(answer.at + answer.duration_s for answer in answers)
    return Burst(
        limited_answer=next((answer for answer in answers if answer.status == 429), None),
        last=max(answers, key=lambda answer: answer.at),
        request_count=len(answers),
        successes=sum(map(_is_success, answers)),
        seconds=end - start,
        start=start,
        cached=sum(answer.ok and is_from_cache(answer) for answer in answers),
    )


def _is_success(answer: Answer) -> bool:
    return answer.ok and not is_from_cache(answer)


def is_from_cache(answer: Answer) -> bool:
    """Whether a cache answered in place of the target: by Age (RFC 9111), Cache-Status (RFC 9211), or usual others."""
    return bool(answer.header("Age")) or any(_HIT.search(answer.header(name) or "") for name in _CACHE_HEADERS)


def max_allowed(facts: RateLimit, seconds: float) -> float:
    """The number of requests that may pass in a time, with the refill of a token bucket and the stated tolerance."""
    assert facts.limit is not None and facts.window_s
    return (facts.limit + facts.limit / facts.window_s * seconds) * facts.tolerance


def exceeds(facts: RateLimit, burst: Burst) -> bool:
    """Whether more requests passed than the declared limit allows. False where none is declared."""
    if facts.limit is None or not facts.window_s:
        return False
    return burst.successes > max_allowed(facts, burst.seconds)


def expect_decisive_size(facts: RateLimit) -> None:
    """Inconclusive where the largest burst stays below the limit: it is not sent."""
    assert facts.limit is not None and facts.window_s
    if facts.max_requests <= facts.limit:
        needed = int(facts.limit * facts.tolerance) + 1
        message = f"a burst of {facts.max_requests} requests stays below {facts.limit} in {facts.window_s:g} s"
        advice = f"rate_limit.max_requests of {needed} or more would do, if they are sent at once"
        raise Inconclusive(f"{message}: {advice}", cause="rate limit")


def refused_otherwise(burst: Burst) -> str | None:
    """A message about a burst most of which was answered neither 200 nor 429; None for any other."""
    if burst.successes >= burst.request_count / 2 or burst.last.ok:
        return None
    refused = burst.request_count - burst.successes
    return f"no 429, and {refused} of {burst.request_count} requests were refused otherwise: {burst.last.summary}"


def slow_burst_message(case: Case, burst: Burst, facts: RateLimit | None = None) -> str:
    """Why a burst without a 429 proves nothing, and how to make it faster."""
    facts = facts or case.profile.rate_limit
    assert facts.limit is not None and facts.window_s
    if burst.cached:
        return f"no 429, but a cache answered {burst.cached} of {burst.request_count} requests in place of the target"
    is_below_limit = burst.rate * facts.window_s <= facts.limit  # a second burst of one call, with new keys, is refused
    if (other := refused_otherwise(burst)) is not None and not is_below_limit:
        return other
    message = f"no 429, but too slow to exceed {facts.limit} in {facts.window_s:g} s: {burst.measure}"
    min_rate = facts.limit * facts.tolerance / facts.window_s
    if (needed := requests_needed(facts, burst.rate)) is not None:
        if facts.max_requests < needed:
            return f"{message}; rate_limit.max_requests of {needed} or more would do at that rate"
        return f"{message}; too few were answered 200 to tell"
    message = f"{message}; more than {min_rate:.0f} a second are needed: raise limits.concurrency, or --concurrency"
    return message if facts.prepare else f"{message}, or let rate_limit.prepare set a smaller limit"


def requests_needed(facts: RateLimit, rate: float) -> int | None:
    """How many requests of a burst at this rate exceed the declared limit; None where that rate hardly does."""
    assert facts.limit is not None and facts.window_s
    min_rate = facts.limit * facts.tolerance / facts.window_s
    return int(facts.limit * facts.tolerance / (1 - min_rate / rate)) + 1 if rate > 1.1 * min_rate else None
