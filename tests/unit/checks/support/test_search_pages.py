"""The value of an item at a place, as a filter has it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.support.search_pages import suits


@pytest.mark.parametrize(
    ("item", "is_suitable"),
    [
        ({"a": {"b": "x"}}, True),
        ({"a": {"b": ["y", "x"]}}, True),
        ({"a": {"b": "xx"}}, False),
        ({"a": {"b": ["y"]}}, False),
        ({"a": {}}, False),
        ({"a": {"b": None}}, False),
    ],
)
def test_an_item_suits_a_filter_by_its_value(item: Any, is_suitable: bool) -> None:
    """It has the value alone or in a list."""
    assert suits(item, "/a/b", "x") is is_suitable


def test_an_id_that_is_a_number_is_filtered_by_its_text() -> None:
    assert suits({"category": 12}, "/category", "12")
    assert suits({"category": [7, 12]}, "/category", "12")
    assert not suits({"category": 121}, "/category", "12")
    assert not suits({"category": True}, "/category", "True")
