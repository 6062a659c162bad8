"""Items that two lists have in common, and that no chance explains: evidence where an id is a short number."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson

_FEWEST: Final = 3
"""Items of a list that show which member tells them apart."""


def items_in(value: Any) -> Iterator[dict[str, Any]]:
    """Each object that is an item of a list, at any depth."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from items_in(part)


def common_items(
    names: Collection[str], first: Answer, second: Answer, before: Sequence[Answer]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The items that name one of these ids and are equal in all members in both lists, and in none before; with the id.

    Two installations may count alike. So an item counts only if another member than the id, in which each item of the
    lists has a value of its own, is equal too; and its own id, which may be the same number, names nothing else.
    """
    lists = [list(items_in(answer.value)) for answer in (first, second)]
    known = [item for answer in before for item in items_in(answer.value)]
    own_values = _places_of_own_values(lists[0]) & _places_of_own_values(lists[1])
    for item in lists[0]:
        for where, value in pointer.leaves(item):
            is_named = str(value) in names and where != "/id" and bool(own_values - {where})
            if is_named and _is_in(item, lists[1]) and not _is_in(item, known):
                yield str(value), item


def _is_in(item: Any, items: Collection[Any]) -> bool:
    return any(strictjson.is_equal(item, other) for other in items)


def _places_of_own_values(items: Sequence[dict[str, Any]]) -> set[str]:
    """The members in which each item has a value of its own with a digit, as numbers and times have."""
    if len(items) < _FEWEST:
        return set()
    found = set()
    for where, _ in pointer.leaves(items[0]):
        values = [str(pointer.get(item, where)) if pointer.has(item, where) else "" for item in items]
        if len(set(values)) == len(values) and all(any(map(str.isdigit, value)) for value in values):
            found.add(where)
    return found
