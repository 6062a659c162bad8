"""Unusual values of the parameters of a search, and what the profile states of each (SRCH-8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from conformance.checks.support.search_filters import unknown_value
from conformance.profile.behavior import Search

_FAR: Final = (1_000, 1_000_000)


class UnusualValue(NamedTuple):
    """One unusual value of a parameter. `treatment` is the profile's word for what a search does with it."""

    fact: str
    parameter: str
    value: str
    treatment: str
    usual: str | None = None
    """The value with which a search does the same; None: without the parameter."""


def unusual_values(search: Search) -> Mapping[str, list[UnusualValue]]:
    """By case, the values that are sent."""
    category, merchant = unknown_value(search.category), unknown_value(search.merchant)
    smallest, largest = search.page_size_min, search.page_size_max
    above = () if largest is None else (largest + 1, largest + 100)
    below = () if smallest is None else (smallest - 1, -1)
    first = 1 if search.page_base is None else search.page_base
    past = search.past_the_end
    return {
        "page-size-above": [
            UnusualValue("page_size_above", "pageSize", str(n), search.page_size_above, str(largest)) for n in above
        ],
        "page-size-below": [
            UnusualValue("page_size_below", "pageSize", str(n), search.page_size_below, str(smallest)) for n in below
        ],
        "past-the-end": [
            UnusualValue("past_the_end", "page", str(n), past) for n in _far_pages(first, search.page_max)
        ],
        "empty-q": [UnusualValue("empty_q", "q", "", search.empty_q)],
        "unknown-category": [UnusualValue("unknown_category", "category", category, search.unknown_category)],
        "unknown-merchant": [UnusualValue("unknown_merchant", "merchant", merchant, search.unknown_merchant)],
        "unknown-parameter": [UnusualValue("unknown_parameter", unknown_value(""), "1", search.unknown_parameter)],
    }


def _far_pages(first: int, largest: int | None) -> list[int]:
    """Pages far past the end; where the largest page is stated, none is larger, and the last one is that."""
    pages = [first + n for n in _FAR] if largest is None else [min(first + _FAR[0], largest), largest]
    return [page for page in dict.fromkeys(pages) if page > first]
