"""Legitimate values of the parameters of a search, and of what items show of them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.catalogue import MERCHANTS, STOCK
from conformance.reference.policy import Policy, before_work, evolve, with_search, with_shape
from conformance.reference.registry import variant

_SEARCH: Final = "searchPublicProducts"
_UUID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CATEGORY_IDS: Final = {
    name: f"7c9e6679-7425-40de-944b-e07fc1f9111{number}" for number, name in enumerate(STOCK.categories)
}
_MERCHANT_IDS: Final = {
    name: f"7c9e6679-7425-40de-944b-e07fc1f9222{number}" for number, name in enumerate(STOCK.merchants)
}


@variant(
    "V610",
    requirement="SRCH-8",
    title="categories and merchants are UUIDs in a search: an unknown one finds nothing, another text is refused",
    profile={"search": {"category": _CATEGORY_IDS["shoes"], "merchant": _MERCHANT_IDS[MERCHANTS[0]]}},
)
def filters_by_uuid(policy: Policy) -> Policy:
    """The list of a store's products has its slug in the path nevertheless."""
    merchants = {value: name for name, value in _MERCHANT_IDS.items()}
    orders = {
        name: tuple(replace(product, category=_CATEGORY_IDS[product.category]) for product in products)
        for name, products in STOCK.orders.items()
    }

    def read_ids(call: Call, _db: Connection) -> Call:
        query = dict(parse_qsl(call.request.query.decode(), keep_blank_values=True))
        for name in ("category", "merchant"):
            if name in query and not _UUID.fullmatch(query[name]):
                raise Refusal("invalid_query", f"{name} must be a UUID.")
        if "merchant" not in query:
            return call
        query["merchant"] = merchants.get(query["merchant"], "no-such-merchant")
        return evolve(call, request=evolve(call.request, query=urlencode(query).encode()))

    def shaper(_call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        return evolve(
            answer, value={**answer.value, "data": [_with_merchant_id(item) for item in answer.value["data"]]}
        )

    stock = replace(STOCK, orders=orders, categories=tuple(_CATEGORY_IDS.values()))
    searches = before_work(with_search(policy, stock=stock), read_ids, _SEARCH)
    return with_shape(searches, shaper, _SEARCH, "listPublicMerchantProducts")


def _with_merchant_id(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "merchant": _MERCHANT_IDS[item["merchant"]]}


@variant(
    "V613",
    requirement="SRCH-8",
    title="a locale is served beside its own market alone; an unlisted locale or market is as good as the default one",
    profile={"search": {"unlisted": "ignored", "query": {"locale": "de-DE", "market": "DE"}}},
)
def locales_with_their_markets(policy: Policy) -> Policy:
    """The default is en-US, and US."""

    def compare(call: Call, _db: Connection) -> None:
        query = call.request.parameters()
        locale, market = query.get("locale", ""), query.get("market", "")
        served_locale = locale if locale in policy.search.locales else "en-US"
        served_market = market if market in policy.search.markets else "US"
        if locale and market and not served_locale.endswith(served_market):
            raise Refusal("invalid_query", "The locale is not served in that market.")

    return before_work(with_search(policy, unlisted="ignored"), compare, _SEARCH)


@variant(
    "V614",
    requirement="SRCH-5",
    title="an item shows its category in the language of the locale, or in the usual one where it is not translated",
)
def categories_in_a_language(policy: Policy) -> Policy:
    """Of four products in a row all are translated, or none."""
    german = {"shirts": "Hemden", "shoes": "Schuhe", "mugs": "Tassen", "lamps": "Lampen"}

    def translate(item: dict[str, Any]) -> dict[str, Any]:
        is_translated = int(item["id"][-4:]) // 4 % 2
        return {**item, "category": german[item["category"]]} if is_translated else item

    def shaper(call: Call, answer: Answer) -> Answer:
        if answer.status != 200 or call.request.parameters().get("locale") != "de-DE":
            return answer
        return evolve(answer, value={**answer.value, "data": [translate(item) for item in answer.value["data"]]})

    return with_shape(policy, shaper, _SEARCH)
