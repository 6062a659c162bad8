"""Faults of unusual search values and of pages as a whole: SRCH-8 and SRCH-9."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote_plus

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, JsonObject, Refusal
from conformance.reference.policy import Handler, Policy, evolve, with_handler, with_search
from conformance.reference.registry import fault

_SEARCH = ("searchPublicProducts",)
_OPERATION = "searchPublicProducts"
_OFFSET_LIMIT = 10_000
_SIX_DIGITS = 999_999


def _off(name: str, requirement: str, title: str, source: str) -> Callable[[Callable[[Policy], Policy]], Any]:
    return fault(name, requirement=requirement, title=title, operations=_SEARCH, source=source)


def _wrap(policy: Policy, change: Callable[[Call, Answer], Answer]) -> Policy:
    """Changes the answers of the search that are 200."""

    def wrap(original: Handler) -> Handler:
        def search(call: Call, db: Connection) -> Answer:
            return change(call, original(call, db))

        return search

    return with_handler(policy, _OPERATION, wrap)


def _parameter(call: Call, name: str) -> str | None:
    found = re.search(rf"(?:^|&){name}=([^&]*)", call.request.query.decode("latin-1"))
    return found[1] if found else None


@_off("F300", "SRCH-8", "pageSize one above the maximum accepted", "off by one in a bound")
def size_above_accepted(policy: Policy) -> Policy:
    return with_search(policy, page_size_max=policy.search.page_size_max + 1)


@_off("F301", "SRCH-8", "pageSize=0 read as 1", "a default that is used where a number is falsy")
def size_zero_is_one(policy: Policy) -> Policy:
    def integer(name: str, text: str) -> int | None:
        number = policy.search.integer(name, text)
        return 1 if number == 0 and name == "pageSize" else number

    return with_search(policy, integer=integer)


@_off("F302", "SRCH-8", "a page past the end is answered 404", "a paginator that raises EmptyPage")
def past_the_end_not_found(policy: Policy) -> Policy:
    return with_search(policy, past_the_end="not_found")


@_off("F303", "SRCH-8", "a page far past the end is answered 400", "Elasticsearch, index.max_result_window of 10,000")
def far_page_refused(policy: Policy) -> Policy:
    def window(page: int, size: int, requested: int) -> slice:
        if page * size > _OFFSET_LIMIT:
            raise Refusal("invalid_query", "The result window is too large.")
        return policy.search.window(page, size, requested)

    return with_search(policy, window=window)


@_off("F897", "SRCH-8", "the largest page refused", "a number of at most six digits, by a pattern")
def largest_page_refused(policy: Policy) -> Policy:
    def integer(name: str, text: str) -> int | None:
        number = policy.search.integer(name, text)
        return None if number is not None and name == "page" and number > _SIX_DIGITS else number

    return with_search(policy, integer=integer)


@_off("F304", "SRCH-8", "an empty q finds everything", "a condition that is left out where its text is empty")
def empty_q_finds_everything(policy: Policy) -> Policy:
    return with_search(policy, empty_q="everything")


@_off("F305", "SRCH-8", "an empty q finds nothing", "a full-text index that is asked for no word")
def empty_q_finds_nothing(policy: Policy) -> Policy:
    return with_search(policy, empty_q="nothing")


@_off("F306", "SRCH-8", "a q of one character too many accepted", "off by one in a bound")
def q_too_long(policy: Policy) -> Policy:
    return with_search(policy, q_max=(policy.search.q_max or 0) + 1)


@_off("F307", "SRCH-8", "the length of q counted in bytes", "a length that is taken after encoding")
def q_in_bytes(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def search(call: Call, db: Connection) -> Answer:
            text = _parameter(call, "q") or ""
            if text.count("%") + len(re.sub("%..", "", text)) > (policy.search.q_max or 0):
                raise Refusal("invalid_query", "q is too long.")
            return original(call, db)

        return search

    return with_handler(policy, _OPERATION, wrap)


@_off("X250", "SRCH-8", "the length of q counted in UTF-16 units", "String.length of Java, C# and JavaScript")
def q_in_utf_16_units(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def search(call: Call, db: Connection) -> Answer:
            text = unquote_plus(_parameter(call, "q") or "")
            if len(text.encode("utf-16-le", "surrogatepass")) // 2 > (policy.search.q_max or 0):
                raise Refusal("invalid_query", "q is too long.")
            return original(call, db)

        return search

    return with_handler(policy, _OPERATION, wrap)


def _with_unknown(policy: Policy, **treatments: str) -> Policy:
    return with_search(policy, unknown_filter={**policy.search.unknown_filter, **treatments})


@_off("F308", "SRCH-8", "an unknown category ignored", "a lookup that yields nothing leaves the filter out")
def unknown_category_ignored(policy: Policy) -> Policy:
    return _with_unknown(policy, category="ignored")


@_off("F309", "SRCH-8", "an unknown category refused", "an enumeration that is checked before the search")
def unknown_category_refused(policy: Policy) -> Policy:
    return _with_unknown(policy, category="refused")


@_off("F310", "SRCH-8", "an unknown merchant ignored", "a lookup that yields nothing leaves the filter out")
def unknown_merchant_ignored(policy: Policy) -> Policy:
    return _with_unknown(policy, merchant="ignored")


@_off("F311", "SRCH-8", "an unknown merchant answered 404", "a lookup shared with the merchant's own pages")
def unknown_merchant_not_found(policy: Policy) -> Policy:
    return _with_unknown(policy, merchant="not_found")


@_off("F312", "SRCH-8", "an unknown parameter refused", "strict binding of query parameters")
def unknown_parameter_refused(policy: Policy) -> Policy:
    return with_search(policy, known_only=True)


@_off("F313", "SRCH-8", "an unknown parameter narrows the result", "every parameter is taken for a filter")
def unknown_parameter_filters(policy: Policy) -> Policy:
    def change(call: Call, answer: Answer) -> Answer:
        if re.search(rb"(^|&)no-such-", call.request.query):
            return evolve(answer, value={**answer.value, "data": []})
        return answer

    return _wrap(policy, change)


@_off("F314", "SRCH-8", "an unknown market accepted", "a value that is compared with nothing")
def any_market(policy: Policy) -> Policy:
    return with_search(policy, markets=_EveryText(policy.search.markets))


@_off("F315", "SRCH-8", "a locale cut short accepted", "a locale that is matched by its prefix")
def locale_by_prefix(policy: Policy) -> Policy:
    cut = tuple(name[:-1] for name in policy.search.locales)
    return with_search(policy, locales=(*policy.search.locales, *cut))


@_off(
    "X163", "SRCH-8", "a locale of the usual form is accepted, listed or not", "a rule of the form in place of a list"
)
def locale_by_form(policy: Policy) -> Policy:
    return with_search(policy, locales=_EveryCode(policy.search.locales))


@_off("F316", "SRCH-8", "one of the stated sorts refused", "a list of values that is kept in two places")
def sort_missing(policy: Policy) -> Policy:
    return with_search(policy, sorts=policy.search.sorts[:-1])


@_off("F317", "SRCH-8", "one of the stated locales refused", "a list of values that is kept in two places")
def locale_missing(policy: Policy) -> Policy:
    return with_search(policy, locales=policy.search.locales[:-1])


class _EveryText(tuple[str, ...]):
    """A list of values that holds every value."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __contains__(self, _value: object) -> bool:
        return True


class _EveryCode(_EveryText):
    """A list of values that holds every code of a language and a country."""

    __slots__ = ()

    def __contains__(self, value: object) -> bool:
        return re.fullmatch("[a-z]{2}-[A-Z]{2}", str(value)) is not None


@_off("F318", "SRCH-9", "the last item of a page of four and more lost", "a page is read with one item too few")
def boundary_item_lost(policy: Policy) -> Policy:
    def window(page: int, size: int, _requested: int) -> slice:
        return slice(page * size, (page + 1) * size - (4 <= size < policy.search.page_size_max))

    return with_search(policy, window=window)


@_off("F319", "SRCH-9", "from the sixth page on an item comes twice", "offsets that are taken from two counts")
def boundary_item_twice(policy: Policy) -> Policy:
    def window(page: int, size: int, _requested: int) -> slice:
        return slice(page * size - (page > 4), (page + 1) * size - (page > 4))

    return with_search(policy, window=window)


@_off("F320", "SRCH-9", "a filter applied after paging", "a filter in the application, paging in the database")
def filter_after_paging(policy: Policy) -> Policy:
    def change(call: Call, answer: Answer) -> Answer:
        merchant = _parameter(call, "merchant")
        if merchant is None:
            return answer
        return evolve(answer, value={**answer.value, "data": _of_merchant(answer.value["data"], merchant)})

    return _wrap(with_search(policy, filters=("category",)), change)


def _of_merchant(items: list[JsonObject], merchant: str) -> list[JsonObject]:
    return [item for item in items if item["merchant"] == merchant]


def _with_order(policy: Policy, sort: str, key: Callable[[Mapping[str, Any]], Any]) -> Policy:
    def change(call: Call, answer: Answer) -> Answer:
        if _parameter(call, "sort") != sort:
            return answer
        return evolve(answer, value={**answer.value, "data": sorted(answer.value["data"], key=key)})

    return _wrap(policy, change)


@_off("F321", "SRCH-9", "items by price descending come ascending", "a direction that is not passed on")
def descending_is_ascending(policy: Policy) -> Policy:
    return _with_order(policy, "price_desc", lambda item: item["price"]["amount"])


@_off("F322", "SRCH-9", "prices compared as texts", "a price that the database keeps as text")
def price_as_text(policy: Policy) -> Policy:
    return _with_order(policy, "price_asc", lambda item: str(item["price"]["amount"]))
