"""An order is as stated if any usual collation has it: where nulls stand, and in which language, no profile says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.checks.support.collations import first_decrease, is_ordered

ORDERED: list[list[Any]] = [
    [],
    [None],
    [1, 2, 2, 10],
    ["9", "10"],
    [1, 2, None],
    [9, 10, None],
    [None, None, 1, 2],
    ["B", "a"],
    ["a", "B"],
    ["co-op", "coop"],
    ["item 9", "item 10"],
    ["\u00e4hnlich", "blau"],
    ["\u00e4mber", "Blue", "\u00d6chre", "red", "Zinc"],
    ["a", "z", "\u00e4"],
    ["Hrnek", "Chata"],
    ["Zebra", "Aalborg"],
    ["Saun", "Zebra", "Tool"],
    ["Cukor", "Csirke"],
    ["A_2", "A1"],
    ["Zinc", "\u00c5ngstr\u00f6m"],
    [1, 10**400],
    ["2026-01-02T10:00:00Z", "2026-01-02T10:00:00.5Z", "2026-01-02T10:00:01Z"],
    ["$5.25", "$99.00", "$1,299.00", "$10,000.00"],
    ["9,50 \u20ac", "999,00 \u20ac", "1.299,00 \u20ac"],
    ["Wed, 28 Jan 2026 09:30:00 GMT", "Thu, 29 Jan 2026 16:30:00 GMT", "Mon, 02 Feb 2026 08:00:00 GMT"],
    ["2026-10-25T02:30:00+02:00", "2026-10-25T02:10:00+01:00"],
    ["29.11.2025", "27.01.2026", "05.03.2026"],
    ["1. 2. 26", "30. 1. 27"],
    ["11/29/2026", "01/12/2027"],
    ["11/29/2026, 11:05 AM", "11/29/2026, 12:30 PM", "11/29/2026, 01:10 PM"],
    ["29 Nov 2025", "27 Jan 2026", "5 Mar 2026"],
    ["November 29, 2025", "January 27, 2026"],
    ["PT9M", "PT45M", "PT1H", "P1DT0.5S", "P1W"],
    ["Bowl", "The Cup", "A Dish"],
    ["Cup - small", "Cup (large)", "Cup 2", "Cup of caf\u00e9", "Cup of cafes"],
    ["Cup - 9", "Cup - 10", "Cup (large)"],
    ["Rs. 9,000.00", "Rs. 99,999.00", "Rs. 1,00,000.00", "Rs. 12,00,000.00"],
    ["$999.00/month", "$1,200.00/month"],
    ["0.1234 EUR", "0.5 EUR", "12.25 EUR"],
    ["999.500 KWD", "1,250.000 KWD"],
    ["-$20.00", "$-5.00", "$1.00"],
    ["2025", "2025-03", "2025-03-02", "2026"],
    ["9:30", "10:05", "10:05:30"],
    ["9:30 AM", "12:15 PM", "1:00 PM"],
    ["45:10", "1:05:10"],
    ["999999999", "1767225600"],
    ["P6D", "P1W", "P30D", "P1M", "P12M", "P1Y", "P18M"],
]
"""Ascending, as one service or another sorts."""


@pytest.mark.parametrize("values", ORDERED, ids=repr)
def test_what_a_service_may_call_ascending_is_ordered(values: list[Any]) -> None:
    assert is_ordered(values)
    assert first_decrease(values) is None


@pytest.mark.parametrize(
    ("values", "pair"),
    [
        ([2, 1], (2, 1)),
        (["b", "a"], ("b", "a")),
        ([1, None, 3, 2], (3, 2)),
        (["item 10", "item 9", "item 8"], ("item 9", "item 8")),
        (["\u00e4", "b", "a"], ("b", "a")),
        (["$1,299.00", "$999.00", "$5.00"], ("$999.00", "$5.00")),
        (["09.05.2026", "28.03.2026", "27.01.2026"], ("28.03.2026", "27.01.2026")),
        (["PT45M", "PT9M", "PT8M"], ("PT9M", "PT8M")),
        (["P3M", "P2M", "P1M"], ("P3M", "P2M")),
        (["SKU-9", "SKU-8"], ("SKU-9", "SKU-8")),
        (["Rs. 1,00,000.00", "Rs. 99,999.00", "Rs. 9,000.00"], ("Rs. 99,999.00", "Rs. 9,000.00")),
        (["2026-10", "2026-01", "2025-12"], ("2026-10", "2026-01")),
        (
            ["Mon, 02 Feb 2026 08:00:00 GMT", "Sun, 01 Feb 2026 08:00:00 GMT", "Sat, 31 Jan 2026 08:00:00 GMT"],
            ("Sun, 01 Feb 2026 08:00:00 GMT", "Sat, 31 Jan 2026 08:00:00 GMT"),
        ),
    ],
)
def test_what_no_service_calls_ascending_is_not(values: list[Any], pair: tuple[Any, Any]) -> None:
    """And the first two values that show it are named, in the order that they came in."""
    assert not is_ordered(values)
    assert first_decrease(values) == pair


@given(st.lists(st.integers(-50, 50) | st.none(), min_size=2))
def test_of_numbers_only_the_ascending_are_ordered(values: list[int | None]) -> None:
    """With nulls left out: no service calls the order of their texts ascending."""
    present = [value for value in values if value is not None]
    assert is_ordered(values) == (present == sorted(present))


@pytest.mark.parametrize(
    ("kind", "values", "others"),
    [
        ("numbers", ["9.90", "10.00", "100.50"], ["10.00", "100.50", "9.90"]),
        ("numbers", ["$999.00", None, "$1,299.00"], ["$1,299.00", "$999.00"]),
        ("numbers", ["-20 %", "-5 %", "10 %"], ["-5 %", "-20 %", "10 %"]),
        ("times", ["9:30", "10:05"], ["10:05", "9:30"]),
        ("times", ["2026-10-25T02:30:00+02:00", "2026-10-25T02:10:00+01:00"], ["2026-10-25T02:10:00+01:00",
         "2026-10-25T02:30:00+02:00"]),
    ],
)  # fmt: skip
def test_what_texts_stand_for_decides_where_it_is_stated(kind: str, values: list[Any], others: list[Any]) -> None:
    """Without the statement an order of the texts themselves will do, too."""
    assert is_ordered(values, kind)
    assert not is_ordered(others, kind)
    assert is_ordered(others)
    assert first_decrease(others, kind) in ((others[0], others[1]), (others[-2], others[-1]))
