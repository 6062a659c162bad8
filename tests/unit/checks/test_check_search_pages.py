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
    all_pages_together_hold_every_item_once,
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


def test_a_cursor_may_need_a_page_beside_it(judged: Any, answer: Any) -> None:
    """The interface requires page. One request learns it, and each further cursor has the first page beside it."""
    plain = service(answer, 12, looks_ahead)

    def script(arrived: Any) -> bytes:
        return plain(arrived) if "page=" in arrived.target else bytes(answer(400, {"error": "page"}))

    result, target = judged(script, partial(cursors_lead_through_the_same_items, kind="whole"), SEARCH, search=STATED)
    assert result.outcome is Outcome.PASSED, result
    queries = [parse_qs(urlsplit(arrived.target).query) for arrived in target.arrived]
    by_cursor = [query.get("page") for query in queries if "page[after]" in query]
    assert by_cursor[0] is None
    assert len(by_cursor) > 2
    assert all(page == ["1"] for page in by_cursor[1:])


def test_a_cursor_that_is_refused_with_and_without_a_page_is_a_failure(judged: Any, answer: Any) -> None:
    plain = service(answer, 12, looks_ahead)

    def script(arrived: Any) -> bytes:
        return bytes(answer(400, {"error": "cursor"})) if "after" in arrived.target else plain(arrived)

    result, _ = judged(script, partial(cursors_lead_through_the_same_items, kind="whole"), SEARCH, search=STATED)
    assert result.outcome is Outcome.FAILED, result


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
        assert len(target.arrived) <= 1 + MOST[kind]  # one behind the last page, if that is full


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


@pytest.mark.parametrize(("outcome", "lost"), [(Outcome.PASSED, 0), (Outcome.FAILED, 1)])
def test_a_filter_by_a_number_loses_no_item(judged: Any, answer: Any, outcome: Outcome, lost: int) -> None:
    """An id of a category that is a number in an item is a text in the query."""
    catalogue = [{"id": f"p{number:03}", "category": 17 + number % 3} for number in range(30)]

    def script(arrived: Any) -> bytes:
        query = {name: values[0] for name, values in parse_qs(urlsplit(arrived.target).query).items()}
        page, size = int(query["page"]), int(query["pageSize"])
        items = [item for item in catalogue if str(item["category"]) == query.get("category", str(item["category"]))]
        items = items[lost:] if "category" in query else items
        return bytes(answer(200, {"data": items[(page - 1) * size : page * size]}))

    law = partial(a_filtered_whole_holds_every_item_of_its_value, names=("category",))
    result, _ = judged(script, law, SEARCH, search=dataclasses.replace(STATED, category="17"))
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


SIXTY = [{"id": f"p{n:03}", "category": ("shoes", "mugs", "lamps")[n % 3]} for n in range(60)]


def cut(query: dict[str, str], *, is_filtered_late: bool = False) -> list[Any]:
    category, page, size = query.get("category"), int(query["page"]), int(query["pageSize"])
    found = SIXTY if is_filtered_late else [item for item in SIXTY if category in (None, item["category"])]
    items = found[(page - 1) * size : page * size]
    return [item for item in items if category in (None, item["category"])]


def without(*hidden: str) -> Callable[[dict[str, str]], list[Any]]:
    return lambda query: [item for item in cut(query) if item["id"] not in hidden]


def test_the_last_page_may_come_again_with_other_members(judged: Any, answer: Any) -> None:
    """What follows the last page is not stated; a score has another value in each answer."""
    scores = iter(range(10_000))

    def script(arrived: Any) -> bytes:
        query = {name: values[0] for name, values in parse_qs(urlsplit(arrived.target).query).items()}
        page, size = int(query["page"]), int(query["pageSize"])
        start = min(page - 1, (len(ALL_ITEMS) - 1) // size) * size
        return bytes(
            answer(200, {"data": [{**item, "score": next(scores)} for item in ALL_ITEMS[start : start + size]]})
        )

    result, _ = judged(script, all_pages_together_hold_every_item_once, SEARCH, search=STATED)
    assert result.outcome is Outcome.PASSED, result.message


@pytest.mark.parametrize("page_max", [1, 3, 20])
def test_a_filtered_whole_fits_into_a_result_window(judged: Any, answer: Any, page_max: int) -> None:
    """Pages after search.page_max may be refused, so the pages are as large as its items need."""
    plain = service(answer, 60, is_missing)

    def window(arrived: Any) -> bytes:
        page = int(parse_qs(urlsplit(arrived.target).query)["page"][0])
        return answer(400, {"error": "page"}) if page > page_max else plain(arrived)

    law = partial(a_filtered_whole_holds_every_item_of_its_value, names=("category",))
    stated = dataclasses.replace(STATED, page_max=page_max, page_size_max=60)
    result, _ = judged(window, law, SEARCH, search=stated)
    assert result.outcome is Outcome.PASSED, result.message


@pytest.mark.parametrize(
    ("whole", "filtered_whole", "shown"),
    [
        (Outcome.PASSED, Outcome.PASSED, cut),
        (Outcome.PASSED, Outcome.PASSED, without("p012")),
        (Outcome.PASSED, Outcome.PASSED, without("p012", "p015")),
        (Outcome.PASSED, Outcome.INCONCLUSIVE, without("p012", "p015", "p018")),
        (Outcome.PASSED, Outcome.PASSED, without(*(f"p{n:03}" for n in range(20, 25)))),
        (Outcome.PASSED, Outcome.FAILED, partial(cut, is_filtered_late=True)),
    ],
)
def test_an_empty_page_may_have_others_behind_it(
    judged: Any, answer: Any, whole: Outcome, filtered_whole: Outcome, shown: Callable[[dict[str, str]], list[Any]]
) -> None:
    """Items may be hidden after the pages were cut, with a filter and without; a filter is applied before."""

    def script(arrived: Any) -> bytes:
        query = {name: values[0] for name, values in parse_qs(urlsplit(arrived.target).query).items()}
        return bytes(answer(200, {"data": shown(query)}))

    law = partial(a_filtered_whole_holds_every_item_of_its_value, names=("category",))
    for check, outcome in ((all_pages_together_hold_every_item_once, whole), (law, filtered_whole)):
        result, _ = judged(script, check, SEARCH, search=STATED)
        assert result.outcome is outcome, result
