"""What a 429 says in Retry-After, and whether it is true (RATE-7)."""

from __future__ import annotations

import asyncio
import email.utils

from conformance.checks.support.bursts import TAKEN, send_burst
from conformance.checks.support.case import Case
from conformance.client.request import Request
from conformance.client.response import Answer

SLACK_S = 1.0
"""Both forms of the header know whole seconds only."""
_ATTEMPTS = 4


def stated_s(answer: Answer) -> float | None:
    """The seconds that a Retry-After states, a date by the Date header beside it; None where it cannot be read."""
    text = (answer.header("Retry-After") or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        then, now = (email.utils.parsedate_to_datetime(one) for one in (text, answer.header("Date") or ""))
        return max(0.0, (then - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


async def answered_in_time(case: Case, request: Request) -> tuple[Answer, ...] | None:
    """The last 429 and what came after its Retry-After, with nothing sent in between; None where nothing is to be said:
    no 429, no time that can be read, or one that is too long to be waited for.

    After the first attempt under another key: that a 429 has used one up is IDEM-8's question.
    """
    limited = (await send_burst(case, request)).limited
    stated = None if limited is None else stated_s(limited)
    if limited is None or stated is None or stated + SLACK_S > case.profile.limits.patience_s:
        return None
    await asyncio.sleep(stated + SLACK_S)
    for attempt in range(_ATTEMPTS):
        asked = request.with_fresh_key() if attempt and request.key else request
        answer = await case.send(asked, "after Retry-After", take=TAKEN)
        if answer.status != 429:
            break
        await asyncio.sleep(0.05)
    return limited, answer
