"""Faults of the whole result of a search: orders and pages of one sort, locale, market or filter (SRCH-9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from conformance.reference import catalogue
from conformance.reference.call import Call
from conformance.reference.catalogue import Product
from conformance.reference.policy import Policy, before_work, evolve, with_search
from conformance.reference.registry import fault

_OPERATION = "searchPublicProducts"
Products = tuple[Product, ...]


def _off(name: str, title: str, source: str) -> Callable[[Callable[[Policy], Policy]], Any]:
    return fault(name, requirement="SRCH-9", title=title, operations=(_OPERATION,), source=source)


def _with_orders(call: Call, change: Callable[[str, Products], Products]) -> Call:
    stock = call.policy.search.stock
    orders = {sort: change(sort, items) for sort, items in stock.orders.items()}
    call.policy = with_search(call.policy, stock=evolve(stock, orders=orders))
    return call


@_off("F720", "the order by relevance changes from request to request", "a score without a tie-breaker")
def relevance_changes(policy: Policy) -> Policy:
    counts: list[int] = []

    def change(sort: str, items: Products) -> Products:
        start = len(counts) % len(items)
        return (*items[start:], *items[:start]) if sort == "relevance" else items

    def look(call: Call, _db: Connection) -> Call:
        counts.append(1)
        return _with_orders(call, change)

    return before_work(policy, look, _OPERATION)


@_off("F721", "prices of the market DE sorted as texts", "an index of one market that maps numbers as keywords")
def prices_as_texts(policy: Policy) -> Policy:
    def change(sort: str, items: Products) -> Products:
        if not sort.startswith("price"):
            return items
        return tuple(sorted(items, key=lambda item: (str(item.price), item.id), reverse=sort == "price_desc"))

    def look(call: Call, _db: Connection) -> Call | None:
        return _with_orders(call, change) if call.request.parameters().get("market") == "DE" else None

    return before_work(policy, look, _OPERATION)


@fault(
    "X212",
    requirement="SRCH-9",
    title="amounts that are texts are sorted as texts",
    operations=(_OPERATION,),
    source="a column of texts in which the amounts stand as they are written",
    seeded_in="V592",
)
def amounts_sorted_as_texts(policy: Policy) -> Policy:
    def change(sort: str, items: Products) -> Products:
        return tuple(sorted(items, key=lambda item: f"{item.price:.2f}")) if sort == "price_asc" else items

    return before_work(policy, lambda call, _db: _with_orders(call, change), _OPERATION)


@_off("F722", "with the locale fr-FR the second page is the first one again", "a page base of each translation")
def second_page_in_french(policy: Policy) -> Policy:
    def window(page: int, size: int, requested: int) -> slice:
        return catalogue.plain_window(0 if page == 1 else page, size, requested)

    def look(call: Call, _db: Connection) -> None:
        if call.request.parameters().get("locale") == "fr-FR":
            call.policy = with_search(call.policy, window=window)

    return before_work(policy, look, _OPERATION)


@_off(
    "F723", "from the third page on the merchant filter is not applied", "a later batch that is read without the filter"
)
def filter_of_first_pages(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if call.request.parameters().get("page", "1") not in ("1", "2"):
            call.policy = with_search(call.policy, filters=("category",))

    return before_work(policy, look, _OPERATION)
