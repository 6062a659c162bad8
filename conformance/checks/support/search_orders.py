"""The order of items that a stated sort means (SRCH-9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.collations import first_decrease, is_ordered
from conformance.checks.support.search_pages import first_page, item_keys, items_of, page_sizes, read_page
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core.messages import join_values
from conformance.profile.behavior import SortOrder
from conformance.profile.model import Profile

_SMALL_PAGE: Final = 3


def ordered_size(profile: Profile) -> int:
    """A page size that shows an order, within the bounds."""
    return max(page_sizes(profile)[0], min(profile.search.page_size_max or 20, 20))


async def expect_order_beyond(case: Case, sort: str, request: Request, page: Answer) -> None:
    """Violated where two small pages are not in order, of which the second differs from that part of a longer page.

    What is sorted page by page does; a catalogue that changes meanwhile does, too, and keeps its order.
    """
    first, small = first_page(case.profile), max(page_sizes(case.profile)[0], _SMALL_PAGE)
    second = await read_page(case, request, first + 1, small)
    if not second.ok or item_keys(case, second) == item_keys(case, page)[small : 2 * small]:
        return
    head = await read_page(case, request, first, small)
    if head.ok and not any(key in item_keys(case, head) for key in item_keys(case, second)):
        await expect_order(case, sort, [head, second])


async def expect_order(case: Case, sort: str, pages: Sequence[Answer]) -> None:
    """Violated where values of the member that a sort means go back; inconclusive where no two differ.

    From one page to the next they count where the pages have the same values again: a product may come in between.
    """
    order = case.profile.search.sorts[sort]
    values = _ascending_values(pages, order)
    if len({str(value) for value in values}) < 2:
        raise Inconclusive(f"no two items differ at {order.by}", *pages[:1])
    if is_ordered(values, order.values):
        return
    if all(is_ordered(_ascending_values([page], order), order.values) for page in pages):
        repeats = [await case.send(page.request, "the page again") for page in pages]
        if not all(page.ok for page in repeats) or _ascending_values(repeats, order) != values:
            raise Inconclusive("two readings of the pages differ", *pages, *repeats)
    pair = first_decrease(values, order.values)
    step = -1 if order.order == "descending" else 1
    observed = " before ".join(map(str, pair[::step])) if pair else join_values(values[::step])
    as_stated = f", as {order.values}" if order.values else ""
    message = f"items sorted by {sort} are not {order.order} at {order.by}{as_stated}"
    raise case.violation(message, *pages, expected=f"{order.order} values", observed=observed)


def _ascending_values(pages: Sequence[Answer], order: SortOrder) -> list[Any]:
    """The values that a sort is by, in the order of the items, or from the last one where the order is descending."""
    values = [pointer.get(item, order.by) for page in pages for item in items_of(page) if pointer.has(item, order.by)]
    return values[::-1] if order.order == "descending" else values
