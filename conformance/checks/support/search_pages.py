"""Pages of a product search: their items, and all of them."""

from __future__ import annotations

from typing import Any

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.profile.model import Profile


def items_of(answer: Answer) -> list[Any]:
    """The items of a search answered 200. Inconclusive without an array."""
    if not isinstance(answer.data, list):
        raise Inconclusive("the answer has no array of items", answer, cause=f"control:{answer.request.operation.id}")
    return answer.data


def item_ids(case: Case, answer: Answer) -> list[str]:
    """The ids of the items, by the pointer that the profile states."""
    place = case.profile.search.item_id
    return [str(pointer.get(item, place)) if pointer.has(item, place) else "" for item in items_of(answer)]


def first_page(profile: Profile) -> int:
    """The number of the first page: as stated, or that of the stated query."""
    declared = profile.search.page_base
    return int(profile.search.query.get("page", 1)) if declared is None else declared


def page_sizes(profile: Profile) -> tuple[int, ...]:
    """The two smallest page sizes within the declared bounds, or the only one; 1 and 2 without bounds."""
    smallest, largest = profile.search.page_size_min or 1, profile.search.page_size_max
    return tuple(size for size in (smallest, smallest + 1) if largest is None or size <= largest)


async def read_page(case: Case, request: Request, page: int, size: int) -> Answer:
    return await case.send(request.with_query(page=str(page), pageSize=str(size)), f"page {page}, pageSize {size}")
