"""Faults of the two lists of a store: PUB-3 and PUB-4."""

from __future__ import annotations

import re
from dataclasses import replace

from sqlalchemy import Connection

from conformance.reference import catalogue
from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.catalogue import PRODUCTS
from conformance.reference.policy import Policy, before_work, evolve, with_shape
from conformance.reference.registry import fault

_PRODUCTS = "listPublicMerchantProducts"
_CATEGORIES = "listPublicMerchantCategories"


@fault(
    "F733",
    requirement="PUB-4",
    title="the products of a store end with one of another store",
    operations=(_PRODUCTS,),
    source="a range query that includes its end",
)
def product_of_another_store(policy: Policy) -> Policy:
    def shape(call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        other = next(item for item in PRODUCTS if item.merchant != call.path["slug"])
        return evolve(answer, value={**answer.value, "data": [*answer.value["data"], other.to_json()]})

    return with_shape(policy, shape, _PRODUCTS)


@fault(
    "F734",
    requirement="PUB-3",
    title="the categories of a store without products answered 404",
    operations=(_CATEGORIES,),
    source="an empty result that counts as a missing resource",
)
def categories_of_empty_store(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> None:
        if call.path["slug"] == catalogue.EMPTY_MERCHANT:
            raise Refusal("unknown_merchant", "There is no such store.")

    return before_work(policy, look, _CATEGORIES)


@fault(
    "F969",
    requirement="PUB-3",
    title="a percent sign or an underscore in a slug stands for any text",
    operations=(_CATEGORIES, _PRODUCTS),
    source="LIKE or ILIKE for a comparison in any case, with a value that is not escaped",
)
def slug_by_pattern(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call | None:
        pattern = re.escape(call.path["slug"]).replace("%", ".*").replace("_", ".")
        found = [name for name in policy.search.stock.merchants if re.fullmatch(pattern, name)]
        return replace(call, path={"slug": found[0]}) if found else None

    return before_work(policy, look, _CATEGORIES, _PRODUCTS)


@fault(
    "X85",
    requirement="PUB-3",
    title="the beginning of a slug names the first store whose slug begins so",
    operations=(_CATEGORIES, _PRODUCTS),
    source="LIKE with a wildcard behind the slug, or a search by prefix",
)
def slug_by_prefix(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call | None:
        found = [name for name in policy.search.stock.merchants if name.startswith(call.path["slug"])]
        return replace(call, path={"slug": found[0]}) if found else None

    return before_work(policy, look, _CATEGORIES, _PRODUCTS)
