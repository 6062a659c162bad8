"""Pauses of unknown need: they grow, and end with the patience."""

from __future__ import annotations

import pytest

from conformance.client.pauses import growing_pauses_s


@pytest.mark.parametrize(
    ("longest_s", "expected"), [(60.2, [5, 10, 20, 25.2]), (5.1, [5]), (3, [3]), (0, [0])], ids=str
)
def test_pauses_grow_up_to_the_longest(longest_s: float, expected: list[float]) -> None:
    assert growing_pauses_s(5, longest_s) == pytest.approx(expected)
