"""Retry-After of a 429, and whether it is true (RATE-7)."""

from __future__ import annotations

import asyncio

from conformance.checks.support.bursts import LIMITED_STATUSES, send_burst
from conformance.checks.support.case import Case
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.client.retry_after import retry_after_s

SLACK_S = 1.0
"""Both forms of the header have a resolution of one second."""
_ATTEMPTS = 4


async def observe_retry_after(case: Case, request: Request) -> tuple[Answer, ...] | None:
    """The last 429 and the answer after its Retry-After, with nothing sent in between; None without a 429, without a
    readable time, or where it exceeds the patience.

    After the first attempt under another key: that a 429 has used one up is IDEM-8's question.
    """
    limited_answer = (await send_burst(case, request)).limited_answer
    delay_s = None if limited_answer is None else retry_after_s(limited_answer)
    if limited_answer is None or delay_s is None or delay_s + SLACK_S > case.profile.limits.patience_s:
        return None
    await asyncio.sleep(delay_s + SLACK_S)
    for attempt in range(_ATTEMPTS):
        repeat = request.with_fresh_key() if attempt and request.key else request
        answer = await case.send(repeat, "after Retry-After", accept_statuses=LIMITED_STATUSES)
        if answer.status != 429:
            break
        await asyncio.sleep(0.05)
    return limited_answer, answer
