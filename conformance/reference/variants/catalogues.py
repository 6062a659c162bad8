"""Legitimate catalogues: how pages end, how a time is written, how a store is named."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from secrets import token_hex
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call
from conformance.reference.catalogue import MERCHANTS, STOCK, Product, Stock
from conformance.reference.policy import Handler, Policy, before_work, evolve, with_handler, with_search, with_shape
from conformance.reference.registry import variant

_SEARCH: Final = "searchPublicProducts"
_LISTS: Final = ("listPublicMerchantCategories", "listPublicMerchantProducts")
_FIRST_DAY: Final = datetime(2026, 1, 28, 9, 30, tzinfo=UTC)


def _stock_of(count: int) -> Stock:
    """The first products alone."""
    ids = {product.id for product in STOCK.products[:count]}
    orders = {name: tuple(p for p in products if p.id in ids) for name, products in STOCK.orders.items()}
    return replace(STOCK, orders=orders)


@variant(
    "V561",
    requirement="SRCH-6",
    title="four products; a page after the last one is the last one again, which the profile cannot state",
    profile={"search": {"past_the_end": {"none": "it is the last page again"}, "page_max": None}},
)
def last_page_again(policy: Policy) -> Policy:
    """As `get_page` of Django's paginator does."""

    def wrap(inner: Handler) -> Handler:
        def search(call: Call, db: Connection) -> Answer:
            answer = inner(call, db)
            meta = answer.value["meta"]
            if answer.value["data"] or not meta["total"]:
                return answer
            last = policy.search.page_base + (meta["total"] - 1) // meta["pageSize"]
            query = {**dict(parse_qsl(call.request.query.decode(), keep_blank_values=True)), "page": str(last)}
            return inner(evolve(call, request=evolve(call.request, query=urlencode(query).encode())), db)

        return search

    return with_handler(with_search(policy, stock=_stock_of(4)), _SEARCH, wrap)


@variant(
    "V611",
    requirement="SRCH-6",
    title="the page after the last one is the last one again, and each item has a signed URL, new in each answer",
    profile={"search": {"past_the_end": {"none": "it is the last page again"}, "page_max": None}},
)
def last_page_with_signed_urls(policy: Policy) -> Policy:
    """As links to objects in a store are, which end after a while."""

    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        items = [
            {**item, "tags": [*item["tags"], f"https://cdn.example/{item['id']}?signature={token_hex(4)}"]}
            for item in answer.value["data"]
        ]
        return evolve(answer, value={**answer.value, "data": items})

    return with_shape(last_page_again(policy), shaper, _SEARCH, "listPublicMerchantProducts")


@variant("V612", requirement="SRCH-9", title="products are published three at a time, at every sixth search")
def products_published_meanwhile(policy: Policy) -> Policy:
    """Every other product is there from the beginning."""
    searches = itertools.count()
    published = [0]

    def publish(_call: Call, _db: Connection) -> None:
        published[0] = 3 * (next(searches) // 6)

    def is_sold(product: Product, _market: str) -> bool:
        number = int(product.id[-4:])
        return number % 2 == 0 or number // 2 < published[0]

    return before_work(with_search(policy, stock=replace(STOCK, is_sold=is_sold)), publish, _SEARCH)


@variant(
    "V562",
    requirement="SRCH-9",
    title="a sort is by a time that is written as in HTTP",
    profile={"search": {"sorts": {"name": {"by": "/tags/0"}}}},
)
def times_as_in_http(policy: Policy) -> Policy:
    """As Flask writes a time in JSON. Of each product the first tag is its time."""
    orders = {**STOCK.orders, "name": STOCK.products}
    numbers = {product.id: number for number, product in enumerate(STOCK.products)}

    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return evolve(answer, value={**answer.value, "data": [_with_time(item) for item in answer.value["data"]]})

    def _with_time(item: dict[str, Any]) -> dict[str, Any]:
        time = _FIRST_DAY + timedelta(hours=31 * numbers[item["id"]])
        return {**item, "tags": [format_datetime(time, usegmt=True), *item["tags"]]}

    return with_shape(with_search(policy, stock=replace(STOCK, orders=orders)), shaper, _SEARCH)


@variant(
    "V563",
    requirement="PUB-3",
    title="two slugs differ in a last letter, and characters that no slug has are dropped from one that is asked for",
)
def slugs_of_letters(policy: Policy) -> Policy:
    """As a router does that makes a slug of what it gets."""
    shorter = MERCHANTS[0][:-1]
    orders = {name: tuple(map(_of_more_stores, products)) for name, products in STOCK.orders.items()}
    stock = replace(STOCK, merchants=(*STOCK.merchants, shorter), orders=orders)

    def make_slug(call: Call, _db: Connection) -> Call:
        return evolve(call, path={**call.path, "slug": re.sub("[^a-z-]", "", call.path["slug"].lower())})

    return before_work(with_search(policy, stock=stock), make_slug, *_LISTS)


def _of_more_stores(product: Product) -> Product:
    """The last products are those of a store whose slug begins that of the first one."""
    return replace(product, merchant=MERCHANTS[0][:-1]) if product.id >= "prod_0055" else product


@variant(
    "V564",
    requirement="SRCH-9",
    title="a sort is by a price that is a text, with a currency and thousands apart",
    profile={"search": {"sorts": {"price_asc": {"by": "/tags/0"}}}},
)
def prices_as_texts(policy: Policy) -> Policy:
    """Of each product the first tag is ten times its price."""
    return _with_first_tag(policy, lambda price: f"${price * 10:,.2f}")


@variant(
    "V592",
    requirement="SRCH-9",
    title="a sort is by an amount with decimals that is a text",
    profile={"search": {"sorts": {"price_asc": {"by": "/tags/0", "values": "numbers"}}}},
)
def amounts_as_texts(policy: Policy) -> Policy:
    """Of each product the first tag is its price."""
    return _with_first_tag(policy, lambda price: f"{price:.2f}")


def _with_first_tag(policy: Policy, text: Callable[[float], str]) -> Policy:
    """Products in whose tags a text of their price comes first."""

    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        items = [{**i, "tags": [text(i["price"]["amount"]), *i["tags"]]} for i in answer.value["data"]]
        return evolve(answer, value={**answer.value, "data": items})

    return with_shape(policy, shaper, _SEARCH)
