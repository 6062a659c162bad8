"""Faults of search with one sign, one locale, one page size, or a sort and a filter together: STA-1, SRCH-9."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import Connection

from conformance.reference import catalogue
from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.policy import Handler, Policy, before_work, evolve, with_handler, with_search
from conformance.reference.registry import fault

_SEARCH = ("searchPublicProducts",)
_INNER_PAGE = 25


def _with_search(policy: Policy, change: Callable[[Call, dict[str, str]], Call]) -> Policy:
    """Each search as if this call, made of it and its parameters, had been sent."""

    def look(call: Call, _db: Connection) -> Call:
        return change(call, call.request.parameters())

    return before_work(policy, look, *_SEARCH)


def _with_broken_value(policy: Policy, name: str, is_broken: Callable[[str], bool]) -> Policy:
    """A search whose parameter has such a value ends in an error that nothing catches."""

    def change(call: Call, parameters: dict[str, str]) -> Call:
        if is_broken(parameters.get(name, "")):
            raise ValueError(f"syntax error in the {name} of the query")
        return call

    return _with_search(policy, change)


def _with_parameter(call: Call, name: str, value: str) -> Call:
    parameters = call.request.parameters()
    return evolve(call, request=evolve(call.request, query=urlencode({**parameters, name: value}).encode()))


@fault(
    "F661",
    requirement="STA-1",
    title="a search for a text that ends in a backslash gives 500",
    operations=_SEARCH,
    source="PostgreSQL: LIKE pattern must not end with escape character",
)
def backslash_at_the_end(policy: Policy) -> Policy:
    return _with_broken_value(policy, "q", lambda text: text.endswith("\\"))


@fault(
    "F662",
    requirement="SRCH-9",
    title="the sort by name is by relevance in the German locale",
    operations=_SEARCH,
    source="an index with a sortable title for each locale, one of which was never built",
)
def no_sort_in_german(policy: Policy) -> Policy:
    def change(call: Call, parameters: dict[str, str]) -> Call:
        if parameters.get("locale") != "de-DE":
            return call
        orders = policy.search.stock.orders
        stock = evolve(policy.search.stock, orders={**orders, "name": orders["relevance"]})
        return evolve(call, policy=with_search(call.policy, stock=stock))

    return _with_search(policy, change)


@fault(
    "F663",
    requirement="SRCH-9",
    title="from pageSize 26 on, pages begin 25 after each other",
    operations=_SEARCH,
    source="an offset that is computed with a page size capped earlier than the limit is",
)
def offset_with_capped_size(policy: Policy) -> Policy:
    def window(page: int, size: int, _requested: int) -> slice:
        start = page * min(size, _INNER_PAGE)
        return slice(start, start + size)

    return with_search(policy, window=window)


@fault(
    "F660",
    requirement="STA-1",
    title="an apostrophe in the search text ends in 500",
    operations=_SEARCH,
    source="SQL by concatenation, or the query syntax of a full-text index",
)
def apostrophe(policy: Policy) -> Policy:
    return _with_broken_value(policy, "q", lambda text: "'" in text)


def _is_filtered(parameters: dict[str, str]) -> bool:
    return "category" in parameters or "merchant" in parameters


@fault(
    "F846",
    requirement="SRCH-9",
    title="a search with a filter is not sorted",
    operations=_SEARCH,
    source="filters that are served by another index, whose hits come by relevance",
)
def no_sort_with_a_filter(policy: Policy) -> Policy:
    def change(call: Call, parameters: dict[str, str]) -> Call:
        if not _is_filtered(parameters):
            return call
        orders = policy.search.stock.orders
        stock = evolve(policy.search.stock, orders=dict.fromkeys(orders, orders["relevance"]))
        return evolve(call, policy=with_search(call.policy, stock=stock))

    return _with_search(policy, change)


@fault(
    "F847",
    requirement="STA-1",
    title="a sort by price with a filter ends in 500",
    operations=_SEARCH,
    source="a filter that joins a second table with a column of that name",
)
def ambiguous_price(policy: Policy) -> Policy:
    def change(call: Call, parameters: dict[str, str]) -> Call:
        if _is_filtered(parameters) and parameters.get("sort", "").startswith("price"):
            raise RuntimeError("column reference price is ambiguous")
        return call

    return _with_search(policy, change)


def _with_both_filters(policy: Policy, change: Callable[[dict[str, str]], Mapping[str, Any]]) -> Policy:
    """Each search with category and merchant under the rules that are made of its parameters."""

    def look(call: Call, parameters: dict[str, str]) -> Call:
        if not {"category", "merchant"} <= parameters.keys():
            return call
        return evolve(call, policy=with_search(call.policy, **change(parameters)))

    return _with_search(policy, look)


@fault(
    "F856",
    requirement="SRCH-5",
    title="from pageSize 26 on, a search with both filters only asks whether the category exists",
    operations=_SEARCH,
    source="a query for large pages that joins the table of categories and does not compare them",
)
def category_not_compared(policy: Policy) -> Policy:
    def change(parameters: dict[str, str]) -> Mapping[str, Any]:
        is_large = parameters.get("pageSize", "").isdecimal() and int(parameters["pageSize"]) > _INNER_PAGE
        exists = parameters["category"] in policy.search.stock.categories
        return {"filters": ("merchant",)} if is_large and exists else {}

    return _with_both_filters(policy, change)


@fault(
    "F857",
    requirement="SRCH-9",
    title="with both filters a full page lacks its last item",
    operations=_SEARCH,
    source="a look-ahead for the next page, whose item is cut off twice in one of the queries",
)
def last_item_with_both_filters(policy: Policy) -> Policy:
    def window(page: int, size: int, _requested: int) -> slice:
        return slice(page * size, (page + 1) * size - 1)

    return _with_both_filters(policy, lambda _parameters: {"window": window})


@fault(
    "F976",
    requirement="SRCH-8",
    title="the page after a full last one is the last one again",
    operations=_SEARCH,
    source="pages = total // size + 1, to which the page is clamped",
)
def last_page_again(policy: Policy) -> Policy:
    def wrap(handler: Handler) -> Handler:
        def act(call: Call, db: Connection) -> Answer:
            answer = handler(call, db)
            meta = answer.value.get("meta", {})
            page, size, total = meta.get("page", 1), meta.get("pageSize", 1), meta.get("total", 0)
            if answer.value["data"] or not total or (page - 1) * size != total:
                return answer
            last_page = handler(_with_parameter(call, "page", str(page - 1)), db)
            return evolve(last_page, value={**last_page.value, "meta": meta})

        return act

    return with_handler(policy, "searchPublicProducts", wrap)


@fault(
    "F977",
    requirement="SRCH-1",
    title="pageSize may be missing from the second page on",
    operations=_SEARCH,
    source="the page size of a session, kept from its first page",
)
def page_size_of_before(policy: Policy) -> Policy:
    def change(call: Call, parameters: dict[str, str]) -> Call:
        is_later = parameters.get("page", "1") != "1"
        return _with_parameter(call, "pageSize", "10") if is_later and "pageSize" not in parameters else call

    return _with_search(policy, change)


@fault(
    "F979",
    requirement="SRCH-8",
    title="the largest pageSize does not hold with the sort from the highest price",
    operations=_SEARCH,
    source="a bound in the query builder of each sort, which the newest one does not call",
)
def unbounded_sort(policy: Policy) -> Policy:
    def change(call: Call, parameters: dict[str, str]) -> Call:
        is_unbounded = parameters.get("sort") == "price_desc"
        return evolve(call, policy=with_search(call.policy, page_size_max=10_000)) if is_unbounded else call

    return _with_search(policy, change)


@fault(
    "X42",
    requirement="SRCH-9",
    title="with a category, the items of each page are sorted and not those of the result",
    operations=_SEARCH,
    source="a filter by a second index, whose page is sorted in memory",
)
def sorted_page_by_page(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def search(call: Call, db: Connection) -> Answer:
            parameters = call.request.parameters()
            if "category" not in parameters or not parameters.get("sort", "").startswith("price"):
                return original(call, db)
            answer = original(_with_parameter(call, "sort", "relevance"), db)
            is_descending = parameters["sort"] == "price_desc"
            items = sorted(answer.value["data"], key=lambda item: item["price"]["amount"], reverse=is_descending)
            return evolve(answer, value={**answer.value, "data": items})

        return search

    return with_handler(policy, "searchPublicProducts", wrap)


@fault(
    "X46",
    requirement="SRCH-9",
    title="a last page that would hold a single item is empty",
    operations=_SEARCH,
    source="`while (offset < total - 1)` in a loop over pages",
)
def single_item_lost(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def search(call: Call, db: Connection) -> Answer:
            answer = original(call, db)
            parameters = call.request.parameters()
            is_later = parameters.get("page") not in ("0", "1") and parameters.get("pageSize") != "1"
            if is_later and len(answer.value["data"]) == 1:
                return evolve(answer, value={**answer.value, "data": []})
            return answer

        return search

    return with_handler(policy, "searchPublicProducts", wrap)


@fault(
    "X54",
    requirement="SRCH-9",
    title="with category and merchant the second page is the first one",
    operations=_SEARCH,
    source="an offset that is computed before the second filter is known",
)
def second_page_of_two_filters(policy: Policy) -> Policy:
    def change(call: Call, parameters: dict[str, str]) -> Call:
        is_second = {"category", "merchant"} <= parameters.keys() and parameters.get("page") == "2"
        return _with_parameter(call, "page", "1") if is_second else call

    return _with_search(policy, change)


@fault(
    "X55",
    requirement="SRCH-8",
    title="an unknown category beside a known merchant is answered 404",
    operations=_SEARCH,
    source="a lookup of the merchant's own categories, which finds none",
)
def unknown_category_of_a_merchant(policy: Policy) -> Policy:
    def change(call: Call, parameters: dict[str, str]) -> Call:
        is_known = parameters.get("category") in catalogue.CATEGORIES or "category" not in parameters
        if not is_known and parameters.get("merchant") in catalogue.MERCHANTS:
            raise Refusal("not_found", "There is no such category.")
        return call

    return _with_search(policy, change)


@fault(
    "X56",
    requirement="SRCH-8",
    title="a language without its region is accepted as locale",
    operations=_SEARCH,
    source="the lookup of RFC 4647, where the guide says that other locales are refused",
)
def language_alone(policy: Policy) -> Policy:
    locales = {locale.partition("-")[0]: locale for locale in catalogue.LOCALES}

    def change(call: Call, parameters: dict[str, str]) -> Call:
        locale = locales.get(parameters.get("locale", ""))
        return _with_parameter(call, "locale", locale) if locale else call

    return _with_search(policy, change)


@fault(
    "X135",
    requirement="SRCH-4",
    title="a search within a merchant ignores a pageSize below five",
    operations=_SEARCH,
    source="another index for each merchant, whose smallest page is five",
)
def pages_of_a_merchant(policy: Policy) -> Policy:
    def change(call: Call, parameters: dict[str, str]) -> Call:
        size = parameters.get("pageSize", "")
        is_small = "merchant" in parameters and size.isdecimal() and 0 < int(size) < 5
        return _with_parameter(call, "pageSize", "5") if is_small else call

    return _with_search(policy, change)


@fault(
    "X192",
    requirement="SRCH-5",
    title="in one market the category is no filter",
    operations=_SEARCH,
    source="an index for each market, of which one lacks a field",
)
def no_category_in_a_market(policy: Policy) -> Policy:
    def change(call: Call, parameters: dict[str, str]) -> Call:
        if parameters.get("market") != "FR" or "category" not in parameters:
            return call
        others = {name: value for name, value in parameters.items() if name != "category"}
        return evolve(call, request=evolve(call.request, query=urlencode(others).encode()))

    return _with_search(policy, change)


@fault(
    "X193",
    requirement="STA-1",
    title="a search for a category with an apostrophe ends in 500",
    operations=_SEARCH,
    source="CWE-89: one filter of many that is put together from text",
)
def apostrophe_in_a_category(policy: Policy) -> Policy:
    return _with_broken_value(policy, "category", lambda text: "'" in text)


@fault(
    "X221",
    requirement="SRCH-8",
    title="an empty sort is the first one of the list",
    operations=_SEARCH,
    source="a default that an empty text gets, too",
)
def empty_sort_accepted(policy: Policy) -> Policy:
    def change(call: Call, parameters: dict[str, str]) -> Call:
        is_empty = parameters.get("sort") == ""
        return _with_parameter(call, "sort", policy.search.sorts[0]) if is_empty else call

    return _with_search(policy, change)


@fault(
    "X223",
    requirement="SRCH-2",
    title="a search for a category and a merchant is refused",
    operations=_SEARCH,
    source="one of two indexes is asked, and nothing joins them",
)
def both_filters_refused(policy: Policy) -> Policy:
    def change(call: Call, parameters: dict[str, str]) -> Call:
        if {"category", "merchant"} <= parameters.keys():
            raise Refusal("invalid_query", "A search takes one filter.")
        return call

    return _with_search(policy, change)
