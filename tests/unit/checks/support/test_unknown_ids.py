"""What a made-up id may name, and what it cannot."""

from __future__ import annotations

import pytest

from conformance.checks.support.unknown_ids import (
    has_number_alone,
    is_distinctive,
    may_be_read_in_part,
    may_exist,
    unknown_id_like,
)


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


@pytest.mark.parametrize(
    "known", ["1001", "ORD-1001", "2026-000017", "24-1001", "S1-1001", "#3/1001", "20260517-0017", "2026-05-17-R0017"]
)
def test_installations_may_number_their_own_objects_so(known: str) -> None:
    assert not is_distinctive(known)


@pytest.mark.parametrize(
    "known", ["cart_74fb80357788498e6041", "302-1234567-1234567", "0d9c1a7e-5b1f-4c3e-9d21-abcdefabcdef", "a8c6-77f0"]
)
def test_no_two_installations_have_one_id_of_this_form(known: str) -> None:
    assert is_distinctive(known)


@pytest.mark.parametrize(("known", "expected"), [("17", True), ("17-summer-cart", True), ("acme", False)])
def test_of_a_number_with_a_title_the_number_may_be_read(known: str, expected: bool) -> None:
    assert has_number_alone(known) is expected


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ("17-summer-cart", True),
        ("cart-A8C6-groen", True),
        ("ord_20f1_red_shoes", True),
        ("cart-A8C6-summer-sale-2024", True),
        ("ord-1001-2024", False),
        ("Y2FydA==", True),
        ("cart_74fb80357788498e6041", False),
        ("0d9c1a7e-5b1f-4c3e-9d21-abcdefabcdef", False),
        ("ord-a1-cafe", False),
        ("acme-shoes", False),
    ],
)
def test_a_code_may_be_read_without_the_words_behind_it(known: str, expected: bool) -> None:
    """Groups of hexadecimal digits are no words."""
    assert may_be_read_in_part(known) is expected


def test_an_unknown_id_like_one_with_a_title_is_another_code() -> None:
    assert unknown_id_like("cart-A8C6-zomerjurk").endswith("-zomerjurk")
    assert unknown_id_like("cart-A8C6-zomerjurk") != "cart-A8C6-zomerjurk"
    assert unknown_id_like("cart-A8C6-sale-2024").endswith("-sale-2024")


@pytest.mark.parametrize("known", ["3c", "dd", "Zq7", "c8", "a", "kcxb1"])
def test_an_unknown_id_like_a_short_one_is_longer(known: str) -> None:
    """Of two characters there are few ids, most of which some resource has: any other one may exist."""
    made_up = unknown_id_like(known)
    assert made_up.startswith(known) and len(made_up) > len(known) + 8
    assert made_up != unknown_id_like(known)
    assert made_up[-1].isdigit() == known[-1].isdigit()


@pytest.mark.parametrize("known", ["c0ffee-0a1b", "ORD-100001", "wh_3ad22d2a665e"])
def test_an_unknown_id_like_a_long_one_has_its_form(known: str) -> None:
    """It differs at its end, each character within its class."""
    made_up = unknown_id_like(known)
    assert made_up != known and len(made_up) == len(known)
    assert [c.isalnum() for c in made_up] == [c.isalnum() for c in known]
