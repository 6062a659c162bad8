"""Pages of a product search: their items, and all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core.strict_json import whole_number
from conformance.judge.public_calls import demands_credential
from conformance.profile.behavior import Search
from conformance.profile.model import Profile


def items_of(answer: Answer) -> list[Any]:
    """The items of a search answered 200. Inconclusive without an array."""
    if not isinstance(answer.data, list):
        raise Inconclusive("the answer has no array of items", answer, cause=f"control:{answer.request.operation.id}")
    return answer.data


def item_ids(case: Case, answer: Answer) -> list[str]:
    """The ids of the items, by the pointer that the profile states."""
    place = case.profile.search.item_id
    if place is None:
        return ["" for _ in items_of(answer)]
    found = (pointer.get(item, place) if pointer.has(item, place) else "" for item in items_of(answer))
    return [str(whole_number(value)) for value in found]


def item_keys(case: Case, answer: Answer) -> list[Any]:
    """What tells items apart: their ids where all of them are known, otherwise the items themselves.

    A member such as a score, or the signature of a URL, may have another value in each answer.
    """
    ids = item_ids(case, answer)
    return ids if all(ids) else items_of(answer)


def suits(item: Any, place: str, value: str) -> bool:
    """Whether an item has the value of a filter: at the place that the profile states, alone or in a list.

    An id that is a number stands in a query as text.
    """
    found = pointer.get(item, place) if pointer.has(item, place) else None
    values = found if isinstance(found, list) else [found]
    return any(_filter_text(known) == _filter_text(value) for known in values)


def _filter_text(value: Any) -> Any:
    """A target may compare without regard to case and outer spaces. An id that is a number is a text in a query."""
    text = str(value) if type(value) is int else value
    return text.strip().casefold() if isinstance(text, str) else text


def need_stable_order(case: Case) -> None:
    """Unstated without a stable order and the place of ids; inapplicable where the profile states that it changes."""
    search = case.profile.search
    case.require_applicable(search.stable_sort is not False, "the order changes between requests, as stated")
    case.need(search.stable_sort, "search.stable_sort = true", "an order that does not change is needed")
    case.need(search.item_id is not None, "search.item_id", "the place of an item's id is needed")


def first_page(profile: Profile) -> int:
    """The number of the first page: as stated, or that of the stated query."""
    declared = profile.search.page_base
    return int(profile.search.query.get("page", 1)) if declared is None else declared


def page_sizes(profile: Profile) -> tuple[int, ...]:
    """The two smallest page sizes within the declared bounds, or the only one; 1 and 2 without bounds."""
    smallest, largest = profile.search.page_size_min or 1, profile.search.page_size_max
    return tuple(size for size in (smallest, smallest + 1) if largest is None or size <= largest)


def largest_page_size(profile: Profile) -> int:
    """As declared, or one that holds most results."""
    return profile.search.page_size_max or 50


def cursor_sizes(profile: Profile, items: int) -> tuple[int, int]:
    """Two page sizes within the declared bounds: where they allow it, the last page is full, and is not full.

    With the first the items are on two or three pages, with the second on two.
    """
    smallest, largest = profile.search.page_size_min or 1, largest_page_size(profile)
    full = [items // pages for pages in (3, 2) if items % pages == 0]
    partly_filled = [size for size in range(items // 2 + 1, items) if items % size]

    def nearest(sizes: list[int], default: int) -> int:
        allowed = [size for size in sizes if smallest <= size <= largest]
        return allowed[0] if allowed else min(max(default, smallest), largest)

    return nearest(full, -(-items // 3)), nearest(partly_filled, -(-items // 2))


def cursor_of(case: Case, answer: Answer) -> str:
    """The cursor of the next page, as it is sent; empty on the last page. Violated by a value of another type."""
    place = case.profile.search.cursor
    cursor = pointer.get(answer.value, place) if pointer.has(answer.value, place) else None
    if isinstance(cursor, bool) or not isinstance(cursor, str | int | float | None):
        message = f"the cursor at {place} is neither text nor a number"
        raise case.violation(message, answer, expected="text or a number", observed=str(cursor)[:100])
    return "" if cursor is None else str(cursor)


async def send_cursor(case: Case, request: Request, cursor: str, purpose: str) -> Answer:
    """The answer to a cursor that the target issued, in place of page.

    The interface requires page: a target that refuses a cursor without it gets the first one beside each cursor.
    """
    parameter, first = case.profile.search.cursor_parameter, str(first_page(case.profile))
    beside_page = request.with_query(**{"page": first, parameter: cursor})
    if case.runtime.memory.get(_CURSORS_NEED_PAGE):
        return await case.send(beside_page, purpose)
    answer = await case.send(beside_page.without_query("page"), purpose)
    if answer.status == 400:
        second = await case.send(beside_page, f"{purpose}, with page={first}")
        if second.ok:
            case.runtime.memory[_CURSORS_NEED_PAGE] = True
            case.note("a cursor is taken with page beside it, and refused without")
            return second
    return answer


async def read_page_by_cursor(case: Case, request: Request, cursor: str, size: int) -> Answer:
    """The page of a cursor that the target issued. Violated unless it is answered with at most `size` items."""
    purpose = f"{case.profile.search.cursor_parameter} of the page before, pageSize {size}"
    answer = await send_cursor(case, request.with_query(pageSize=str(size)), cursor, purpose)
    if not answer.ok:
        raise case.violation(f"a page by its cursor was answered {answer.status}", answer, expected="200")
    if len(items_of(answer)) > size:
        observed = f"{len(items_of(answer))} items"
        raise case.violation(
            "a page by its cursor is longer than pageSize", answer, expected=f"{size}", observed=observed
        )
    return answer


async def read_by_cursors(case: Case, request: Request, first: Answer, size: int, most: int) -> list[Answer]:
    """The pages from the first one on, each by the cursor of the page before it, up to the last page or to `most`.

    After a page that has a cursor and no items, one more is read.
    """
    pages = [first]
    while cursor := cursor_of(case, pages[-1]):
        is_extra = len(pages) == most and not items_of(pages[-1])
        if len(pages) >= most and not is_extra:
            break
        pages.append(await read_page_by_cursor(case, request, cursor, size))
    return pages


async def read_page(case: Case, request: Request, page: int, size: int) -> Answer:
    """One page, or a refusal. Inconclusive where it demands a credential: that is not the end of the result."""
    query = {"page": str(page), "pageSize": str(size)}
    answer = await case.send(request.with_query(**query), f"page {page}, pageSize {size}")
    if demands_credential(answer):
        raise Inconclusive(f"page {page} of pageSize {size} was answered {answer.summary}", answer, cause="PUB-1")
    return answer


async def is_page_of_result(case: Case, request: Request, page: int) -> bool:
    """Whether a page far from the first is one of a very long result: it has items, and others than its neighbours."""
    found: list[list[Any]] = []
    for number in dict.fromkeys((page, page - 1, first_page(case.profile))):
        answer = await case.send_with_retry(request.with_query(page=str(number)), f"page {number}", request)
        found.append(item_keys(case, answer) if answer.ok else [])
        if not found[-1] or found[-1] in found[:-1]:
            return False
    return True


async def read_all(case: Case, request: Request, size: int) -> list[Answer]:
    """All pages of one size that have items. Inconclusive beyond `MOST_PAGES`, and where SRCH-4 or SRCH-6 fails."""
    pages = await read_pages(case, request, size, MOST_PAGES + 1)
    require_all(pages, size)
    return pages


def require_all(pages: list[Answer], size: int) -> None:
    if len(pages) > MOST_PAGES:
        raise Inconclusive(f"there are more than {MOST_PAGES} pages of pageSize {size}", pages[-1])


async def read_pages(case: Case, request: Request, size: int, most: int) -> list[Answer]:
    """The first pages of one size that have items, up to the first that has none."""
    return (await read_to_end(case, request, size, most))[0]


async def read_to_end(case: Case, request: Request, size: int, most: int) -> tuple[list[Answer], Answer | None]:
    """The same, and the answer after them: a page without items or a refusal; None where `most` pages have items.

    Where what follows the last page is not stated, the last one again ends them too.
    """
    pages: list[Answer] = []
    for page in range(first_page(case.profile), first_page(case.profile) + most):
        answer = await read_page(case, request, page, size)
        if not answer.ok and not pages:
            raise Inconclusive(f"the first page of pageSize {size} was answered {answer.summary}", answer)
        if not answer.ok or not items_of(answer):
            return pages, answer
        if len(items_of(answer)) > size:
            raise Inconclusive("a page is longer than pageSize", answer, cause="SRCH-4")
        if pages and item_keys(case, answer) == item_keys(case, pages[-1]):
            if not case.profile.search.past_the_end:
                return pages, answer
            raise Inconclusive("two pages hold the same items", pages[-1], answer, cause="SRCH-6")
        pages.append(answer)
    return pages, None


def may_be_cut(case: Case, size: int, pages: list[Answer], ending: Answer | None) -> bool:
    """Whether the page after these may be refused for its distance: then they need not be all of them.

    So may any page after `search.page_max` be refused, and where that is not stated any after a full one.
    """
    page, farthest = first_page(case.profile) + len(pages), case.profile.search.page_max
    if not pages or (farthest is not None and page <= farthest) or len(items_of(pages[-1])) < size:
        return False
    return ending is not None and ending.status == 400


def expect_not_cut(case: Case, size: int, pages: list[Answer], ending: Answer | None) -> None:
    """Inconclusive where further pages may be refused for their distance."""
    if ending is not None and may_be_cut(case, size, pages, ending):
        raise Inconclusive(f"pages of pageSize {size} are refused after {len(pages)}, and may have items", ending)


async def read_after_gap(case: Case, request: Request, size: int, pages: list[Answer]) -> list[Answer]:
    """The pages with items after the empty one that followed `pages`, up to the second empty one in a row.

    A target that hides items after it cut the pages has such a gap where it hides all of a page.
    """
    further: list[Answer] = []
    number, empty = first_page(case.profile) + len(pages) + 1, 1
    while empty <= _MOST_EMPTY and len(pages) + len(further) < MOST_PAGES:
        answer = await read_page(case, request, number, size)
        if not answer.ok:
            break
        if items_of(answer):
            further.append(answer)
        number, empty = number + 1, 0 if items_of(answer) else empty + 1
    return further


async def has_gaps(case: Case, request: Request, whole: Sequence[Answer], size: int) -> bool:
    """Whether items are hidden after the pages are cut: pages of the whole result before its last one are not full,
    or an empty one of a smaller size has others behind it."""
    if any(len(items_of(page)) < largest_page_size(case.profile) for page in whole[:-1]):
        return True
    pages = await read_pages(case, request, size, MOST_PAGES + 1)
    return bool(await read_after_gap(case, request, size, pages))


def ids_of_pages(case: Case, pages: list[Answer]) -> list[str]:
    return [found for page in pages for found in item_ids(case, page)]


async def expect_unchanged_whole(case: Case, request: Request, size: int, pages: list[Answer]) -> None:
    """Inconclusive where the catalogue changes while it is read, and where further pages may be refused."""
    second_reading, ending = await read_to_end(case, request, size, MOST_PAGES + 1)
    require_all(second_reading, size)
    expect_not_cut(case, size, second_reading, ending)
    if sorted(ids_of_pages(case, second_reading)) != sorted(ids_of_pages(case, pages)):
        raise Inconclusive(f"two readings of all pages of pageSize {size} differ", *pages[-1:], *second_reading[-1:])


_SEARCH_PAGES: Final = 20
_CURSORS_NEED_PAGE: Final = "cursors need page"
_MOST_EMPTY: Final = 2
MOST_PAGES: Final = 40


async def find_ids(case: Case, request: Request) -> frozenset[str]:
    """The ids of the items on the first pages of the largest size."""
    found: set[str] = set()
    for page in range(first_page(case.profile), first_page(case.profile) + _SEARCH_PAGES):
        answer = await read_page(case, request, page, largest_page_size(case.profile))
        if not answer.ok or not items_of(answer):
            break
        found |= set(item_ids(case, answer))
    return frozenset(found)


def full_size(search: Search, total: int) -> int | None:
    """The largest page size that divides this number of items; None if there is none."""
    assert search.page_size_max is not None
    sizes = range(min(search.page_size_max, total), (search.page_size_min or 1) - 1, -1)
    return next((size for size in sizes if total % size == 0), None)


_FEW_PAGES: Final = 12
"""At least this many pages where the result is long enough, so that every boundary between pages is of some kind."""


def pages_of_window(profile: Profile, most: int) -> int:
    """This number of pages, or as many as a result window (search.page_max) has."""
    farthest = profile.search.page_max
    return most if farthest is None else min(most, max(1, farthest - first_page(profile) + 1))


def small_sizes(profile: Profile, items: int) -> tuple[int, ...]:
    """A page size for about twelve pages, the size after it, and one that leaves a single item for the last page.

    Of a result window (search.page_max) no size has more pages than it.
    """
    smallest, largest = page_sizes(profile)[0], profile.search.page_size_max or 100
    size = max(smallest, -(-items // pages_of_window(profile, _FEW_PAGES)))
    leaving_one = [n for n in range(size + 2, min(largest, items - 1) + 1) if items % n == 1]
    return tuple(n for n in (size, size + 1, *leaving_one[:1]) if n <= largest)
