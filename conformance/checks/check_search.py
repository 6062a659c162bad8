"""Product search: Search parameters (SRCH-1 to SRCH-6)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product
from typing import Any

from msgspec import structs

from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.registry import check
from conformance.checks.support.search_filters import FILTERS, unknown_value
from conformance.checks.support.search_pages import (
    first_page,
    item_ids,
    item_keys,
    items_of,
    largest_page_size,
    need_stable_order,
    page_sizes,
    read_page,
    suits,
)
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core.messages import join_values
from conformance.core.outcomes import Level
from conformance.profile.model import Profile

_PAGES = 4
_REQUIRED = ("q", "locale", "market", "sort", "page", "pageSize")


@check("SRCH-1", cases={name: name for name in _REQUIRED})
async def a_required_parameter_may_not_be_missing(case: Case, name: str) -> None:
    """A request without any one of the six required query parameters is answered 400."""
    await case.shared_negative(lambda request: request.without_query(name), {400}, f"no {name}", any_refusal=True)


def _filters(profile: Profile) -> dict[str, str]:
    """The stated values to filter by."""
    stated = {"category": profile.search.category, "merchant": profile.search.merchant}
    return {name: value for name, value in stated.items() if value}


@check("SRCH-1", cases={name: name for name in _REQUIRED})
async def a_filter_replaces_no_required_parameter(case: Case, name: str) -> None:
    """With category and merchant a request for the second page is answered 400 without a required parameter, too."""
    filters = _filters(case.profile)
    case.require_case(filters, "the profile states no value to filter by")
    await case.shared_negative(
        lambda request: request.with_query(**filters, page=str(first_page(case.profile) + 1)).without_query(name),
        {400},
        f"filters, the second page, and no {name}",
        any_refusal=True,
    )


@check("SRCH-2", cases={"category": ("category",), "merchant": ("merchant",), "both": ("category", "merchant")})
async def an_optional_parameter_may_be_missing(case: Case, names: tuple[str, ...]) -> None:
    """A query that is accepted with category and merchant is accepted without them."""
    request = await case.arrange(prove_control=False)
    full_request = request.with_query(
        **{name: value for name, value in _filters(case.profile).items() if name not in dict(request.query)}
    )
    without = await case.send(full_request.without_query(*names), f"no {' or '.join(names)}")
    if without.ok:
        return
    answer = await case.send(full_request, "with every optional parameter")
    if not answer.ok:
        raise control_failed(without)
    raise case.violation(
        f"without {' or '.join(names)} the query was not answered 200", answer, without, expected="200"
    )


@check("SRCH-2")
async def both_optional_parameters_may_be_there(case: Case) -> None:
    """A search for the category and the merchant of one item is answered 200 where each of them alone is."""
    search = case.profile.search
    places = {"category": search.item_category, "merchant": search.item_merchant}
    case.require_case(all(places.values()), "where an item shows its category and its merchant is not stated")
    request = await case.arrange()
    items = items_of(await case.good_answer())
    found = [values for item in items if len(values := _values_at(item, places)) == len(places)]
    case.require_case(found, "no item of the first page shows its category and its merchant")
    answer = await case.send_with_retry(request.with_query(**found[0]), "both filters, for one item", request)
    if answer.ok:
        return
    controls = [await case.control(request.with_query(**{name: value})) for name, value in found[0].items()]
    message = (
        "a search for the category and the merchant of one item was not answered 200, and one for each of them was"
    )
    raise case.violation(message, *controls, answer, expected="200")


def _values_at(item: Any, places: Mapping[str, str]) -> dict[str, str]:
    """By name, the text or the number at each place that has one."""
    values = {name: pointer.get(item, place) for name, place in places.items() if pointer.has(item, place)}
    return {name: str(value) for name, value in values.items() if isinstance(value, str) or type(value) is int}


def _not_integers(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, str, Level | None]]:
    """By case, the parameter, its value, and the level of the violation where that is debatable."""
    values = {"word": "abc", "fraction": "1.5", "nan": "NaN", "trailing-letter": "9x", "infinity": "Infinity",
              "underscore": "1_0"}  # fmt: skip
    defects = {f"{name}-{case}": (name, value, None) for name in ("page", "pageSize") for case, value in values.items()}
    first, size = first_page(profile), page_sizes(profile)[0]
    return {
        **defects,
        "page-line-feed": ("page", f"{first}\n", Level.RECOMMENDED),
        "page-hexadecimal": ("page", f"{first:#x}", Level.RECOMMENDED),
        "pageSize-space": ("pageSize", f" {size}", Level.RECOMMENDED),
    }


@check("SRCH-3", cases=_not_integers)
async def page_and_page_size_are_integers(case: Case, defect: tuple[str, str, Level | None]) -> None:
    """A page or pageSize that is not an integer is answered 400.

    White space around one, which some trim, is a warning, and so is a hexadecimal one, which some languages read.
    """
    name, value, level = defect
    await case.shared_negative(
        lambda request: request.with_query(**{name: value}), {400}, f"{name}={value!r}", any_refusal=True, level=level
    )


def _filter_for(case: Case, size: int) -> Mapping[str, str]:
    """The stated values of one filter, another one for each size in turn; none where none is stated."""
    stated = {name: value for name in FILTERS if (value := getattr(case.profile.search, name))}
    if not stated:
        return {}
    name = list(stated)[page_sizes(case.profile).index(size) % len(stated)]
    return {name: stated[name]}


def _by_size(profile: Profile, _operation: Operation) -> Mapping[str, int]:
    return {str(size): size for size in page_sizes(profile)}


@check("SRCH-4", cases=_by_size)
async def page_size_bounds_every_page(case: Case, size: int) -> None:
    """No page has more items than pageSize; a refused size is inconclusive, a refused page past the end is not.

    The third page that is read is one of a filtered result, where the profile states a value to filter by.
    """
    request, first = await case.arrange(), first_page(case.profile)
    filters = _filter_for(case, size)
    pages = [(request, first), (request, first + 1)]
    pages.append((request.with_query(**filters), first) if filters else (request, first + 2))
    for search, page in pages:
        answer = await read_page(case, search, page, size)
        if not answer.ok and page > first and case.profile.search.past_the_end in ("refused", "not_found"):
            return
        if not answer.ok:
            raise Inconclusive(f"page {page} of pageSize {size} was answered {answer.summary}", answer)
        if len(items_of(answer)) > size:
            observed = f"{len(answer.data)} items"
            raise case.violation(
                f"page {page} is longer than pageSize", answer, expected=f"at most {size}", observed=observed
            )


@check("SRCH-5", cases={**{name: (name,) for name in FILTERS}, "both": FILTERS})
async def a_filter_narrows_the_result(case: Case, names: tuple[str, ...]) -> None:
    """Every item of a filtered result has the requested value, with two filters both.

    With one filter the second page is read too, and another value is tried that an item has; with both filters, whose
    result is short, a first page of the largest size.
    """
    search = case.profile.search
    values, places = {}, {}
    for name in names:
        values[name], places[name] = getattr(search, name), getattr(search, f"item_{name}")
        case.need(values[name], f"search.{name}", "a value to filter by is needed")
        case.need(places[name], f"search.item_{name}", "the place of the value in an item is needed")
    request = await case.arrange()
    filter_text = " and ".join(f"{name}={value}" for name, value in values.items())
    answer = await case.control(request.with_query(**values), filter_text)
    first = first_page(case.profile)
    page, size = (
        (first + 1, page_sizes(case.profile)[0]) if len(names) == 1 else (first, largest_page_size(case.profile))
    )
    further = await read_page(case, answer.request, page, size)
    for item, name in product([*items_of(answer), *(items_of(further) if further.ok else ())], names):
        if not suits(item, places[name], values[name]):
            found = pointer.get(item, places[name]) if pointer.has(item, places[name]) else None
            message = f"an item of another {name} is listed"
            raise case.violation(message, answer, further, expected=str(values[name]), observed=str(found))
    if not answer.data and len(names) == 1:  # with two filters the result may be empty
        await _expect_nothing_to_find(case, request, answer, names[0])
    if len(names) == 1:
        await _expect_other_value_narrows(case, request, names[0], places[names[0]])


@check("SRCH-5")
async def a_filter_narrows_in_every_locale_and_market(case: Case) -> None:
    """With both filters, a page in another stated locale or market lists no item of another value.

    Which text an item shows is open: it may be one of that locale, and not every item need be translated. Where texts
    differ, it is the item's text in the locale and market of the stated query that counts.
    """
    search = case.profile.search
    names = [name for name in FILTERS if getattr(search, name)]
    case.need(names, f"search.{FILTERS[0]}", "a value to filter by is needed")
    filters = {name: getattr(search, name) for name in names if getattr(search, f"item_{name}")}
    case.need(filters, f"search.item_{names[0]}", "the place of the value in an item is needed")
    request = (await case.arrange()).with_query(**filters)
    lists = (("locale", search.locales), ("market", search.markets))
    usual = dict(request.query)
    others = [(name, value) for name, values in lists for value in values if value != usual.get(name)]
    case.require_case(others, "the profile states no other locale or market")
    for parameter, other in others:
        changed = request.with_query(**{parameter: other})
        answer = await read_page(case, changed, first_page(case.profile), largest_page_size(case.profile))
        for name in filters:
            values = {value for item in items_of(answer) for value in _texts_at(item, getattr(search, f"item_{name}"))}
            if answer.ok and len(values) > 1 and await _lists_another_value(case, request, name, answer):
                message = f"with {parameter}={other}, a search by {name} lists items that differ in it"
                observed = join_values(sorted(values)[:3])
                raise case.violation(message, answer, expected="items of one value", observed=observed)


async def _lists_another_value(case: Case, request: Request, name: str, answer: Answer) -> bool:
    """Whether a page lists an item that the stated query finds without the filter, and with another value.

    Not so where the stated query finds items of two values with the filter, too.
    """
    search, place = case.profile.search, getattr(case.profile.search, f"item_{name}")
    first, size = first_page(case.profile), largest_page_size(case.profile)
    usual = await read_page(case, request, first, size)
    values = {value for item in items_of(usual) for value in _texts_at(item, place)} or {getattr(search, name)}
    if len(values) > 1:
        return False
    if search.item_id is None:
        return not any(values & set(_texts_at(item, place)) for item in items_of(answer))
    whole = await read_page(case, request.without_query(name), first, size)
    texts = zip(item_ids(case, whole), (set(_texts_at(item, place)) for item in items_of(whole)), strict=True)
    others = {item_id for item_id, found in texts if item_id and found and not found & values}
    return not others.isdisjoint(item_ids(case, answer))


def _texts_at(item: Any, place: str) -> list[str]:
    value = pointer.get(item, place) if pointer.has(item, place) else None
    return [value] if isinstance(value, str) else []


async def _expect_other_value_narrows(case: Case, request: Request, name: str, place: str) -> None:
    """Violated where a value that an unfiltered item has, other than the stated one, lists items without it.

    For categories that is recorded alone: one may hold others, and list their items.
    """
    stated = getattr(case.profile.search, name)
    items = items_of(await case.good_answer())
    found = [pointer.get(item, place) for item in items if pointer.has(item, place) and not suits(item, place, stated)]
    other = next((value for value in found if isinstance(value, str) and value), None)
    if other is None:
        return
    answer = await case.send_with_retry(request.with_query(**{name: other}), f"{name}={other}", request)
    for item in items_of(answer) if answer.ok else ():
        if not suits(item, place, other):
            observed = str(pointer.get(item, place) if pointer.has(item, place) else None)
            message = f"with another {name}, an item without it is listed"
            if name != "category":
                raise case.violation(message, answer, expected=other, observed=observed)
            case.note(f"{message}: {observed} for {other}")
            return


@check("SRCH-5", cases={name: name for name in FILTERS})
async def a_filter_of_0_is_a_filter(case: Case, name: str) -> None:
    """A search with the filter "0", which is false in some languages, lists no item of another value.

    Where the values are numbers, 0 may stand for all of them.
    """
    search, zero = case.profile.search, "0"
    value, place, treatment = (getattr(search, fact) for fact in (name, f"item_{name}", f"unknown_{name}"))
    case.need(value, f"search.{name}", "the form of a value to filter by is needed")
    case.need(place, f"search.item_{name}", "the place of the value in an item is needed")
    case.require_case(not value.isdecimal(), f"the values of {name} are numbers, of which 0 may stand for all")
    case.require_case(treatment != "ignored", f"an unknown {name} is ignored, as stated")
    case.require_case(items_of(await case.good_answer()), "the search lists no item")
    request = await case.arrange()
    answer = await case.send_with_retry(request.with_query(**{name: zero}), f"{name}={zero}", request)
    known = [item for item in (items_of(answer) if answer.ok else ()) if pointer.has(item, place)]
    others = [item for item in known if pointer.get(item, place) and not suits(item, place, zero)]
    if not others:
        return
    unknown = request.with_query(**{name: unknown_value(value)})
    if not treatment:
        listed = await case.send_with_retry(unknown, f"an unknown {name}", request)
        is_ignored = listed.ok and bool(items_of(listed))
        case.need(not is_ignored, f"search.unknown_{name}", f"what an unknown {name} is, is needed")
    message, observed = f"with {name}={zero} an item of another {name} is listed", str(pointer.get(others[0], place))
    raise case.violation(message, answer, expected=zero, observed=observed)


async def _expect_nothing_to_find(case: Case, request: Request, filtered: Answer, name: str) -> None:
    """Violated where a search without the filter lists an item of its value; otherwise nothing is known."""
    value, place = getattr(case.profile.search, name), getattr(case.profile.search, f"item_{name}")
    first, size = first_page(case.profile), largest_page_size(case.profile)
    whole, large = [await read_page(case, part, first, size) for part in (request, request.with_query(**{name: value}))]
    if large.ok and items_of(large):
        raise Inconclusive(f"only larger pages show items of the {name} {value!r}", filtered, large, cause="SRCH-9")
    for item in items_of(whole) if whole.ok else ():
        if pointer.has(item, place) and pointer.get(item, place) == value:
            message = f"a search with {name}={value} finds nothing, although one without it lists such an item"
            raise case.violation(message, whole, large, expected="the items of that value", observed="none")
    raise Inconclusive(f"no item has the {name} {value!r}", filtered)


async def _pages_before_the_end(case: Case, request: Request, pages: list[Answer], size: int) -> list[Answer]:
    """The pages up to a short one, which is the last, where the profile does not state what follows that.

    Another one may be shown again in place of those that do not exist, also behind a full last one: a page that equals
    another one counts where a larger page has more items than the pages before it hold.
    """
    if case.profile.search.past_the_end:
        return pages
    last = next((number for number, page in enumerate(pages) if len(items_of(page)) < size), len(pages))
    large = await read_page(case, request, first_page(case.profile), largest_page_size(case.profile))
    count, found = len(items_of(large)) if large.ok else 0, [item_keys(case, page) for page in pages]
    return [page for n, page in enumerate(pages[: last + 1]) if n * size < count or found[n] not in found[:n]]


@check("SRCH-6")
async def another_page_shows_other_items(case: Case) -> None:
    """With a stable order no two pages share an item, for two small page sizes."""
    need_stable_order(case)
    request = await case.arrange()
    sizes = page_sizes(case.profile)
    for size in sizes:
        pages = [await read_page(case, request, first_page(case.profile) + number, size) for number in range(_PAGES)]
        found = [page for page in pages if page.ok and items_of(page)]
        filled_pages = await _pages_before_the_end(case, request, found, size)
        if len(filled_pages) < 2:
            if size == sizes[0]:
                raise Inconclusive(f"there are not two pages of pageSize {size}", *pages[:2])
            case.note(f"there are not two pages of pageSize {size}")
            break
        ids = [set(item_ids(case, page)) for page in filled_pages]
        for first, second in combinations(range(len(filled_pages)), 2):
            if ids[first] & ids[second]:
                await _expect_unchanged(case, request, size, pages)
                observed = str(ids[second])
                message = "two pages show the same item"
                raise case.violation(
                    message, filled_pages[first], filled_pages[second], expected="others", observed=observed
                )
        if longer := [page for page in filled_pages if len(items_of(page)) > size]:
            raise Inconclusive("a page is longer than pageSize", *longer[:1], cause="SRCH-4")


async def _expect_unchanged(case: Case, request: Request, size: int, pages: list[Answer]) -> None:
    """Inconclusive where a second reading of the pages differs: a product may have come while they were read."""
    for number, page in enumerate(pages):
        repeat = await read_page(case, request, first_page(case.profile) + number, size)
        if page.ok and repeat.ok and item_ids(case, repeat) != item_ids(case, page):
            raise Inconclusive(f"two readings of a page of pageSize {size} differ", page, repeat)


_ODD = {"plus": ("page", "+1"), "zeros": ("page", "01"), "blank": ("page", ""), "zero": ("page", "0"),
        "negative": ("page", "-1"), "huge": ("page", "9" * 40), "far": ("page", "2000000"),
        "size-huge": ("pageSize", "9" * 40),
        "sort": ("sort", "no-such-sort"), "locale": ("locale", "xx-XX"), "market": ("market", "ZZ"),
        "unknown": ("xConformanceProbe", "1"), "backslash": ("q", "gift\\"), "apostrophe": ("q", "o'neill"),
        "category": ("category", "o'neill"), "merchant": ("merchant", "o'neill"),
        "operators": ("q", '"([+-!&|:*'), "wildcards": ("q", "%_*?~^"), "words": ("q", "AND OR NOT")}  # fmt: skip


@check("SRCH-7", cases=_ODD)
async def odd_values_are_recorded(case: Case, odd: tuple[str, str]) -> None:
    """The answers to unusual parameter values are recorded; only a 5xx fails."""
    request = await case.arrange()
    answer = await case.send_with_retry(request.with_query(**{odd[0]: odd[1]}), f"{odd[0]}={odd[1]}", request)
    case.note(f"{odd[0]}={odd[1][:12]} is answered {answer.summary}")


@check("SRCH-7")
async def a_repeated_parameter_is_survived(case: Case) -> None:
    """A parameter that is sent twice, with different values, has any declared status; only a 5xx fails."""
    request = await case.arrange()
    statuses = {}
    for name in ("q", "page", "category"):
        query = (*request.without_query(name).query, (name, "1"), (name, "2"))
        answer = await case.send_with_retry(structs.replace(request, query=query), f"{name} twice", request)
        statuses[name] = answer.summary
    case.note("sent twice: " + join_values(f"{name} {status}" for name, status in statuses.items()))
