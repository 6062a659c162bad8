"""A burst of requests that are arranged one by one: on some operations only one call on a resource can succeed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from conformance.checks.support.bursts import LIMITED_STATUSES, Burst, batch_size, exceeds, measure, requests_needed
from conformance.checks.support.case import Case
from conformance.checks.support.provocation import FAILURES, Preparation, with_spare_credential
from conformance.checks.support.separate_counts import BY_CALLER
from conformance.client.request import Request
from conformance.client.response import Answer

_MOST: Final = 100
"""Each request may need the creation of a resource."""
_MARGIN: Final = 1.5
"""Over the number that is needed at the rate of the burst before: this one may be slower."""


async def send_separate_burst(prep: Preparation, burst: Burst) -> Burst:
    """Where a burst with new keys was mostly refused and met no 429, one of requests that may all succeed, if it shows
    more: a 429, or more that passed than the limit allows."""
    count = _count(prep, burst)
    if not count:
        return burst
    case = prep.case
    try:
        arranged = await asyncio.gather(*(case.arrange() for _ in range(count)))
        requests = [with_spare_credential(case, request) for request in arranged]
        separate_burst = measure(await _send_in_batches(case, requests))
    except FAILURES:  # nothing can be created, as after other bursts of the same limit
        return burst
    is_decisive = separate_burst.limited_answer or exceeds(case.profile.rate_limit, separate_burst)
    return separate_burst if is_decisive else burst


async def _send_in_batches(case: Case, requests: Sequence[Request]) -> list[Answer]:
    """Like a burst: a limiter that counts what was answered takes those at the same time together."""
    answers: list[Answer] = []
    size = batch_size(case, case.profile.rate_limit.limit)
    while len(answers) < len(requests) and not any(answer.status == 429 for answer in answers):
        batch = requests[len(answers) : len(answers) + size]
        found = await asyncio.gather(
            *(case.send(request, "burst, each on its own", accept_statuses=LIMITED_STATUSES) for request in batch)
        )
        answers += [answer.without_body if answer.status == 200 else answer for answer in found]
    return answers


def _count(prep: Preparation, burst: Burst) -> int:
    """The number of requests to arrange; 0 where they would decide nothing, or their fixtures are a finite list or made
    by the target's own operations, which are limited too.

    Unless it is stated what is counted separately, each resource may be.
    """
    facts, operation = prep.case.profile.rate_limit, prep.case.operation
    if burst.limited_answer is not None or 2 * burst.successes >= burst.request_count:
        return 0
    if any(fixture.values or fixture.call or fixture.origin for fixture in prep.case.named_fixtures):
        return 0
    is_counted = bool(facts.per) and (operation.auth == "api_key" or facts.per not in BY_CALLER)
    if not (is_counted and facts.limit and facts.window_s):
        return 0
    needed, most = requests_needed(facts, burst.rate), min(facts.max_requests, _MOST)
    return 0 if needed is None or needed > most else min(most, int(needed * _MARGIN))
