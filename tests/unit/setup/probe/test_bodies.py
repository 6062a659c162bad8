"""The bisection of usual limits."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from conformance.setup.probe.bodies import first_refused

LIMITS = (10, 20, 50, 100, 200, 500)


@given(st.integers(1, 600))
def test_the_first_refused_limit_is_found_in_few_requests(bound: int) -> None:
    asked: list[int] = []

    async def is_refused(limit: int) -> bool:
        asked.append(limit)
        return limit >= bound

    expected = next((limit for limit in LIMITS if limit >= bound), None)
    assert asyncio.run(first_refused(LIMITS, is_refused)) == expected
    assert len(asked) <= 3
