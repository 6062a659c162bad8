"""Product search: what the profile states of unusual parameter values (SRCH-8)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.search_pages import first_page, item_ids, items_of
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.profile.behavior import Search
from conformance.profile.model import Profile

_REFUSALS = {"refused": 400, "not_found": 404}
_FAR = (1_000, 1_000_000)
_MOST_PAGES = 20


class UnusualValue(NamedTuple):
    """One unusual value of a parameter. `treatment` is the profile's word for what a search does with it."""

    fact: str
    parameter: str
    value: str
    treatment: str
    usual: str | None = None
    """The value with which a search does the same; None: without the parameter."""


def _unusual_values(search: Search) -> Mapping[str, list[UnusualValue]]:
    unknown = f"no-such-{uuid4().hex[:12]}"
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
        "past-the-end": [UnusualValue("past_the_end", "page", str(first + n), past) for n in _FAR],
        "empty-q": [UnusualValue("empty_q", "q", "", search.empty_q)],
        "unknown-category": [UnusualValue("unknown_category", "category", unknown, search.unknown_category)],
        "unknown-merchant": [UnusualValue("unknown_merchant", "merchant", unknown, search.unknown_merchant)],
        "unknown-parameter": [UnusualValue("unknown_parameter", unknown, "1", search.unknown_parameter)],
    }


@check("SRCH-8", cases={name: name for name in _unusual_values(Search())})
async def an_unusual_value_is_treated_as_stated(case: Case, name: str) -> None:
    """An unusual value of a query parameter is refused, clamped, ignored or answered with a list, as stated."""
    search = case.profile.search
    values = _unusual_values(search)[name]
    bound = {"page-size-above": "page_size_max", "page-size-below": "page_size_min"}.get(name, "")
    case.need(not bound or values, f"search.{bound}", "the bound of pageSize is needed")
    case.need(values[0].treatment, f"search.{values[0].fact}", "what happens then is needed")
    request = await case.arrange()
    for unusual in values:
        await _expect_treatment(case, request, unusual)


async def _expect_treatment(case: Case, request: Request, unusual: UnusualValue) -> None:
    query = {unusual.parameter: unusual.value}
    text = f"{unusual.parameter}={unusual.value}"
    changed = request.with_query(**query)
    message = f"{text} was not treated as search.{unusual.fact} = {unusual.treatment!r} states"
    if status := _REFUSALS.get(unusual.treatment):
        await case.shared_negative(lambda good: good.with_query(**query), {status}, text, message=message)
        category = case.profile.search.category
        if unusual.parameter == "pageSize" and category:  # a filter has a code path of its own
            filtered = {**query, "category": category}
            text = f"{text} with a category"
            await case.shared_negative(lambda good: good.with_query(**filtered), {status}, text, message=message)
        return
    answer = await case.send_with_retry(changed, text, request)
    if not answer.ok:
        raise case.violation(message, answer, expected="200")
    items = items_of(answer)
    if items and unusual.parameter == "page" and items == items_of(await case.control(request)):
        raise Inconclusive("a page past the end is the first page", answer, cause="SRCH-6")
    if unusual.treatment in ("empty", "nothing") and items:
        raise case.violation(message, answer, expected="an empty list", observed=f"{len(items)} items")
    if unusual.treatment == "everything" and not items:
        raise case.violation(message, answer, expected="a list that is not empty", observed="no items")
    if unusual.treatment == "everything":
        await _expect_no_fewer(case, request, changed, message)
    if unusual.treatment in ("clamped", "ignored"):
        await _expect_same(case, request, unusual, answer, message)


async def _expect_no_fewer(case: Case, request: Request, changed: Request, message: str) -> None:
    """What finds everything has on its first page, of the largest size, no fewer items than the usual search has."""
    page = {"page": str(first_page(case.profile)), "pageSize": str(case.profile.search.page_size_max or 20)}
    usual = await case.control(request.with_query(**page))
    answer = await case.send_with_retry(changed.with_query(**page), "everything", request)
    expected, observed = len(items_of(usual)), len(items_of(answer))
    if observed < expected:
        raise case.violation(message, usual, answer, expected=f"{expected} items", observed=f"{observed} items")


async def _expect_same(case: Case, request: Request, unusual: UnusualValue, answer: Answer, message: str) -> None:
    """The answer lists what the usual request lists: the same items in a stable order, otherwise no more of them."""
    name, value = unusual.parameter, unusual.usual
    usual_request = request.without_query(name) if value is None else request.with_query(**{name: value})
    usual = await case.control(usual_request)
    expected, observed = items_of(usual), items_of(answer)
    search = case.profile.search
    if search.stable_sort and search.item_id:
        usual_ids = item_ids(case, usual)
        is_stable = usual_ids == item_ids(case, await case.control(usual_request))
        is_same = item_ids(case, answer) == usual_ids or not is_stable
    else:
        is_same = value is None or len(observed) <= int(value)
    if not is_same:
        raise case.violation(
            message, usual, answer, expected=f"{len(expected)} items", observed=f"{len(observed)} items or others"
        )


@check("SRCH-8", cases={"largest": "page_size_max", "smallest": "page_size_min"})
async def a_page_size_at_its_bound_is_accepted(case: Case, fact: str) -> None:
    """A search with the largest pageSize, and with the smallest one, is answered 200."""
    bound = getattr(case.profile.search, fact)
    case.need(bound is not None, f"search.{fact}", "the bound of pageSize is needed")
    request = await case.arrange()
    answer = await case.send_with_retry(request.with_query(pageSize=str(bound)), f"pageSize={bound}", request)
    if not answer.ok:
        raise case.violation(f"pageSize={bound} is search.{fact}, and was refused", answer, expected="200")


@check("SRCH-8", cases={"ascii": "a", "two-bytes": "é"})
async def a_search_text_ends_at_the_stated_length(case: Case, character: str) -> None:
    """A q of the stated length is answered 200, one of a character more 400."""
    longest = case.profile.search.q_max
    case.need(longest, "search.q_max", "the longest q is needed")
    assert longest is not None
    request = await case.arrange()
    at_bound = request.with_query(q=character * longest)
    answer = await case.send_with_retry(at_bound, f"q of {longest} characters", request)
    if not answer.ok:
        raise case.violation(f"a q of {longest} characters was refused", answer, expected="200")
    for length in (longest + 1, 2 * longest):
        too_long = partial(_with_value, name="q", value=character * length)
        await case.shared_negative(too_long, {400}, f"q of {length} characters")


def _with_value(request: Request, name: str, value: str) -> Request:
    return request.with_query(**{name: value})


_LISTS = {"sort": "sorts", "locale": "locales", "market": "markets"}


def _listed_values(profile: Profile, _operation: Operation) -> Mapping[str, tuple[str, str]]:
    """Every stated value of sort, locale and market; where none is stated, one case that says so."""
    return {
        f"{name}-{value}" if value else name: (name, value)
        for name, fact in _LISTS.items()
        for value in (*getattr(profile.search, fact),) or ("",)
    }


@check("SRCH-8", cases=_listed_values)
async def a_listed_value_is_accepted(case: Case, listed: tuple[str, str]) -> None:
    """A search with each stated value of sort, locale and market is answered 200."""
    name, value = listed
    case.need(value, f"search.{_LISTS[name]}", "the allowed values are needed")
    request = await case.arrange()
    text = f"{name}={value}"
    answer = await case.send_with_retry(request.with_query(**{name: value}), text, request)
    if not answer.ok:
        raise case.violation(f"{text} is one of search.{_LISTS[name]}, and was refused", answer, expected="200")


@check("SRCH-8", cases=_LISTS)
async def an_unlisted_value_is_treated_as_stated(case: Case, fact: str) -> None:
    """A sort, locale or market outside the stated list is refused, or ignored, as stated."""
    search, name = case.profile.search, next(name for name in _LISTS if _LISTS[name] == fact)
    values: Any = getattr(search, fact)
    case.need(values, f"search.{fact}", "the allowed values are needed")
    case.need(search.unlisted, "search.unlisted", "what happens with another value is needed")
    request = await case.arrange()
    listed = next(iter(values))
    for value in (f"{listed}x", listed[:-1], "no-such-value"):
        if value and value.casefold() not in {known.casefold() for known in values}:
            text = f"{name}={value}"
            changed = request.with_query(**{name: value})
            if search.unlisted == "refused":
                await case.shared_negative(partial(_with_value, name=name, value=value), {400}, text)
            elif not (answer := await case.send_with_retry(changed, text, request)).ok:
                raise case.violation(f"{text} was refused, and search.unlisted is 'ignored'", answer, expected="200")
            elif not items_of(answer):
                await _expect_an_empty_one(case, request, name, answer)


async def _expect_an_empty_one(case: Case, request: Request, name: str, answer: Answer) -> None:
    """Violated unless one of the listed values finds nothing either: an ignored value is as good as one of them."""
    for listed in getattr(case.profile.search, _LISTS[name]):
        if not items_of(await case.control(request.with_query(**{name: listed}))):
            return
    message = f"an unlisted {name} found nothing, and search.unlisted is 'ignored'"
    raise case.violation(message, answer, expected="what one of the listed values finds", observed="no items")


@check("SRCH-8")
async def the_page_after_the_last_is_treated_as_stated(case: Case) -> None:
    """The first page that has no item is an empty list, 400 or 404, as stated for pages past the end."""
    search = case.profile.search
    case.need(search.past_the_end, "search.past_the_end", "what such a page is, is needed")
    case.need(search.page_size_max, "search.page_size_max", "the largest pageSize is needed")
    request = (await case.arrange()).with_query(pageSize=str(search.page_size_max))
    first, total = first_page(case.profile), 0
    for page in range(first, first + _MOST_PAGES):
        found = await _items_or_past_the_end(case, request, page)
        if found:
            total += found
            continue
        size = _full_size(search, total)
        if page > first and size:
            await _items_or_past_the_end(case, request.with_query(pageSize=str(size)), first + total // size)
        return
    case.require_case(False, f"there are more than {_MOST_PAGES} pages of the largest size")


def _full_size(search: Search, total: int) -> int | None:
    """The largest page size that divides this number of items; None if there is none."""
    assert search.page_size_max is not None
    sizes = range(min(search.page_size_max, total), (search.page_size_min or 1) - 1, -1)
    return next((size for size in sizes if total % size == 0), None)


async def _items_or_past_the_end(case: Case, request: Request, page: int) -> int:
    """The number of items of a page. Violated where it has none and is not answered as pages past the end are."""
    answer = await case.send_with_retry(request.with_query(page=str(page)), f"page {page}", request)
    expected = _REFUSALS.get(case.profile.search.past_the_end, 200)
    found = len(items_of(answer)) if answer.ok else 0
    if not found and answer.status != expected and page > first_page(case.profile):
        message = f"page {page} has no item, and was not answered {expected}"
        raise case.violation(message, answer, expected=str(expected))
    return found
