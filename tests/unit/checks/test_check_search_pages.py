"""Pages and cursors are followed soundly and in few requests: pages may be empty, a catalogue large (SRCH-9)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from conformance.checks.check_search_pages import (
    a_filtered_whole_holds_every_item_of_its_value,
    cursors_lead_through_the_same_items,
    the_order_is_the_same_again,
)
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Search
from tests.support.check_runs import CONTRACT

SEARCH = CONTRACT.operations["searchPublicProducts"]
QUERY = {"q": "a", "locale": "en", "market": "US", "sort": "name", "page": 1, "pageSize": 2}
STATED = Search(
    query=QUERY, page_base=1, page_size_min=1, page_size_max=20, stable_sort=True, item_id="/id",
    item_category="/category", category="shoes", cursor="/meta/next", cursor_parameter="page[after]",
)  # fmt: skip
MOST = {"whole": 9, "filtered": 6}
Next = Callable[[int, int, int], Any]
"""(next position, page size, number of items) -> the cursor."""


def looks_ahead(position: int, _size: int, total: int) -> Any:
    return f"+/={position}" if position < total else None


def needs_an_empty_page(position: int, size: int, total: int) -> Any:
    return position if position < total + size else ""


def has_no_end(position: int, _size: int, _total: int) -> Any:
    return position


def is_a_truth_value(position: int, _size: int, total: int) -> Any:
    return position < total


def is_an_object(position: int, _size: int, total: int) -> Any:
    return {"from": position} if position < total else None


def is_missing(_position: int, _size: int, _total: int) -> Any:
    return None


def stays(_position: int, size: int, _total: int) -> Any:
    return size


def service(answer: Callable[..., bytes], total: int, cursor: Next) -> Callable[[Any], bytes]:
    """A service with a number of items, a third of which the filter finds."""
    catalogue = [{"id": f"p{number:03}", "category": ("shoes", "mugs", "lamps")[number % 3]} for number in range(total)]

    def script(arrived: Any) -> bytes:
        query = {name: values[0] for name, values in parse_qs(urlsplit(arrived.target).query).items()}
        items = [item for item in catalogue if query.get("category", item["category"]) == item["category"]]
        size = int(query["pageSize"])
        by_cursor = query.get("page[after]", "").removeprefix("+/=")
        start = int(by_cursor) if by_cursor else (int(query["page"]) - 1) * size
        meta = {"next": cursor(start + size, size, len(items))}
        return answer(200, {"data": items[start : start + size], "meta": meta})

    return script


@pytest.mark.parametrize(
    ("outcome", "kind", "total", "cursor"),
    [
        *((Outcome.PASSED, kind, total, looks_ahead) for kind in MOST for total in (12, 61, 500)),
        *((Outcome.PASSED, kind, total, needs_an_empty_page) for kind in MOST for total in (12, 60)),
        *((Outcome.FAILED, kind, 60, has_no_end) for kind in MOST),
        *((Outcome.FAILED, "whole", 60, cursor) for cursor in (is_a_truth_value, is_an_object, is_missing, stays)),
        (Outcome.INCONCLUSIVE, "whole", 1, looks_ahead),
        (Outcome.INAPPLICABLE, "filtered", 1, looks_ahead),
    ],
)
def test_cursors_are_judged(judged: Any, answer: Any, outcome: Outcome, kind: str, total: int, cursor: Next) -> None:
    """Whether the end is known ahead or shown by an empty page; odd cursors, and those without an end, fail."""
    law = partial(cursors_lead_through_the_same_items, kind=kind)
    result, target = judged(service(answer, total, cursor), law, SEARCH, search=STATED)
    assert result.outcome is outcome, result
    if outcome is Outcome.PASSED:
        assert len(target.arrived) <= 1 + MOST[kind]


@pytest.mark.parametrize(
    ("outcome", "turns"),
    [
        (Outcome.PASSED, [0]),
        (Outcome.INCONCLUSIVE, [0, 1, 1]),
        (Outcome.INCONCLUSIVE, [0, 1, 2, 2]),
        (Outcome.FAILED, [0, 1, 0, 1]),
        (Outcome.FAILED, [0, 1, 2, 3]),
    ],
    ids=["stable", "one change", "two changes", "two orders", "no order"],
)
def test_an_order_that_never_stays_is_a_fault(judged: Any, answer: Any, outcome: Outcome, turns: list[int]) -> None:
    """A catalogue that changes while it is read is not."""
    remaining = list(turns)

    def script(arrived: Any) -> bytes:
        if "sort=price" not in arrived.target:
            return bytes(answer(200, {"data": [{"id": "p"}]}))
        turn = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        return bytes(answer(200, {"data": [{"id": str((n + turn) % 5)} for n in range(5)]}))

    result, _ = judged(script, partial(the_order_is_the_same_again, sort="price"), SEARCH, search=STATED)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(("outcome", "first"), [(Outcome.PASSED, 99), (Outcome.FAILED, 3), (Outcome.INCONCLUSIVE, 1)])
def test_a_later_page_holds_the_value_of_the_filter_too(judged: Any, answer: Any, outcome: Outcome, first: int) -> None:
    """`first` is the first page without the filter; whether the first two pages have it is SRCH-5's question."""
    catalogue = [{"id": f"p{number:03}", "category": ("shoes", "mugs", "lamps")[number % 3]} for number in range(30)]

    def script(arrived: Any) -> bytes:
        query = {name: values[0] for name, values in parse_qs(urlsplit(arrived.target).query).items()}
        page, size = int(query["page"]), int(query["pageSize"])
        category = query.get("category") if page < first else None
        items = [item for item in catalogue if item["category"] == (category or item["category"])]
        return bytes(answer(200, {"data": items[(page - 1) * size : page * size]}))

    law = partial(a_filtered_whole_holds_every_item_of_its_value, names=("category",))
    result, _ = judged(script, law, SEARCH, search=STATED)
    assert result.outcome is outcome, result


ALL_ITEMS = [
    {"id": f"p{n:03}", "category": ("shoes", "mugs", "lamps")[n % 3], "merchant": ("north", "south")[n // 3 % 2]}
    for n in range(30)
]
BOTH = dataclasses.replace(STATED, merchant="north", item_merchant="/merchant")


def filtered(query: dict[str, str], *names: str) -> list[Any]:
    return [item for item in ALL_ITEMS if all(query.get(name, item[name]) == item[name] for name in names)]


def lost_items(query: dict[str, str]) -> list[Any]:
    return filtered(query, "category", "merchant")[:: 2 if len(query.keys() & {"category", "merchant"}) == 2 else 1]


def no_filters_on_page_two(query: dict[str, str]) -> list[Any]:
    return filtered(query, *(("category", "merchant") if query["page"] == "1" else ()))


def one_filter_on_page_two(query: dict[str, str]) -> list[Any]:
    has_both = {"category", "merchant"} <= query.keys() and query["page"] != "1"
    return filtered(query, "merchant", *(() if has_both else ("category",)))


def nothing_for_both(query: dict[str, str]) -> list[Any]:
    return [] if {"category", "merchant"} <= query.keys() else filtered(query, "category", "merchant")


def nothing_for_one(query: dict[str, str]) -> list[Any]:
    return [] if "category" in query else filtered(query, "merchant")


def no_common_item(query: dict[str, str]) -> list[Any]:
    items = [item for item in ALL_ITEMS if (item["category"], item["merchant"]) != ("shoes", "north")]
    return [item for item in items if all(query.get(n, item[n]) == item[n] for n in ("category", "merchant"))]


@pytest.mark.parametrize(
    ("outcome", "hits"),
    [
        (Outcome.PASSED, lambda query: filtered(query, "category", "merchant")),
        (Outcome.FAILED, lost_items),
        (Outcome.FAILED, one_filter_on_page_two),
        (Outcome.FAILED, nothing_for_both),
        (Outcome.INCONCLUSIVE, no_filters_on_page_two),
        (Outcome.INCONCLUSIVE, nothing_for_one),
        (Outcome.INAPPLICABLE, no_common_item),
    ],
)
def test_both_filters_together_lose_nothing(judged: Any, answer: Any, outcome: Outcome, hits: Any) -> None:
    """What one filter alone does wrong is another question; a result that holds no such item shows nothing."""

    def script(arrived: Any) -> bytes:
        query = {name: values[0] for name, values in parse_qs(urlsplit(arrived.target).query).items()}
        page, size = int(query["page"]), int(query["pageSize"])
        return bytes(answer(200, {"data": hits(query)[(page - 1) * size : page * size]}))

    law = partial(a_filtered_whole_holds_every_item_of_its_value, names=("category", "merchant"))
    result, target = judged(script, law, SEARCH, search=BOTH)
    assert result.outcome is outcome, result
    if outcome is Outcome.PASSED:
        assert len(target.arrived) <= 8
