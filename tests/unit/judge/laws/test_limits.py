"""Rate limits: what a 429 says of its end, and whether it is true."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.model import Exchange, Message
from conformance.core.outcomes import Outcome
from tests.support.recorded_traffic import exchange, facts, outcome


def answered(at: float, status: int, retry_after: str | None = None, **changes: Any) -> Exchange:
    headers = (("Date", "now"),) + ((("Retry-After", retry_after),) if retry_after is not None else ())
    return exchange(at=at, status=status, response=Message(headers, "{}", 2), **changes)


@pytest.mark.parametrize(
    ("retry_after", "is_stated", "expected"),
    [
        ("2", True, Outcome.PASSED),
        (None, True, Outcome.FAILED),
        ("2", False, Outcome.FAILED),
        (None, False, Outcome.PASSED),
        (None, None, Outcome.UNSTATED),
    ],
)
def test_a_limit_has_the_header_as_stated(retry_after: str | None, is_stated: bool | None, expected: Outcome) -> None:
    """RATE-7: a 429 with Retry-After or without it; nothing is judged without the profile's word."""
    assert outcome("RATE-7", answered(0, 429, retry_after), stated=facts(retry_after=is_stated)) is expected


def test_headers_that_were_not_recorded_decide_nothing() -> None:
    """RATE-7: some recorders keep no headers."""
    assert outcome("RATE-7", exchange(status=429), stated=facts(retry_after=True)) is Outcome.UNTESTED


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (answered(3.5, 429, "2"), Outcome.FAILED),
        (answered(3.5, 200), Outcome.PASSED),
        (answered(2.5, 429, "2"), Outcome.PASSED),
        (answered(3.5, 429, "2", credential="spare"), Outcome.PASSED),
    ],
)
def test_a_limit_lasts_as_its_header_says(second: Exchange, expected: Outcome) -> None:
    """RATE-7: limited again after the time in the header and the second that is its resolution.

    A single 429 among other answers, before or after that time, shows no limit: it may shed load at random.
    """
    stated = facts(retry_after=True, is_all_traffic=True)
    before, first, last = answered(-0.5, 429, "2"), answered(0, 429, "2"), answered(second.at + 0.1, 429, "2")
    assert outcome("RATE-7", before, first, second, last, stated=stated) is expected
    for alone in ((first, second, last), (before, first, second), (first, second)):
        assert outcome("RATE-7", *alone, stated=stated) is Outcome.PASSED


def test_other_requests_and_other_recordings_decide_nothing() -> None:
    """RATE-7: a request in between may have begun the time anew, and so may one that was not recorded; so a date."""
    stated = facts(retry_after=True, is_all_traffic=True)
    first, again, between = answered(0, 429, "2"), answered(3.5, 429, "2"), exchange(at=1, credential="spare")
    assert outcome("RATE-7", first, between, again, stated=stated) is Outcome.PASSED
    assert outcome("RATE-7", first, again, stated=facts(retry_after=True)) is Outcome.PASSED
    dated = answered(0, 429, "Tue, 15 Nov 2022 08:12:31 GMT")
    assert outcome("RATE-7", dated, again, stated=stated) is Outcome.PASSED
