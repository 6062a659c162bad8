"""Faults of the search: SRCH. All of them show on searchPublicProducts only."""

from __future__ import annotations

import re

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.policy import Handler, Policy, with_handler, with_search
from conformance.reference.registry import fault

_SEARCH = ("searchPublicProducts",)
DEFAULT_SIZE = 20


def _without(policy: Policy, name: str) -> tuple[str, ...]:
    return tuple(parameter for parameter in policy.search.required if parameter != name)


@fault("F126", requirement="SRCH-1", title="missing sort defaulted", operations=_SEARCH)
def sort_defaulted(policy: Policy) -> Policy:
    return with_search(policy, required=_without(policy, "sort"), defaults={"sort": "relevance"})


@fault("F127", requirement="SRCH-1", title="missing market accepted", operations=_SEARCH)
def market_optional(policy: Policy) -> Policy:
    return with_search(policy, required=_without(policy, "market"))


@fault("F128", requirement="SRCH-3", title="page=abc read as 1", operations=_SEARCH)
def page_falls_back(policy: Policy) -> Policy:
    """`parseInt(page) || 1`, and nothing of the kind for pageSize."""

    def integer(name: str, text: str) -> int | None:
        number = policy.search.integer(name, text)
        return 1 if number is None and name == "page" and not text[:1].isdigit() else number

    return with_search(policy, integer=integer)


@fault("F130", requirement="SRCH-3", title="pageSize=9x read as 9", operations=_SEARCH)
def digits_first(policy: Policy) -> Policy:
    def integer(name: str, text: str) -> int | None:
        digits = re.match(r"[0-9]{1,9}(?=[A-Za-z])", text) if name == "pageSize" else None
        return int(digits[0]) if digits else policy.search.integer(name, text)

    return with_search(policy, integer=integer)


@fault("F131", requirement="SRCH-4", title="pageSize ignored after first page", operations=_SEARCH)
def size_forgotten(policy: Policy) -> Policy:
    def window(page: int, size: int, _requested: int) -> slice:
        return slice(page * size, page * size + (size if page == 0 else DEFAULT_SIZE))

    return with_search(policy, window=window)


@fault("F133", requirement="SRCH-6", title="page ignored", operations=_SEARCH)
def page_ignored(policy: Policy) -> Policy:
    return with_search(policy, window=lambda _page, size, _requested: slice(0, size))


@fault("F134", requirement="SRCH-5", title="merchant filter ignored", operations=_SEARCH)
def merchant_ignored(policy: Policy) -> Policy:
    return with_search(policy, filters=("category",))


@fault("F135", requirement="SRCH-2", title="category made required", operations=_SEARCH)
def category_required(policy: Policy) -> Policy:
    return with_search(policy, required=(*policy.search.required, "category"))


@fault(
    "F224",
    requirement="PUB-1",
    title="search demands a key when a filter is used",
    operations=_SEARCH,
    source="observed in a tested service: filtered searches used an index that needed a key",
)
def filter_needs_a_key(policy: Policy) -> Policy:
    def handler(original: Handler) -> Handler:
        def search(call: Call, db: Connection) -> Answer:
            if re.search(rb"(^|&)(category|merchant)=", call.request.query) and not call.request.header_values(
                b"authorization"
            ):
                raise Refusal("no_credential", "An API key is required.")
            return original(call, db)

        return search

    return with_handler(policy, "searchPublicProducts", handler)


@fault(
    "F225",
    requirement="PUB-1",
    title="products beyond the first page need a key",
    operations=("listPublicMerchantProducts",),
    source="a catalogue that anonymous readers may preview, and page through only when they are known",
)
def further_pages_need_a_key(policy: Policy) -> Policy:
    def handler(original: Handler) -> Handler:
        def products(call: Call, db: Connection) -> Answer:
            if re.search(rb"(^|&)page=(?!1(&|$))", call.request.query):
                raise Refusal("forbidden", "An API key is required for further pages.")
            return original(call, db)

        return products

    return with_handler(policy, "listPublicMerchantProducts", handler)


@fault(
    "X166",
    requirement="PUB-1",
    title="search demands a key from the third page on",
    operations=_SEARCH,
    source="a gateway that lets anonymous readers see the beginning of a list alone",
)
def later_pages_need_a_key(policy: Policy) -> Policy:
    def handler(original: Handler) -> Handler:
        def search(call: Call, db: Connection) -> Answer:
            page = call.request.parameters().get("page", "")
            if page.isdecimal() and int(page) > 2 and not call.request.header_values(b"authorization"):
                raise Refusal("no_credential", "An API key is required.")
            return original(call, db)

        return search

    return with_handler(policy, "searchPublicProducts", handler)


@fault(
    "X167",
    requirement="PUB-1",
    title="an unknown store is answered 401, as to who might see it with a key",
    operations=("listPublicMerchantCategories", "listPublicMerchantProducts"),
    source="a filter that asks for a login wherever anonymous readers find nothing",
)
def unknown_store_needs_a_key(policy: Policy) -> Policy:
    def handler(original: Handler) -> Handler:
        def read(call: Call, db: Connection) -> Answer:
            try:
                return original(call, db)
            except Refusal as refusal:
                if refusal.kind != "unknown_merchant" or call.request.header_values(b"authorization"):
                    raise
                raise Refusal("no_credential", "An API key is required.") from None

        return read

    for operation in ("listPublicMerchantCategories", "listPublicMerchantProducts"):
        policy = with_handler(policy, operation, handler)
    return policy
