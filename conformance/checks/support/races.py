"""Concurrent requests, repeated often enough to find rare races."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from conformance.checks.support.case import Case
from conformance.client.request import Request
from conformance.client.response import Answer

CONCURRENT_CALLS: Final = 10
ROUNDS: Final = 4
"""Each round has nine rivals of the first call: a race lost one time in ten is missed in 0.9 ** 36 of all runs, which
is 2 %."""
_ACCEPTED_STATUSES: Final = frozenset({409, 429, 500, 502, 503, 504})


async def send_together(case: Case, requests: Sequence[Request], purpose: str) -> list[Answer]:
    """The answers to concurrent requests; none is repeated, whatever its status."""
    return list(
        await asyncio.gather(*(case.send(request, purpose, accept_statuses=_ACCEPTED_STATUSES) for request in requests))
    )


def expect_declared(case: Case, answers: Sequence[Answer]) -> None:
    """Violated unless every rival was answered 200, a declared 4xx or 429."""
    for answer in answers:
        if not (answer.ok or (answer.has_declared_status and answer.is_refused) or answer.status == 429):
            raise case.violation("a concurrent rival broke the answer", answer, expected="a declared 4xx")
