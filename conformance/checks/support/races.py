"""Several requests at once, often enough that a race which is seldom lost is found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from conformance.checks.support.case import Case
from conformance.client.request import Request
from conformance.client.response import Answer

AT_ONCE: Final = 10
ROUNDS: Final = 4
"""Nine come after the first in every round: a race that each of them loses one time in ten is missed in 0.9 ** 36 of
all runs, which is 2 %."""
_ANY: Final = frozenset({409, 429, 500, 502, 503, 504})


async def together(case: Case, requests: Sequence[Request], purpose: str) -> list[Answer]:
    """The answers to requests that are all under way at once; none of them is repeated, whatever its status."""
    return list(await asyncio.gather(*(case.send(request, purpose, take=_ANY) for request in requests)))


def expect_declared(case: Case, answers: Sequence[Answer]) -> None:
    """Violated unless every rival was answered 200, a declared 4xx or 429."""
    for answer in answers:
        if not (answer.ok or (answer.declared and answer.refused) or answer.status == 429):
            raise case.violated("a rival at once broke the answer", answer, expected="a declared 4xx")
