"""Legitimate slugs of stores: codes with titles, and stores that have much in common."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call
from conformance.reference.catalogue import MERCHANTS, STOCK, Product
from conformance.reference.policy import Policy, before_work, evolve, with_search, with_shape
from conformance.reference.registry import variant
from conformance.reference.variants.catalogues import slugs_of_letters

_LISTS: Final = ("listPublicMerchantCategories", "listPublicMerchantProducts")
_CODES: Final = {"a8c6": "northwind", "b9d7": "harbour", "c0e8": "meadow", "d1f9": "vacant"}


@variant(
    "V628",
    requirement="PUB-3",
    title="a slug is a code and a title, and the code alone is read",
    profile={
        "fixtures": {"merchant": {"stocked": {"http": None, "values": [{"slug": "a8c6-northwind"}], "reusable": True}}}
    },
)
def code_and_title(policy: Policy) -> Policy:
    """Slugs from before there were codes are known as well."""

    def find_store(call: Call, _database: Connection) -> Call:
        slug = call.path["slug"]
        return evolve(call, path={**call.path, "slug": _CODES.get(slug.partition("-")[0], slug)})

    return before_work(policy, find_store, *_LISTS)


@variant(
    "V629",
    requirement="PUB-3",
    title="two stores have the same categories, other products, and slugs that differ in a last letter",
)
def twin_stores(policy: Policy) -> Policy:
    shorter = MERCHANTS[0][:-1]

    def twins(product: Product) -> Iterator[Product]:
        yield product
        if product.merchant == MERCHANTS[0]:
            yield replace(product, id=f"twin_{product.id[-4:]}", merchant=shorter)

    orders = {name: tuple(chain.from_iterable(map(twins, products))) for name, products in STOCK.orders.items()}
    return with_search(policy, stock=replace(STOCK, merchants=(*STOCK.merchants, shorter), orders=orders))


@variant(
    "V630",
    requirement="PUB-3",
    title="as V563, and each product has a signed URL that is new in each answer",
)
def signed_urls(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        items = [{**item, "tags": [*item["tags"], _signed_url(item["id"])]} for item in answer.value["data"]]
        return evolve(answer, value={**answer.value, "data": items})

    return with_shape(slugs_of_letters(policy), shaper, "listPublicMerchantProducts")


def _signed_url(product: str) -> str:
    return f"https://cdn.example/{product}?sig={secrets.token_hex(4)}"
