"""Product search: all pages together, and the order of sort (SRCH-9)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from itertools import pairwise

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.search_filters import (
    FILTERS,
    expect_not_everything_lost,
    expect_values_on_every_page,
    ids_of_values,
    read_shared_whole,
    stated_filters,
    text_of,
    with_one_filter,
)
from conformance.checks.support.search_orders import expect_order, expect_order_beyond, ordered_size
from conformance.checks.support.search_pages import (
    MOST_PAGES,
    cursor_of,
    cursor_sizes,
    expect_not_cut,
    expect_unchanged_whole,
    first_page,
    has_gaps,
    ids_of_pages,
    item_ids,
    item_keys,
    items_of,
    largest_page_size,
    may_be_cut,
    need_stable_order,
    page_sizes,
    pages_of_window,
    read_after_gap,
    read_all,
    read_by_cursors,
    read_page,
    read_page_by_cursor,
    read_pages,
    read_to_end,
    require_all,
    small_sizes,
)
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core.messages import join_values
from conformance.profile.model import Profile

_SMALL_PAGES = 30
_COMBINED_PAGES = 3


@check("SRCH-9")
async def the_stated_query_finds_items(case: Case) -> None:
    """The query of the profile, which is stated to have several pages, finds items, unless items are excluded."""
    if "search.item_id" in case.profile.exclusions:
        case.need(False, "search.item_id", "the place of an item's id is needed")
    answer = await case.control(await case.arrange())
    if not items_of(answer):
        message = "search.query, a query with several pages as the profile states, finds nothing"
        raise case.violation(message, answer, expected="items", observed="an empty list")


@check("SRCH-9", chain=True)
async def all_pages_together_hold_every_item_once(case: Case) -> None:
    """Over all pages of four page sizes, one with a single item on its last page, no item is lost or comes twice."""
    need_stable_order(case)
    request = await case.arrange()
    size = largest_page_size(case.profile)
    whole = await read_all(case, request, size)
    ids = ids_of_pages(case, whole)
    if len(set(ids)) < 2:
        raise Inconclusive("the search finds fewer than two items", *whole)
    if repeated := sorted({item for item in ids if item and ids.count(item) > 1})[:5]:
        await expect_unchanged_whole(case, request, size, whole)
        message = f"over all pages of pageSize {size} an item comes twice"
        raise case.violation(message, *whole[:2], expected="each item once", observed=join_values(repeated))
    for small in small_sizes(case.profile, len(ids)):
        pages = await read_all(case, request, small)
        found = ids_of_pages(case, pages)
        if sorted(found) == sorted(set(ids)):
            continue
        further = await read_after_gap(case, request, small, pages)
        if sorted([*found, *ids_of_pages(case, further)]) == sorted(set(ids)):
            continue
        await expect_unchanged_whole(case, request, size, whole)
        await expect_unchanged_whole(case, request, small, pages)
        missing = sorted(set(ids) ^ set(found))[:5]
        repeated = sorted({item for item in found if found.count(item) > 1})[:5]
        raise case.violation(
            f"all pages of pageSize {small} do not hold the items that all pages of pageSize {size} hold, each once",
            whole[-1],
            *pages[-1:],
            expected=f"{len(set(ids))} items, each once",
            observed=f"{len(found)} items; only in one reading: {join_values(missing)}; twice: {join_values(repeated)}",
        )


@check("SRCH-9", cases={**{name: (name,) for name in FILTERS}, "both": FILTERS}, chain=True)
async def a_filtered_whole_holds_every_item_of_its_value(case: Case, names: tuple[str, ...]) -> None:
    """All pages of a filtered search hold every item that has the value in the whole result, and no other item.

    With two filters, every item that has both values.
    """
    need_stable_order(case)
    filters = stated_filters(case, names)
    request, size = await case.arrange(), largest_page_size(case.profile)
    whole = await read_shared_whole(case, request)
    expected = ids_of_values(case, whole, filters)
    case.require_case(expected or len(names) == 1, f"no item of the whole result has {text_of(filters)}")
    # the smallest pages: a filter that is applied after paging leaves pages empty before the last one
    most = pages_of_window(case.profile, _SMALL_PAGES if len(names) == 1 else _COMBINED_PAGES)
    small = min(size, max(page_sizes(case.profile)[0], -(-len(expected) // most)))
    filtered = request.with_query(**filters)
    pages, ending = await _read_filtered_pages(case, filtered, small, len(expected))
    await expect_values_on_every_page(case, pages, filters)
    require_all(pages, small)
    if expected and not pages:
        await expect_not_everything_lost(case, request, whole, filters)
    if missing_ids := expected - set(ids_of_pages(case, pages)):
        await expect_unchanged_whole(case, request, size, whole)
        expect_not_cut(case, small, pages, ending)
        if await has_gaps(case, request, whole, small):
            further = await read_after_gap(case, filtered, small, pages)
            if missing_ids <= set(ids_of_pages(case, further)):
                return
            message = "pages before the last one are short or empty, so that no page is known to be the last"
            raise Inconclusive(message, *whole[:1], *pages[-1:])
        raise case.violation(
            f"a search with {text_of(filters)} loses items that the search without it lists",
            whole[0],
            *pages[-1:],
            expected=f"{len(expected)} items",
            observed=f"without {join_values(sorted(missing_ids), 5)}",
        )


async def _read_filtered_pages(
    case: Case, filtered: Request, size: int, count: int
) -> tuple[list[Answer], Answer | None]:
    """The pages that have items, and the answer after them; `count` is the number of items that are expected."""
    try:
        return await read_to_end(case, filtered, size, MOST_PAGES + 1)
    except Inconclusive as doubt:
        if doubt.cause == "SRCH-6":
            await _expect_no_page_twice(case, doubt, count, size)
        raise


async def _expect_no_page_twice(case: Case, doubt: Inconclusive, count: int, size: int) -> None:
    """Violated where two pages of a filtered search hold the same items when they are read again.

    A page past the end counts only where the profile states what it is.
    """
    first, second = doubt.answers[-2:]
    number = int(dict(second.request.query)["page"]) - first_page(case.profile)
    if number * size >= count and not case.profile.search.past_the_end:
        return
    answers = [await case.send(answer.request, "both pages again") for answer in (first, second)]
    keys = [item_keys(case, answer) for answer in (*answers, first) if answer.ok]
    if len(keys) == 3 and keys[0] == keys[1] == keys[2]:
        message = "two pages of a filtered search hold the same items"
        raise case.violation(message, *answers, expected="other items, or an answer as search.past_the_end states")


_PAGES_BY_CURSOR = {"whole": 4, "filtered": 3, "merchant": 3}
"""By case: the maximum number of pages that are read by number, and by cursors."""


def _need_cursors(case: Case) -> None:
    search = case.profile.search
    case.need(search.cursor, "search.cursor", "the place of the next page's cursor is needed")
    case.need(search.cursor_parameter, "search.cursor_parameter", "the query parameter of a cursor is needed")
    need_stable_order(case)


@check("SRCH-9", cases={kind: kind for kind in _PAGES_BY_CURSOR})
async def cursors_lead_through_the_same_items(case: Case, kind: str) -> None:
    """From the first page on, cursors lead to every item of the numbered pages, once and in their order."""
    _need_cursors(case)
    request = await case.arrange()
    if kind != "whole":
        request = with_one_filter(case, request, of_merchant=kind == "merchant")
    most, largest = _PAGES_BY_CURSOR[kind], largest_page_size(case.profile)
    numbered, ending = await read_to_end(case, request, largest, most)
    is_whole = len(numbered) < most and not may_be_cut(case, largest, numbered, ending)
    ids = ids_of_pages(case, numbered)
    size = cursor_sizes(case.profile, len(ids))[kind != "whole"] if is_whole else largest
    if len(ids) <= size and is_whole:
        case.require_case(kind == "whole", f"the filtered search has one page of pageSize {size}")
        raise Inconclusive(f"the search has one page of pageSize {size}", *numbered)
    first = await read_pages(case, request, size, 1)
    if not first:
        raise Inconclusive(f"the first page of pageSize {size} has no items", *numbered)
    pages = await read_by_cursors(case, request, first[0], size, most)
    if longer_pages := [page for page in pages if len(items_of(page)) > size]:
        message = f"a page by cursor has {len(items_of(longer_pages[0]))} items, with pageSize={size}"
        case.warn(message, longer_pages[0], expected=f"at most {size} items")
    if trouble := _trouble_with_cursors(case, pages, ids, is_whole=is_whole):
        await _expect_same_order(case, request, largest, numbered)
        message, expected, observed = trouble
        raise case.violation(message, numbered[-1], *pages, expected=expected, observed=observed)
    if kind == "whole":
        await _expect_same_page_again(case, request, size, pages, numbered)


def _trouble_with_cursors(case: Case, pages: list[Answer], ids: list[str], *, is_whole: bool) -> tuple[str, ...]:
    """A message, what was expected and what was observed; empty where the pages by cursor are as stated.

    `ids` are those of the numbered pages, of all of them where `is_whole`.
    """
    found, is_ended = ids_of_pages(case, pages), not cursor_of(case, pages[-1])
    found = found if is_whole else found[: len(ids)]
    expected = ids if is_ended else ids[: len(found)]
    if found != expected:
        place = next((n for n, pair in enumerate(zip(found, ids, strict=False)) if pair[0] != pair[1]), len(expected))
        return (
            "the pages by cursor do not hold the items of the numbered pages, once and in their order",
            f"{len(ids)} items; from item {place + 1}: {ids[place : place + 3]}",
            f"{len(found)} items; from item {place + 1}: {found[place : place + 3]}",
        )
    if not is_ended and len(pages) > 1 and not any(map(items_of, pages[-2:])):
        return ("after the last item each page has a cursor", "a last page without a cursor", "two pages without items")
    return ()


async def _expect_same_order(case: Case, request: Request, size: int, numbered: list[Answer]) -> None:
    """Inconclusive where a second reading of the numbered pages differs."""
    repeat = await read_pages(case, request, size, len(numbered))
    if ids_of_pages(case, repeat) != ids_of_pages(case, numbered):
        raise Inconclusive(f"two readings of the pages of pageSize {size} differ", numbered[-1], *repeat[-1:])


async def _expect_same_page_again(
    case: Case, request: Request, size: int, pages: list[Answer], numbered: list[Answer]
) -> None:
    """The cursor of the first page still leads to the second one."""
    repeat = await read_page_by_cursor(case, request, cursor_of(case, pages[0]), size)
    if item_ids(case, repeat) != item_ids(case, pages[1]):
        await _expect_same_order(case, request, largest_page_size(case.profile), numbered)
        raise case.violation(
            "a cursor that is used again leads to another page",
            pages[1],
            repeat,
            expected=join_values(item_ids(case, pages[1]), 5),
            observed=join_values(item_ids(case, repeat), 5),
        )


def _sorts(profile: Profile, _operation: Operation) -> Mapping[str, str]:
    """The stated values of sort whose order shows in a member; one case that says so where there is none."""
    return {name: name for name, order in profile.search.sorts.items() if order.by} or {"none": ""}


@check("SRCH-9", cases=_sorts)
async def items_come_in_the_stated_order(case: Case, sort: str) -> None:
    """The values of the member that a sort means never go back, within a page and from page to page.

    Where a service puts null, and in which language it sorts, is not stated.
    """
    case.need(sort, "search.sorts.NAME.by", "the member that a value of sort orders by is needed")
    request = (await case.arrange()).with_query(sort=sort)
    filled = await read_pages(case, request, ordered_size(case.profile), _ORDERED_PAGES)
    await expect_order(case, sort, filled)


@check("SRCH-9", cases=_sorts)
async def the_order_holds_with_a_filter(case: Case, sort: str) -> None:
    """The first page of a search with a stated filter is in the stated order too: all sorts together try each filter.

    So are two small pages. A filter that leaves items of one value only shows no order, and violates none.
    """
    case.need(sort, "search.sorts.NAME.by", "the member that a value of sort orders by is needed")
    search, sorts = case.profile.search, list(_sorts(case.profile, case.operation))
    filters = [(name, value) for name in ("category", "merchant") if (value := getattr(search, name))]
    case.require_case(filters, "the profile states no value to filter by")
    request, number = (await case.arrange()).with_query(sort=sort), sorts.index(sort)
    for name, value in filters[number :: len(sorts)] or filters[number % len(filters) :][:1]:
        filtered = request.with_query(**{name: value})
        answer = await read_page(case, filtered, first_page(case.profile), ordered_size(case.profile))
        if answer.ok and items_of(answer):
            with suppress(Inconclusive):
                await expect_order(case, sort, [answer])
            with suppress(Inconclusive):
                await expect_order_beyond(case, sort, filtered, answer)


@check("SRCH-9", cases=_sorts)
async def the_order_holds_in_every_locale_and_market(case: Case, sort: str) -> None:
    """The first page of each stated locale and market is in the stated order too, with one sort also the second.

    A client of another locale says in Accept-Language which one it is.
    """
    search = case.profile.search
    case.need(sort, "search.sorts.NAME.by", "the member that a value of sort orders by is needed")
    request = (await case.arrange()).with_query(sort=sort)
    query = dict(request.query)
    others = [
        (name, value)
        for name, values in (("locale", search.locales), ("market", search.markets))
        for value in values
        if value != query.get(name)
    ]
    case.require_case(others, "the profile states no other locale or market")
    most = 2 if sort == next(iter(_sorts(case.profile, case.operation))) else 1  # paging is the same for all sorts
    for name, value in others:
        changed = _as_client_of(request, value) if name == "locale" else request
        pages = [
            await read_page(case, changed.with_query(**{name: value}), number, ordered_size(case.profile))
            for number in range(first_page(case.profile), first_page(case.profile) + most)
        ]
        filled = [page for page in pages if page.ok and items_of(page)]
        if len(filled) == 2 and item_keys(case, filled[0]) == item_keys(case, filled[1]):
            filled = filled[: 2 if search.past_the_end else 1]  # it may be the last page again, in this locale
            await read_pages(case, request, ordered_size(case.profile), 2)  # SRCH-6, where each locale has it
        if filled:
            with suppress(Inconclusive):  # all items may be alike there
                await expect_order(case, sort, filled)


def _as_client_of(request: Request, locale: str) -> Request:
    others = tuple(pair for pair in request.headers if pair[0].lower() != "accept-language")
    return replace(request, headers=(*others, ("Accept-Language", locale.replace("_", "-"))))


_ORDERED_PAGES = 3
_READINGS = 4


def _every_sort(profile: Profile, _operation: Operation) -> Mapping[str, str]:
    """The stated values of sort, and where none is stated that of the stated query."""
    return {name: name for name in profile.search.sorts or (str(profile.search.query.get("sort", "")),)}


@check("SRCH-9", cases=_every_sort)
async def the_order_is_the_same_again(case: Case, sort: str) -> None:
    """A page that is read twice holds the same items in the same order, for every sort.

    A catalogue that changes in between changes once, or keeps its order; where each reading differs from the one
    before, and items that both have are in another order, the order changes.
    """
    need_stable_order(case)
    request = (await case.arrange()).with_query(sort=sort)
    readings: list[Answer] = []
    for number in range(_READINGS):
        readings.append(await read_page(case, request, first_page(case.profile), largest_page_size(case.profile)))
        if not readings[-1].ok:
            raise Inconclusive(f"sort={sort} was answered {readings[-1].summary}", readings[-1])
        if number and item_ids(case, readings[-1]) == item_ids(case, readings[-2]):
            break
    else:
        if not any(_is_reordered(*map(partial(item_ids, case), pair)) for pair in pairwise(readings)):
            raise Inconclusive(f"each reading of a page with sort={sort} has other items", *readings[:2])
        message = f"with sort={sort} the order changes with every request, and is stated not to"
        raise case.violation(message, *readings[:2], expected="the same items in the same order")
    if number > 1:
        raise Inconclusive(f"two readings of a page with sort={sort} differ", *readings[:2])


def _is_reordered(ids: list[str], other_ids: list[str]) -> bool:
    """Whether the ids that both lists have are in another order, or there are none."""
    common = [known for known in ids if known in other_ids]
    return not common or common != [known for known in other_ids if known in ids]
