"""What a made-up id may name, and what it cannot."""

from __future__ import annotations

import pytest

from conformance.checks.support.unknown_ids import has_number_alone, may_exist


@pytest.mark.parametrize(
    ("made_up", "known", "expected"),
    [
        ("1", "17", True),
        ("１2", "17", True),
        ("12abc", "17", True),
        (" 5", "17", True),
        ("-3x", "1001", True),
        ("1234567890", "17", False),
        ("longer-than-any", "17", False),
        ("c8", "c7", True),
        ("C0FFEE-0A1B-X", "c0ffee-0a1b", True),
        ("1", "c0ffee-0a1b-77aa", False),
        ("abcdefgh", "ORD-1001", True),
        ("abcdefghi", "ORD-1001", False),
    ],
)
def test_a_short_id_or_a_number_may_exist(made_up: str, known: str, expected: bool) -> None:
    assert may_exist(made_up, known) is expected


@pytest.mark.parametrize(("known", "expected"), [("17", True), ("17-summer-cart", True), ("acme", False)])
def test_of_a_number_with_a_title_the_number_may_be_read(known: str, expected: bool) -> None:
    assert has_number_alone(known) is expected
