"""The order that a value of sort means."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.setup.probe.sorts import order_of

ITEMS = [{"id": f"p{n:02}", "title": f"Lamp {n:02}", "price": {"amount": 90 - n, "currency": "EUR"}} for n in range(9)]


@pytest.mark.parametrize(
    ("sort", "items", "order"),
    [
        ("name", ITEMS, {"by": "/title"}),
        ("titleDesc", ITEMS[::-1], {"by": "/title", "order": "descending"}),
        ("price_desc", ITEMS, {"by": "/price/amount", "order": "descending"}),
        ("-price", ITEMS, {"by": "/price/amount", "order": "descending"}),
        ("cheapest-first", ITEMS[::-1], {"by": "/price/amount"}),
        ("cost", [{"cost": f"{9 + n}.50"} for n in range(9)], {"by": "/cost", "values": "numbers"}),
        ("cost", [{"cost": f"{1 + n}.50"} for n in range(9)], {"by": "/cost"}),
        ("relevance", ITEMS, {}),
        ("newest", ITEMS, None),
        ("price", [*ITEMS[4:], *ITEMS[:4]], None),
        ("name", ITEMS[:5], None),
        ("name", [], None),
    ],
)
def test_an_order_is_certain_by_its_name_and_by_the_items(
    sort: str, items: list[dict[str, Any]], order: dict[str, str] | None
) -> None:
    """Items that happen to be in the order of their ids say nothing of relevance."""
    assert order_of(sort, items) == order


def test_two_members_of_one_name_leave_it_open() -> None:
    items = [{**item, "label": item["title"]} for item in ITEMS]
    assert order_of("name", items) is None
