"""The values of sort that a target lists, and the order of the items that each of them means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from conformance.checks.support.collations import is_ordered
from conformance.core import json_pointer as pointer
from conformance.setup.probe.context import Probe
from conformance.setup.probe.search import items_of, known_query, send_query
from conformance.setup.probe.search_values import listed_values

_PAGES: Final = 3
_SIZE: Final = 20
_LEAST_VALUES: Final = 6
"""Fewer different values may be in an order by chance."""
_MOST_VALUES: Final = 12
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|-(?=[A-Za-z])")
_DIRECTIONS: Final = (
    "asc",
    "ascending",
    "desc",
    "descending",
    "low",
    "high",
    "to",
    "by",
    "first",
    "sort",
    "order",
    "-",
)
_OWN_WORDS: Final = (
    "relevance", "relevant", "default", "best", "match", "featured", "recommended", "popularity", "popular",
    "trending", "score", "rank", "ranking",
)  # fmt: skip
"""Words for an order of the target's own."""
_ALIKE: Final = (
    {"name", "title", "label"},
    {"price", "cost", "amount", "cheapest", "cheap", "expensive"},
    {"newest", "oldest", "latest", "new", "created", "date", "published", "added", "recent"},
    {"rating", "rated", "stars"},
)
"""Words of which each may name the same member."""


async def probe_sorts(probe: Probe) -> None:
    """States the listed values of sort, if every one of them is answered and its order is certain."""
    query = known_query(probe)
    if query is None or probe.draft.is_stated("search", "sorts"):
        return
    found = listed_values(probe, "sort", query["sort"])
    if found is None or len(found[1]) > _MOST_VALUES:
        line = f'sorts = {{ "{probe.clean(query["sort"])}" = {{}} }}'
        probe.draft.todo("search", line, "every value of sort that is allowed, and its order; the target lists none")
        return
    source, values = found
    orders = {value: await _order_of(probe, query, value) for value in values}
    uncertain = [value for value, order in orders.items() if order is None]
    if uncertain:
        line = f"sorts = {{ {', '.join(f'{_quote(probe, value)} = {{}}' for value in values)} }}"
        probe.draft.todo(
            "search", line, f"{source}; the order of {', '.join(map(probe.clean, uncertain))} is not certain"
        )
        return
    observed = ", ".join(f"{value} by {order['by']}" for value, order in orders.items() if order)
    evidence = f"{source}; each gets 200; seen in order: {observed or 'none'}"
    probe.draft.state(("search", "sorts"), orders, probe.clean(evidence))


def _quote(probe: Probe, value: str) -> str:
    return f'"{probe.clean(value)}"'


async def _order_of(probe: Probe, query: Mapping[str, str], sort: str) -> dict[str, str] | None:
    """The order that the profile states for a value of sort; None where it is not certain, or is not answered."""
    size = max(int(query["pageSize"]), min(int(probe.draft.get("search", "page_size_max") or _SIZE), _SIZE))
    items: list[Any] = []
    for number in range(_PAGES):
        page = {"sort": sort, "page": str(int(query["page"]) + number), "pageSize": str(size)}
        answer = await send_query(probe, {**query, **page})
        if not answer.ok and not number:
            return None
        items += items_of(answer)
        if len(items_of(answer)) < size:
            break
    return order_of(sort, items)


def order_of(sort: str, items: list[Any]) -> dict[str, str] | None:
    """The member that the value of sort names, and in whose order all items are; `{}`: an order of the target's own.

    That the items happen to be in the order of a member with another name says nothing.
    """
    subject = _subject(sort)
    orders = [order for at in _members(items) if subject & _subject_of_member(at) and (order := _order(items, at))]
    if len(orders) == 1:
        return orders[0]
    return {} if not orders and subject & set(_OWN_WORDS) else None


def _subject(name: str) -> set[str]:
    """The words of a name without those for a direction, and words for the same."""
    words = {word.lower() for word in _WORDS.findall(name)} - set(_DIRECTIONS)
    return words.union(*(alike for alike in _ALIKE if alike & words))


def _subject_of_member(at: str) -> set[str]:
    return set[str]().union(*map(_subject, pointer.tokens(at)))


def _members(items: list[Any]) -> list[str]:
    """The places of text and numbers that all items have."""
    found = [
        {at for at, leaf in pointer.leaves(item) if isinstance(leaf, str | int | float) and not isinstance(leaf, bool)}
        for item in items
    ]
    return sorted(set.intersection(*found)) if found else []


def _order(items: list[Any], at: str) -> dict[str, str] | None:
    """The order of all items by a member; None without one, and where the values may be so by chance."""
    values = [pointer.get(item, at) for item in items]
    if len({str(value) for value in values}) < _LEAST_VALUES:
        return None
    is_up, is_down = is_ordered(values), is_ordered(values[::-1])
    if is_up == is_down:
        return None
    ascending_values = values if is_up else values[::-1]
    are_texts = all(isinstance(value, str) for value in values)
    is_by_number = are_texts and is_ordered(ascending_values, "numbers") and ascending_values != sorted(values)
    order = {} if is_up else {"order": "descending"}
    return {"by": at, **order, **({"values": "numbers"} if is_by_number else {})}
