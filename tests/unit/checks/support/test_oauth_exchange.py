"""Seconds in an answer: numbers, or digits as a text, of any size."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from conformance.checks.support.oauth_exchange import seconds_of


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(600, 600.0), (600.0, 600.0), ("600", 600.0), (10**400, inf), ("9" * 5000, inf), (-(10**400), -inf)],
)
def test_a_number_of_seconds_is_read(value: Any, seconds: float) -> None:
    """One that no float holds is infinite, and no error of the suite."""
    assert seconds_of(value) == seconds


@pytest.mark.parametrize("value", [None, True, "", "ten", "6e2", "\u0666", [600], {"s": 600}])
def test_anything_else_is_none(value: Any) -> None:
    assert seconds_of(value) is None
