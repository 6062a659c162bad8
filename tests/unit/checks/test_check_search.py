"""The search is asked for page sizes that the profile allows, and for no other (SRCH-4, SRCH-5, SRCH-6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from conformance.checks.check_search import (
    _by_size,
    a_filter_narrows_the_result,
    a_filter_of_0_is_a_filter,
    another_page_shows_other_items,
    page_size_bounds_every_page,
)
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Search
from tests.support.check_runs import CONTRACT

SEARCH = CONTRACT.operations["searchPublicProducts"]
QUERY = {"q": "a", "locale": "en", "market": "US", "sort": "name", "page": 1, "pageSize": 5}
CATALOGUE = [{"id": f"p{number:02}", "category": "shoes"} for number in range(60)]
BOUNDS = {"none": (None, None), "five at least": (5, None), "three at most": (None, 3), "five alone": (5, 5)}
CHECKS: dict[str, Callable[[Case], Awaitable[None]]] = {
    "SRCH-5": partial(a_filter_narrows_the_result, names=("category",)),
    "SRCH-6": another_page_shows_other_items,
}


def asked(arrived: Any) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(arrived.target).query).items()}


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("requirement", ["SRCH-4", *CHECKS])
def test_no_page_size_is_asked_for_that_the_profile_rules_out(
    judged: Any, answer: Any, requirement: str, bounds: str
) -> None:
    """A service that refuses sizes out of its declared bounds passes, and is never asked for one."""
    smallest, largest = BOUNDS[bounds]

    def script(arrived: Any) -> bytes:
        page, size = int(asked(arrived)["page"]), int(asked(arrived)["pageSize"])
        if size < (smallest or 1) or size > (largest or 50):
            return bytes(answer(400, {"error": "pageSize"}))
        return bytes(answer(200, {"data": CATALOGUE[(page - 1) * size : page * size]}))

    search = Search(
        query={**QUERY, "pageSize": smallest or 2}, page_base=1, page_size_min=smallest, page_size_max=largest,
        stable_sort=True, item_id="/id", item_category="/category", category="shoes",
    )  # fmt: skip
    laws: list[Any] = [CHECKS.get(requirement)]
    if requirement == "SRCH-4":
        sizes = _by_size(profile_with(search), SEARCH)
        laws = [partial(page_size_bounds_every_page, size=size) for size in sizes.values()]
        assert len(laws) == (1 if bounds == "five alone" else 2)
    for law in laws:
        result, target = judged(script, law, SEARCH, search=search)
        assert result.outcome is Outcome.PASSED, result
        sizes_asked = {int(asked(arrived)["pageSize"]) for arrived in target.arrived}
        assert min(sizes_asked) >= (smallest or 1)
        assert max(sizes_asked) <= (largest or 50)


def profile_with(search: Search) -> Any:
    from tests.support.check_runs import profile

    return profile("http://127.0.0.1:1", search=search)


@pytest.mark.parametrize(("past", "outcome"), [("refused", Outcome.PASSED), ("empty", Outcome.INCONCLUSIVE)])
@pytest.mark.parametrize("items", [1, 3])
def test_a_page_past_the_end_may_be_refused(judged: Any, answer: Any, past: str, outcome: Outcome, items: int) -> None:
    """One that the profile says is refused says nothing of its size; a first page that is too long is a failure."""

    def script(arrived: Any) -> bytes:
        is_first = asked(arrived)["page"] == "1"
        return bytes(answer(200, {"data": CATALOGUE[:items]}) if is_first else answer(400, {"code": "c"}))

    stated = Search(query=QUERY, page_base=1, past_the_end=past)
    result, _ = judged(script, partial(page_size_bounds_every_page, size=2), SEARCH, search=stated)
    assert result.outcome is (Outcome.FAILED if items > 2 else outcome), result


@pytest.mark.parametrize(
    ("outcome", "facts", "found"),
    [
        (Outcome.PASSED, {}, {"0": [], "*": []}),
        (Outcome.PASSED, {}, {"0": None, "*": []}),
        (Outcome.PASSED, {}, {"0": [{"id": "p1", "category": "0"}, {"id": "p2"}, {"id": "p3", "category": None}]}),
        (Outcome.FAILED, {}, {"0": CATALOGUE[:5], "*": []}),
        (Outcome.FAILED, {}, {"0": CATALOGUE[:5], "*": None}),
        (Outcome.FAILED, {"unknown_category": "refused"}, {"0": CATALOGUE[:5]}),
        (Outcome.UNSTATED, {}, {"0": CATALOGUE[:5], "*": CATALOGUE[:5]}),
        (Outcome.INAPPLICABLE, {"unknown_category": "ignored"}, {"0": CATALOGUE[:5]}),
        (Outcome.INAPPLICABLE, {"category": "17"}, {"0": CATALOGUE[:5]}),
    ],
    ids=["empty", "refused", "its own", "no filter", "strict else", "stated", "all ignored", "so stated", "numbers"],
)
def test_0_is_a_value_to_filter_by(
    judged: Any, answer: Any, outcome: Outcome, facts: dict[str, Any], found: dict[str, Any]
) -> None:
    """It may name nothing, be refused, or be a category; and all categories where they have numbers."""

    def script(arrived: Any) -> bytes:
        category = asked(arrived).get("category")
        items = CATALOGUE[:5] if category is None else found.get(category, found.get("*"))
        return bytes(answer(400, {"error": "no"}) if items is None else answer(200, {"data": items}))

    stated = Search(**{"query": QUERY, "page_base": 1, "item_category": "/category", "category": "shoes", **facts})
    result, _ = judged(script, partial(a_filter_of_0_is_a_filter, name="category"), SEARCH, search=stated)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(("outcome", "start"), [(Outcome.PASSED, 2), (Outcome.FAILED, 1)])
def test_an_item_may_be_its_own_id(judged: Any, answer: Any, outcome: Outcome, start: int) -> None:
    """A list of ids; its pointer is the empty text."""

    def script(arrived: Any) -> bytes:
        page, size = int(asked(arrived)["page"]), int(asked(arrived)["pageSize"])
        at = (page - 1) * (size if start == 2 else 1)
        return bytes(answer(200, {"data": [item["id"] for item in CATALOGUE[at : at + size]]}))

    stated = Search(query={**QUERY, "pageSize": 2}, page_base=1, page_size_min=2, stable_sort=True, item_id="")
    result, _ = judged(script, another_page_shows_other_items, SEARCH, search=stated)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(
    ("outcome", "stated", "count"),
    [
        (Outcome.PASSED, "", 4),
        (Outcome.PASSED, "", 8),
        (Outcome.INCONCLUSIVE, "", 1),
        (Outcome.FAILED, "empty", 4),
    ],
)
def test_the_last_page_may_be_shown_again(judged: Any, answer: Any, outcome: Outcome, stated: str, count: int) -> None:
    """In place of the pages behind it, where the profile does not state what they are; also a full one."""

    def script(arrived: Any) -> bytes:
        page, size = int(asked(arrived)["page"]), int(asked(arrived)["pageSize"])
        at = min(page - 1, (count - 1) // size) * size
        return bytes(answer(200, {"data": CATALOGUE[:count][at : at + size]}))

    search = Search(query=QUERY, page_base=1, stable_sort=True, item_id="/id", past_the_end=stated)
    result, _ = judged(script, another_page_shows_other_items, SEARCH, search=search)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(("name", "outcome"), [("category", Outcome.PASSED), ("merchant", Outcome.FAILED)])
def test_a_category_may_list_items_of_another_one(judged: Any, answer: Any, name: str, outcome: Outcome) -> None:
    """It may hold that one. A merchant holds no other one."""
    items = [{"id": f"p{number}", name: ("outer", "inner", "stated")[number % 3]} for number in range(9)]

    def script(arrived: Any) -> bytes:
        query = asked(arrived)
        value, start = query.get(name), (int(query["page"]) - 1) * int(query["pageSize"])
        values = {None: ("inner", "outer", "stated"), "outer": ("inner", "outer")}.get(value, (value,))
        found = [item for item in items if item[name] in values]
        return bytes(answer(200, {"data": found[start : start + int(query["pageSize"])]}))

    search = Search(query=QUERY, page_base=1, **{name: "stated", f"item_{name}": f"/{name}"})
    result, _ = judged(script, partial(a_filter_narrows_the_result, names=(name,)), SEARCH, search=search)
    assert result.outcome is outcome, result
