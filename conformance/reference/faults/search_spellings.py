"""Faults of search values that resemble a known one or are written in another way: SRCH-3 and SRCH-8."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from conformance.reference import catalogue
from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.catalogue import Product
from conformance.reference.policy import Policy, before_work, evolve, with_search, with_shape
from conformance.reference.registry import fault

_OPERATION = "searchPublicProducts"


def _off(
    name: str, title: str, source: str, requirement: str = "SRCH-8"
) -> Callable[[Callable[[Policy], Policy]], Any]:
    return fault(name, requirement=requirement, title=title, operations=(_OPERATION,), source=source)


def _with_filters(call: Call, suits: Callable[[Product], bool], *filters: str) -> Call:
    """With the products that suit alone, and these filters."""
    stock = call.policy.search.stock
    orders = {sort: tuple(filter(suits, items)) for sort, items in stock.orders.items()}
    call.policy = with_search(call.policy, stock=evolve(stock, orders=orders), filters=filters)
    return call


@_off("F724", "the beginning of a category finds its products", "a prefix query in place of a term")
def category_by_prefix(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call | None:
        category = call.request.parameters().get("category")
        if not category:
            return None
        return _with_filters(call, lambda item: item.category.startswith(category), "merchant")

    return before_work(policy, look, _OPERATION)


@_off("F725", "a percent sign in a merchant stands for any text", "LIKE with a value that is not escaped")
def merchant_by_pattern(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call | None:
        merchant = call.request.parameters().get("merchant", "")
        if "%" not in merchant:
            return None
        pattern = ".*".join(re.escape(part) for part in merchant.split("%"))
        return _with_filters(call, lambda item: bool(re.fullmatch(pattern, item.merchant)), "category")

    return before_work(policy, look, _OPERATION)


@_off("F726", "a search in a store without products answered 404", "a store that is looked up in the index")
def search_in_empty_store(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if call.request.parameters().get("merchant") == catalogue.EMPTY_MERCHANT:
            raise Refusal("not_found", "There is no such store.")

    return before_work(policy, look, _OPERATION)


@_off("F727", "an unknown parameter limit cuts a page", "middleware for paging that reads a parameter of its own")
def limit_cuts(policy: Policy) -> Policy:
    def shape(call: Call, answer: Answer) -> Answer:
        limit = call.request.parameters().get("limit", "")
        if answer.status != 200 or not limit.isdigit():
            return answer
        return evolve(answer, value={**answer.value, "data": answer.value["data"][: int(limit)]})

    return with_shape(policy, shape, _OPERATION)


@_off("F728", "a locale with an underscore accepted", "a parser of locale names that takes both separators")
def locale_with_underscore(policy: Policy) -> Policy:
    return with_search(policy, locales=(*policy.search.locales, "en_US", "de_DE", "fr_FR"))


@_off(
    "F729",
    "a page with an underscore between its digits accepted",
    "int() of Python, which takes underscores",
    requirement="SRCH-3",
)
def page_with_underscore(policy: Policy) -> Policy:
    def integer(name: str, text: str) -> int | None:
        return catalogue.strict_integer(name, text.replace("_", "") if re.fullmatch(r"\d(_?\d)*", text) else text)

    return with_search(policy, integer=integer)


@_off("X168", "a hexadecimal page is read", "Number() of JavaScript, which takes 0x1", requirement="SRCH-3")
def hexadecimal_page(policy: Policy) -> Policy:
    def integer(name: str, text: str) -> int | None:
        is_hexadecimal = name == "page" and re.fullmatch(r"0x[0-9a-fA-F]{1,7}", text)
        return int(text, 16) if is_hexadecimal else policy.search.integer(name, text)

    return with_search(policy, integer=integer)


@_off("F730", "a page beyond 32 bits is counted from the first one again", "a conversion to 32 bits without a check")
def page_wraps(policy: Policy) -> Policy:
    def integer(name: str, text: str) -> int | None:
        is_long = name == "page" and text.isascii() and text.isdigit() and 9 < len(text) < 20
        return int(text) % 2**32 if is_long else catalogue.strict_integer(name, text)

    return with_search(policy, integer=integer)


@_off("F731", "a percent-encoded letter of a locale is not decoded", "an allowlist that is compared with the raw query")
def raw_locale(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        raw = dict(part.split(b"=", 1) for part in call.request.query.split(b"&") if b"=" in part)
        if b"%" in raw.get(b"locale", b""):
            raise Refusal("invalid_query", "locale is not one of the allowed values.")

    return before_work(policy, look, _OPERATION)


@_off("F968", "sort=constructor gives 500", "a table of JavaScript that is an object, with what it inherits")
def sort_of_prototype_crashes(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if call.request.parameters().get("sort") in ("constructor", "__proto__", "toString"):
            raise Refusal("internal", "The request could not be carried out.")

    return before_work(policy, look, _OPERATION)


@_off("F987", "a first item beyond 64 bits is counted from 0 again", "page * size as an int64 without a check")
def offset_wraps(policy: Policy) -> Policy:
    def window(page: int, size: int, _requested: int) -> slice:
        start = page * size % 2**64
        return slice(start, start + size)

    def integer(name: str, text: str) -> int | None:
        is_long = name == "page" and text.isascii() and text.isdigit() and len(text) < 20
        return int(text) if is_long else policy.search.integer(name, text)

    return with_search(policy, window=window, integer=integer)


@_off("F988", "a first item beyond 32 bits is counted from 0 again", "page * size as an int32 without a check")
def short_offset_wraps(policy: Policy) -> Policy:
    def window(page: int, size: int, _requested: int) -> slice:
        start = page * size % 2**32
        return slice(start, start + size)

    return with_search(policy, window=window)
