"""Searches: parameters, pages, filters, orders, and what the profile states of values."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.model import Exchange
from conformance.core.outcomes import Outcome
from tests.support.recorded_traffic import QUERY, SEARCH, exchange, facts, outcome
from tests.support.values import replace


def search(items: int = 2, at: float = 0.0, status: int = 200, **query: Any) -> Exchange:
    values = {name: value for name, value in {**QUERY, **query}.items() if value is not None}
    found = [{"id": f"p{n}", "price": n, "category": "shoes"} for n in range(items)]
    return exchange(SEARCH, credential="", query=values, status=status, at=at, answer={"data": found})


def stated(**changes: Any) -> Any:
    return facts(search=replace(facts().search, **changes))


def test_a_missing_parameter_is_refused() -> None:
    """SRCH-1: 200 without a required parameter; a search with all of them decides nothing."""
    assert outcome("SRCH-1", search(sort=None)) is Outcome.FAILED
    assert outcome("SRCH-1", search(sort=None, status=400)) is Outcome.PASSED
    assert outcome("SRCH-1", search()) is Outcome.UNTESTED
    assert (
        outcome("SRCH-1", search(page=None, cursor="x"), stated=stated(cursor_parameter="cursor")) is Outcome.UNTESTED
    )


@pytest.mark.parametrize("value", ["abc", "1.5", "NaN", "9x"])
def test_what_is_no_integer_is_refused(value: str) -> None:
    """SRCH-3: 200 for a page that no reading takes for an integer."""
    assert outcome("SRCH-3", search(page=value)) is Outcome.FAILED
    assert outcome("SRCH-3", search(pageSize=value, status=400)) is Outcome.PASSED


@pytest.mark.parametrize("value", ["1", "+1", "01", "1.0", "0", "-1", "1e2", "0x1", "%31", "", "1_0", "%EF%BC%91"])
def test_what_may_be_an_integer_is_not_judged(value: str) -> None:
    """SRCH-3 is silent on every spelling that a reader may take for an integer."""
    assert outcome("SRCH-3", search(page=value)) is Outcome.UNTESTED


def test_a_page_is_no_longer_than_asked() -> None:
    """SRCH-4: more items than pageSize are a warning; a size that may be raised is left out."""
    assert outcome("SRCH-4", search(3)) is Outcome.WARNED
    assert outcome("SRCH-4", search(2)) is Outcome.PASSED
    assert outcome("SRCH-4", search(3), stated=stated(page_size_min=5)) is Outcome.UNTESTED
    assert outcome("SRCH-4", search(3, pageSize="1"), stated=stated(page_size_min=None)) is Outcome.UNTESTED


def test_a_filter_holds() -> None:
    """SRCH-5: an item of another category; where unknown values are ignored, nothing is judged.

    Nor is a category but the stated one, which may hold the other.
    """
    hats = stated(category="hats", item_category="/category", unknown_category="empty")
    assert outcome("SRCH-5", search(category="hats"), stated=hats) is Outcome.FAILED
    shoes = stated(category="shoes", item_category="/category", unknown_category="empty")
    assert outcome("SRCH-5", search(category="shoes"), stated=shoes) is Outcome.PASSED
    assert outcome("SRCH-5", search(category="clothing"), stated=shoes) is Outcome.UNTESTED
    ignored = stated(category="hats", item_category="/category", unknown_category="ignored")
    assert outcome("SRCH-5", search(category="hats"), stated=ignored) is Outcome.UNTESTED


def test_two_pages_hold_different_items() -> None:
    """SRCH-6: the same items on two pages; much later, or in another search, they say nothing.

    Nor do they where the last page may be shown in place of those behind it.
    """
    stable = stated(stable_sort=True, item_id="/id", past_the_end="empty")
    assert outcome("SRCH-6", search(), search(page="2", at=1.0), stated=stable) is Outcome.FAILED
    assert outcome("SRCH-6", search(), search(1, page="2", at=1.0), stated=stable) is Outcome.PASSED
    assert outcome("SRCH-6", search(), search(page="2", at=99.0), stated=stable) is Outcome.UNTESTED
    assert outcome("SRCH-6", search(), search(page="2", q="other", at=1.0), stated=stable) is Outcome.UNTESTED
    last_again = stated(stable_sort=True, item_id="/id")
    assert outcome("SRCH-6", search(), search(page="2", at=1.0), stated=last_again) is Outcome.UNTESTED


@pytest.mark.parametrize(
    ("fact", "query"),
    [
        ({"page_size_above": "refused"}, {"pageSize": "51"}),
        ({"page_size_below": "refused"}, {"pageSize": "0"}),
        ({"empty_q": "refused"}, {"q": ""}),
        ({"q_max": 3}, {"q": "gift"}),
        ({"markets": ("US",), "unlisted": "refused"}, {"market": "XX"}),
        ({"unknown_parameter": "refused"}, {"color": "red"}),
    ],
)
def test_what_is_stated_as_refused_is_refused(fact: dict[str, Any], query: dict[str, str]) -> None:
    """SRCH-8: 200 for a value that the profile states as refused; without the fact nothing is judged so."""
    known = stated(**{"empty_q": "everything", **fact})
    assert outcome("SRCH-8", search(**query), stated=known) is Outcome.FAILED
    assert outcome("SRCH-8", search(status=400, **query), stated=known) is Outcome.PASSED
    assert outcome("SRCH-8", search(**query), stated=stated(empty_q="everything")) is not Outcome.FAILED


def test_only_a_search_that_every_fact_allows_may_not_be_refused() -> None:
    """SRCH-8: the profile's own query with one other listed value; two changes, or an unlisted one, may be refused."""
    lists = {"sorts": {"name": ("", ""), "price": ("", "")}, "locales": ("en-US",), "markets": ("US", "DE")}
    known = stated(**lists, empty_q="refused", past_the_end="empty")
    assert outcome("SRCH-8", search(status=400, sort="price"), stated=known) is Outcome.FAILED
    assert outcome("SRCH-8", search(status=400, sort="price", market="DE"), stated=known) is Outcome.UNTESTED
    assert outcome("SRCH-8", search(status=400, sort="other"), stated=known) is Outcome.UNTESTED
    assert outcome("SRCH-8", search(status=400, sort=""), stated=known) is Outcome.UNTESTED
    assert outcome("SRCH-8", search(status=429), stated=known) is Outcome.UNTESTED


LISTS: dict[str, Any] = {
    "sorts": {"name": ("", "")}, "locales": ("en-US", "de-DE"), "markets": ("US", "DE"), "q_max": 20,
    "empty_q": "refused", "past_the_end": "empty",
}  # fmt: skip


@pytest.mark.parametrize(
    ("refused", "accepted"),
    [
        ({"q": "ab"}, [{"q": "ab", "sort": "price"}]),
        ({"locale": "de-DE"}, [{"locale": "de-DE", "page": "2"}]),
        ({"market": "DE"}, [{"market": "DE", "q": "hat"}]),
        ({"page": "7"}, [{"page": "8"}]),
        ({"page": "4"}, [{"page": "3", "items": 1}]),
        ({"page": "3"}, [{"page": "2", "items": 0}, {"page": "9", "q": "hat"}]),
    ],
)
def test_a_refusal_is_judged_by_what_was_accepted(refused: dict[str, str], accepted: list[dict[str, Any]]) -> None:
    """SRCH-8: a text may be too short, a locale and a market no pair, a page outside the window of an index."""
    known = stated(**LISTS)
    others = [search(**one) for one in accepted]
    assert outcome("SRCH-8", search(status=400, **refused), stated=known) is Outcome.UNTESTED
    assert outcome("SRCH-8", *others, search(status=400, at=9.0, **refused), stated=known) is Outcome.FAILED
    assert outcome("SRCH-8", search(status=400, **refused), *others, stated=known) is Outcome.FAILED


@pytest.mark.parametrize(
    ("page", "fact", "expected"),
    [
        ("9000", {}, Outcome.PASSED),
        ("3", {}, Outcome.PASSED),
        ("5", {"page_max": 9000}, Outcome.FAILED),
        ("9001", {"page_max": 9000}, Outcome.PASSED),
        ("2", {"past_the_end": "refused", "page_max": 9000}, Outcome.PASSED),
    ],
)
def test_a_page_after_a_full_one_may_be_outside_the_window(page: str, fact: Any, expected: Outcome) -> None:
    """SRCH-8: up to the stated largest page it may not."""
    known = stated(**{**LISTS, **fact})
    calls = (search(2, page="2"), search(status=400, at=9.0, page=page))
    assert outcome("SRCH-8", *calls, stated=known) is expected


@pytest.mark.parametrize("value", ["Shoes", "%20shoes%20", "SHOES"])
def test_a_filter_may_ignore_case_and_outer_spaces(value: str) -> None:
    """SRCH-5: no text says that its values are compared letter by letter."""
    known = stated(category="shoes", item_category="/category", unknown_category="empty")
    assert outcome("SRCH-5", search(category=value), stated=known) is Outcome.PASSED


def test_an_item_may_be_its_own_id() -> None:
    """SRCH-6, SRCH-9: the empty pointer is a statement."""
    own = stated(stable_sort=True, item_id="", past_the_end="empty", sorts={"name": ("/price", "ascending")})
    assert outcome("SRCH-6", search(), search(page="2", at=1.0), stated=own) is Outcome.FAILED
    assert outcome("SRCH-9", search(), stated=own) is Outcome.PASSED
    assert outcome("SRCH-6", search(), search(page="2", at=1.0), stated=stated(stable_sort=True)) is Outcome.UNSTATED


def test_items_are_in_the_stated_order() -> None:
    """SRCH-9: numbers in the other direction, or an item twice."""
    down = stated(sorts={"name": ("/price", "descending")})
    assert outcome("SRCH-9", search(), stated=down) is Outcome.FAILED
    assert outcome("SRCH-9", search(), stated=stated(sorts={"name": ("/price", "ascending")})) is Outcome.PASSED
    assert outcome("SRCH-9", search(), stated=stated(sorts={"name": ("/category", "descending")})) is Outcome.UNTESTED
