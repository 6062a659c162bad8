"""Legitimate catalogues: how pages end."""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from urllib.parse import parse_qsl, urlencode

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call
from conformance.reference.catalogue import STOCK, Stock
from conformance.reference.policy import Handler, Policy, evolve, with_handler, with_search
from conformance.reference.registry import variant

_SEARCH: Final = "searchPublicProducts"


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
