"""Product search: what the profile states of unusual parameter values (SRCH-8)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from conformance.checks.support.case import Case
from conformance.checks.support.fixture_states import states_in_path
from conformance.checks.support.last_pages import REFUSALS, expect_no_last_page_again, items_or_past_the_end
from conformance.checks.support.page_sizes import expect_size_kept, parameters_beside_a_size
from conformance.checks.support.registry import check
from conformance.checks.support.search_filters import expect_refused_otherwise, has_form_of, resembling_values
from conformance.checks.support.search_lists import LISTS, is_accepted_in_a_pair, unlisted_code
from conformance.checks.support.search_pages import (
    first_page,
    full_size,
    is_page_of_result,
    item_ids,
    item_keys,
    items_of,
    read_page,
    suits,
)
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.unusual_search_values import UnusualValue, unusual_values
from conformance.checks.support.url_spellings import percent_encode_all
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core.outcomes import Level
from conformance.judge.answer_scope import LONG_URL
from conformance.profile.behavior import Search
from conformance.profile.model import Profile

_WORDS = (2**32, 2**64)
"""By these a counter of 32 or 64 bits begins again."""
_LEAST_POWER, _MOST_ITEMS = 4, 1024
_OF_OTHER_INTERFACES = {"limit": "1", "offset": "1", "size": "1", "per_page": "1", "fields": "id"}
"""Parameters that other interfaces know."""
_MOST_PAGES = 20
_LONGEST_SENT = 2**20


@check("SRCH-8", cases={name: name for name in unusual_values(Search())})
async def an_unusual_value_is_treated_as_stated(case: Case, name: str) -> None:
    """An unusual value of a query parameter is refused, clamped, ignored or answered with a list, as stated."""
    search = case.profile.search
    values = unusual_values(search)[name]
    bound = {"page-size-above": "page_size_max", "page-size-below": "page_size_min"}.get(name, "")
    case.need(not bound or values, f"search.{bound}", "the bound of pageSize is needed")
    case.require_case(values, "search.page_max is the first page")
    case.need(values[0].treatment, f"search.{values[0].fact}", "what happens then is needed")
    request = await case.arrange()
    for number, unusual in enumerate(values):
        if name == "past-the-end" and await is_page_of_result(case, request, int(unusual.value)):
            case.note(f"the search has a page {unusual.value}")
            continue
        await _expect_treatment(case, _with_filter(case, request, name, unusual is values[-1]), unusual)
        if unusual.parameter == "pageSize" and unusual.treatment == "clamped" and unusual is values[0]:
            await _expect_second_page(case, request, unusual)
        if unusual.parameter == "pageSize":
            for parameters in parameters_beside_a_size(search)[number :: len(values)]:
                query, status = {"pageSize": unusual.value, **parameters}, REFUSALS.get(unusual.treatment)
                await expect_size_kept(case, request, query, status, f"search.{unusual.fact} = {unusual.treatment!r}")
    if name == "past-the-end":
        await _expect_no_first_page_again(case, request)


async def _expect_second_page(case: Case, request: Request, unusual: UnusualValue) -> None:
    """The second page of a size that is clamped begins where the first one of the clamped size ends."""
    assert unusual.usual is not None
    second = first_page(case.profile) + 1
    usual = await read_page(case, request, second, int(unusual.usual))
    if usual.ok and items_of(usual):
        await _expect_treatment(case, request.with_query(page=str(second)), unusual)


def _with_filter(case: Case, request: Request, name: str, is_last: bool) -> Request:
    """The last page number past the end is one of a filtered search: a filter has a code path of its own."""
    category = case.profile.search.category
    return request.with_query(category=category) if name == "past-the-end" and is_last and category else request


async def _expect_no_first_page_again(case: Case, request: Request) -> None:
    """A page is refused or past the end where its number, or that of its first item, is beyond 32 or 64 bits."""
    first = first_page(case.profile)
    queries = [{"page": str(word + first)} for word in _WORDS]
    # by a page of a power of two, whose number fits where that of its item does not, an item's number begins at 0 again
    if (largest := case.profile.search.page_size_max or 0) >= _LEAST_POWER:
        size = 1 << min(largest, _MOST_ITEMS).bit_length() - 1
        queries += [{"page": str(word // size + first), "pageSize": str(size)} for word in _WORDS]
    for query in queries:
        text = " and ".join(f"{name}={value}" for name, value in query.items())
        answer = await case.send_with_retry(request.with_query(**query), text, request)
        if answer.ok and items_of(answer):
            message = f"{text} has items, although no page far past the end has any"
            raise case.violation(message, answer, expected="a refusal or an empty list")


async def _expect_treatment(case: Case, request: Request, unusual: UnusualValue) -> None:
    query = {unusual.parameter: unusual.value}
    text = f"{unusual.parameter}={unusual.value}"
    if unusual.fact == "unknown_parameter" and unusual.treatment == "ignored":
        sent = dict(request.query)
        others = {name: value for name, value in _OF_OTHER_INTERFACES.items() if name not in _names_in_use(case, sent)}
        query, text = {**query, **others}, f"{text}, {', '.join(others)}"
    changed = request.with_query(**query)
    message = f"{text} was not treated as search.{unusual.fact} = {unusual.treatment!r} states"
    # an index may refuse what is far away (Elasticsearch, index.max_result_window)
    is_too_far = unusual.fact == "past_the_end" and case.profile.search.page_max is None
    if status := REFUSALS.get(unusual.treatment):
        allowed = {status, 400} if is_too_far else {status}
        await _refuse(case, query, allowed, text, message=message)
        return
    answer = await case.send_with_retry(changed, text, request)
    if is_too_far and answer.status == 400:
        case.note(f"{text} is refused, and search.page_max is not stated")
        return
    if not answer.ok:
        raise case.violation(message, answer, expected="200")
    items, keys = items_of(answer), item_keys(case, answer)
    if items and unusual.parameter == "page" and keys == item_keys(case, await case.control(request)):
        raise Inconclusive("a page past the end is the first page", answer, cause="SRCH-6")
    if unusual.treatment in ("clamped", "ignored"):
        await _expect_same(case, request, unusual, answer, message)
    elif unusual.treatment == "everything":
        await _expect_everything(case, request, changed, answer, message)
    elif items:
        raise case.violation(message, answer, expected="an empty list", observed=f"{len(items)} items")


def _names_in_use(case: Case, sent: Mapping[str, str]) -> frozenset[str]:
    """The query parameters that the profile states, besides those of the interface."""
    idempotency = case.profile.idempotency
    return frozenset({*sent, case.profile.search.cursor_parameter, idempotency.name if idempotency else ""})


async def _expect_everything(case: Case, request: Request, changed: Request, first: Answer, message: str) -> None:
    """What finds everything has on its first page, of the largest size, no fewer items than the usual search has."""
    if not items_of(first) and "search.item_id" not in case.profile.exclusions:  # excluded where the catalogue is empty
        raise case.violation(message, first, expected="a list that is not empty", observed="no items")
    page = {"page": str(first_page(case.profile)), "pageSize": str(case.profile.search.page_size_max or 20)}
    usual = await case.control(request.with_query(**page))
    answer = await case.send_with_retry(changed.with_query(**page), "everything", request)
    expected, observed = len(items_of(usual)), len(items_of(answer))
    if observed < expected:
        raise case.violation(message, usual, answer, expected=f"{expected} items", observed=f"{observed} items")


async def _expect_same(case: Case, request: Request, unusual: UnusualValue, answer: Answer, message: str) -> None:
    """The answer lists what the usual request lists: the same items in a stable order, otherwise no more of them.

    Both requests are sent twice: a product may come in between.
    """
    name, value = unusual.parameter, unusual.usual
    usual_request = request.without_query(name) if value is None else request.with_query(**{name: value})
    usual = await case.control(usual_request)
    expected, observed = items_of(usual), items_of(answer)
    search = case.profile.search
    if search.stable_sort and search.item_id is not None:
        usual_ids, found = item_ids(case, usual), item_ids(case, answer)
        if found != usual_ids:
            found = item_ids(case, await case.send_with_retry(answer.request, f"{name}={unusual.value} again"))
        is_stable = usual_ids == item_ids(case, await case.control(usual_request))
        is_same = found == usual_ids or not is_stable
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


_CHARACTERS = {"ascii": ("a", "a"), "two-bytes": ("é", "\U0001f642")}
"""What a long text consists of, and its last character, which may be of two UTF-16 units."""


@check("SRCH-8", cases=_CHARACTERS)
async def a_search_text_ends_at_the_stated_length(case: Case, characters: tuple[str, str]) -> None:
    """A q of the stated length is answered 200, one of a character more 400.

    A character beyond 16 bits counts once, unless a short q with it is refused too. Far above the length a gateway may
    refuse the line of the request first, with 414 (RFC 9110, section 15.5.15).
    """
    longest = case.profile.search.q_max
    case.need(longest, "search.q_max", "the longest q is needed")
    assert longest is not None
    case.require_case(longest <= _LONGEST_SENT, f"{longest:,} characters are too many for a URL")
    request = await case.arrange()
    character, last = characters
    answer = await _answer_to_text(case, request, character * (longest - 1) + last)
    if not answer.ok and last != character and not (await _answer_to_text(case, request, character + last)).ok:
        last = character
        answer = await _answer_to_text(case, request, character * longest)
    case.require_case(answer.ok or not _is_long(answer), f"{longest} characters may be too many for a URL")
    if answer.status == 404 and case.profile.search.past_the_end == "not_found":
        short = await case.send_with_retry(request.with_query(q="zqxjvwk"), "a q that finds nothing", request)
        case.require_case(short.status != 404, "a search that finds nothing is answered 404, as a page past the end")
    if not answer.ok:
        raise case.violation(f"a q of {longest} characters was refused", answer, expected="200")
    for length, refusals in ((longest + 1, {400}), (2 * longest, {400, 414})):
        url_length = len(answer.url) + len(quote(character)) * (length - longest)
        allowed = refusals | ({414, 431} if url_length > LONG_URL else set())
        await _refuse(case, {"q": character * (length - 1) + last}, allowed, f"q of {length} characters")


async def _answer_to_text(case: Case, request: Request, text: str) -> Answer:
    return await case.send_with_retry(request.with_query(q=text), f"q of {len(text)} characters", request)


def _is_long(answer: Answer) -> bool:
    """Whether a URL may be refused for its length in octets, and is so, by a component in front of the service."""
    return len(answer.url) > LONG_URL and answer.status in (None, 400, 414, 431)


async def _refuse(
    case: Case, query: Mapping[str, str], allowed: set[int], text: str, *, message: str = "", level: Level | None = None
) -> None:
    """Such a search is refused as stated; a status that the interface does not declare is STA-1's question."""

    def change(request: Request) -> Request:
        return request.with_query(**query)

    await case.shared_negative(change, allowed, text, message=message, any_refusal=True, level=level)


def _listed_values(profile: Profile, _operation: Operation) -> Mapping[str, tuple[str, str]]:
    """Every stated value of sort, locale and market; where none is stated, one case that says so."""
    return {
        f"{name}-{value}" if value else name: (name, value)
        for name, fact in LISTS.items()
        for value in (*getattr(profile.search, fact),) or ("",)
    }


@check("SRCH-8", cases=_listed_values)
async def a_listed_value_is_accepted(case: Case, listed: tuple[str, str]) -> None:
    """A search with each stated value of sort, locale and market is answered 200, a locale with one of the markets.

    Each control has sent the value of the stated query, so that this one is sent percent-encoded: a letter and its
    encoding are equivalent (RFC 3986, sections 2.3 and 6.2.2.2).
    """
    name, value = listed
    case.need(value, f"search.{LISTS[name]}", "the allowed values are needed")
    request = await case.arrange()
    text, changed = f"{name}={value}", request.with_query(**{name: value})
    if is_usual := dict(request.query).get(name) == value:
        encoded = percent_encode_all(value)
        text, changed = f"{name}={encoded}, which is {value},", request.with_raw_query(name, encoded)
    answer = await case.send_with_retry(changed, text, request)
    if not answer.ok and (is_usual or not await is_accepted_in_a_pair(case, changed, name, answer)):
        raise case.violation(f"{text} is one of search.{LISTS[name]}, and was refused", answer, expected="200")


@check("SRCH-8", cases={"category": "category", "merchant": "merchant"})
async def a_value_that_resembles_another_one_is_unknown(case: Case, name: str) -> None:
    """A part of a known category or merchant, or a pattern, finds no item of the known one, as unknown values do.

    It may exist in spite of that; then the items have it.
    """
    search = case.profile.search
    known, place = getattr(search, name), getattr(search, f"item_{name}")
    treatment = getattr(search, f"unknown_{name}")
    case.need(treatment, f"search.unknown_{name}", "what happens then is needed")
    case.need(known, f"search.{name}", "a value to filter by is needed")
    case.need(place, f"search.item_{name}", "the place of the value in an item is needed")
    case.require_case(treatment != "ignored", "an unknown value is ignored, as stated")
    values = resembling_values(known)
    case.require_case(values, f"the {name} {known!r} does not end with a word in lower case")
    request = await case.arrange()
    other_name = "merchant" if name == "category" else "category"
    other, largest = getattr(search, other_name), search.page_size_max
    for value in values:
        query, is_beside_other = {name: value}, value is values[0] and other and largest
        if is_beside_other:
            query |= {other_name: other, "pageSize": str(largest)}
        answer = await case.send_with_retry(request.with_query(**query), f"{name}={value}", request)
        if is_beside_other and treatment == "empty" and answer.is_refused:
            await expect_refused_otherwise(case, request, answer, {name: known}, {name: value})
        items = items_of(answer) if answer.ok else []
        if any(suits(item, place, known) and not suits(item, place, value) for item in items):
            message = f"{name}={value} finds items of {known!r}, and an unknown {name} is {treatment!r}, as stated"
            raise case.violation(message, answer, expected=f"no item of the {name} {known}")


def _stores(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, str] | None]:
    """The states of stores but the default one, whose slug is mostly the stated merchant."""
    return dict(list(states_in_path(profile, _STORE).items())[1:]) or {"": None}


_STORE = "listPublicMerchantProducts"


@check("SRCH-8", cases=_stores)
async def a_store_of_every_state_can_be_searched(case: Case, state: tuple[str, str] | None) -> None:
    """Where an unknown merchant finds nothing or is ignored, no slug of a store is refused.

    Where merchants are ids, a slug is malformed as one.
    """
    treatment = case.profile.search.unknown_merchant
    case.need(treatment, "search.unknown_merchant", "what happens then is needed")
    case.require_case(treatment in ("empty", "ignored"), "an unknown merchant is refused, and so a slug may be")
    case.require_case(state, "stores have one state")
    assert state is not None
    request = await case.arrange()
    store = await case.arrange(case.contract.operations[_STORE], use={state[0]: state[1]}, prove_control=False)
    slug = next(iter(store.path.values()))
    is_value = has_form_of(slug, case.profile.search.merchant)
    case.require_case(is_value, "search.merchant has another form than the slug of a store")
    answer = await case.send_with_retry(request.with_query(merchant=slug), f"merchant={slug}", request)
    if not answer.ok and (await case.send(store, "the products of that store")).ok:
        message = f"a search with the slug of a store, {state[0]} in the state {state[1]}, was refused"
        raise case.violation(message, answer, expected="200")


@check("SRCH-8", cases=LISTS)
async def an_unlisted_value_is_treated_as_stated(case: Case, fact: str) -> None:
    """A sort, locale or market outside the stated list is refused, or ignored, as stated.

    One that is ignored may be refused beside some values of the other parameters, as the default that it becomes is.
    """
    search, name = case.profile.search, next(name for name in LISTS if LISTS[name] == fact)
    values: Any = getattr(search, fact)
    case.need(values, f"search.{fact}", "the allowed values are needed")
    case.need(search.unlisted, "search.unlisted", "what happens with another value is needed")
    request = await case.arrange()
    listed = next(iter(values))
    # the case of a language tag does not count (RFC 5646, section 2.1); locales of Unicode take underscores
    # a range of languages may match a locale (RFC 4647, section 3.3)
    others = (listed.replace("-", "_"), re.split("[-_]", listed)[0]) if name == "locale" else ()
    several = (f"{listed},x",) if name == "sort" else ()  # a listed sort with another one behind it
    # a table that is an object of JavaScript has a member "constructor"
    for value in ("", f"{listed}x", listed[:-1], unlisted_code(name, values), "constructor", *several, *others):
        if (value or search.unlisted == "refused") and value.casefold() not in {known.casefold() for known in values}:
            text = f"{name}={value}"
            changed = request.with_query(**{name: value})
            if search.unlisted == "refused":
                level = Level.RECOMMENDED if value in others else None
                await _refuse(case, {name: value}, {400}, text, level=level)
            elif not (answer := await case.send_with_retry(changed, text, request)).ok:
                if not await is_accepted_in_a_pair(case, changed, name, answer):
                    message = f"{text} was refused, and search.unlisted is 'ignored'"
                    raise case.violation(message, answer, expected="200")
            elif not items_of(answer):
                await _expect_an_empty_one(case, request, name, answer)


async def _expect_an_empty_one(case: Case, request: Request, name: str, answer: Answer) -> None:
    """Violated unless one of the listed values finds nothing either: an ignored value is as good as one of them."""
    for listed in getattr(case.profile.search, LISTS[name]):
        usual = await case.send(request.with_query(**{name: listed}), f"{name}={listed}")
        if usual.ok and not items_of(usual):  # it may be refused beside the other parameters
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
        found = await items_or_past_the_end(case, request, page)
        if found:
            total += found
            continue
        if page > first and (size := full_size(search, total)):
            await expect_no_last_page_again(case, request.with_query(pageSize=str(size)), first + total // size)
        return
    case.require_case(False, f"there are more than {_MOST_PAGES} pages of the largest size")
