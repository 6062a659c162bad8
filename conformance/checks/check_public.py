"""Public operations, and the path of every operation (PUB-1 to PUB-4, VER-1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from msgspec import structs

from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.public_access import (
    OTHER_COOKIE,
    accepts_without_credential,
    needs_no_credential,
    needs_no_credential_with,
)
from conformance.checks.support.registry import check
from conformance.checks.support.search_pages import find_ids, items_of, suits
from conformance.checks.support.sibling_operations import refused_by_one_operation
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.survival import MARKUP
from conformance.checks.support.unknown_ids import may_be_read_in_part
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.outcomes import Level
from conformance.profile.model import Profile

_CATALOG = (
    "searchPublicProducts",
    "listPublicMerchantCategories",
    "listPublicMerchantProducts",
    "getPublicRuntimeConfig",
)


@check("PUB-1", on=_CATALOG)
async def a_public_operation_needs_no_credential(case: Case) -> None:
    """A public operation answers without an Authorization header."""
    await needs_no_credential(case)


def _further_parameters(profile: Profile, operation: Operation) -> Mapping[str, Mapping[str, str]]:
    """Ordinary query parameters beyond those of the control."""
    search = profile.search
    filters = {"category": search.category or "shoes", "merchant": search.merchant or "acme"}
    paging = {"page": str((1 if search.page_base is None else search.page_base) + 1)}
    if not operation.query_parameters:
        return {
            "paging": {**paging, "pageSize": "2"},
            "filters": filters,
            "locale": {"locale": "en-US", "market": "US"},
        }
    single = {name: {name: value} for name, value in filters.items()}
    return {
        **single,
        "both-filters": filters,
        "second-page": paging,
        "filtered-page": {**filters, **paging},
        "markup": {"q": MARKUP},
    }


@check("PUB-1", on=_CATALOG, cases=_further_parameters)
async def no_query_parameter_asks_for_a_credential(case: Case, parameters: Mapping[str, str]) -> None:
    """Filters, pages and other query parameters of a public operation do not make it demand a key."""
    await needs_no_credential_with(case, parameters)


@check("PUB-1", on=_CATALOG)
async def a_cookie_is_no_credential(case: Case) -> None:
    """A session cookie, which a browser may have of another service of the domain, is not refused."""
    request = (await case.arrange()).with_header("Cookie", OTHER_COOKIE)
    await accepts_without_credential(case, request, "a session cookie")


@check("PUB-1", on=("searchPublicProducts", "listPublicMerchantProducts"))
async def a_key_of_few_scopes_is_no_obstacle(case: Case) -> None:
    """A valid key is not answered 403 for what it lacks: a public operation requires no scope (Authentication, Scopes).

    A service may ignore the key, or answer 401 to any.
    """
    keys = [key for key in case.profile.credentials.values() if key.active]
    fewest = min(keys, key=lambda key: len(key.scopes), default=None)
    case.need(fewest, "credentials", "a valid key is needed")
    assert fewest is not None
    request = await case.arrange()
    with_key = case.as_credential(request, fewest.name)
    answer = await case.send_with_retry(with_key, "a key of few scopes", request)
    if answer.status == 403:
        await case.control(request)
        raise case.violation("a public operation was answered 403 with a key of few scopes", answer, expected="200")
    case.note(f"a key of few scopes is answered {answer.summary}")


_BOGUS: Final = ("Bearer not-a-key-of-anyone", "not-a-scheme")


@check("PUB-2", on="public")
async def a_bogus_credential_on_a_public_operation_is_recorded(case: Case) -> None:
    """The answer of a public operation to a malformed Authorization is recorded; only a 5xx fails.

    One is an unknown key, the other has one word: a parser may expect two.
    """
    for value in _BOGUS:
        request = await case.arrange()
        bogus = request.with_made_up_authorization(value).with_fresh_key()
        answer = await case.send_with_retry(bogus, "bogus Authorization", request)
        case.note(f"a bogus Authorization is answered {answer.summary}")
        if answer.status is None or answer.status >= 500:
            raise case.violation(
                "a bogus Authorization broke the answer", answer, expected="200 or 401", level=Level.REQUIRED
            )


@check("PUB-3", on=("listPublicMerchantCategories", "listPublicMerchantProducts"))
async def an_unknown_merchant_is_answered_404(case: Case) -> None:
    """An unknown slug is answered 404, or 400 where its form is only inferred.

    An empty list is a warning: the interface does not tie slugs to 404.
    """
    request = await case.arrange()
    unknown = dict.fromkeys(case.operation.path_parameters, "no-such-merchant-7f3a")
    declared = await case.runtime.arranger.unknown_path_values(request)
    for purpose in ("unknown slug", "the same unknown slug again"):
        answer = await case.send_with_retry(request.with_path(**unknown | declared), purpose, request)
        if answer.status != 400 or declared:
            _expect_404(case, answer)


@check("PUB-3", on=("listPublicMerchantCategories", "listPublicMerchantProducts"))
async def a_slug_with_more_behind_it_is_answered_404(case: Case) -> None:
    """A known slug with a suffix is another one. An empty list is a warning; 400 passes, since it may be too long."""
    request = await case.arrange()
    _require_whole(case, request)
    longer = {name: f"{value}-no-such-7f3a" for name, value in request.path.items()}
    answer = await case.send_with_retry(request.with_path(**longer), "a slug with a suffix", request)
    if answer.status != 400:
        _expect_404(case, answer)


_PRODUCTS: Final = "listPublicMerchantProducts"
_WILDCARDS: Mapping[str, Mapping[str, str]] = {
    "listPublicMerchantCategories": {"percent-sign": "%"},
    "listPublicMerchantProducts": {"underscore": "_"},
}


def _wildcards(profile: Profile, operation: Operation) -> Mapping[str, str]:
    """One for each list: both mean something where a slug is a pattern."""
    return _WILDCARDS[operation.id]


@check("PUB-3", on=tuple(_WILDCARDS), cases=_wildcards)
async def a_pattern_that_fits_a_slug_names_no_store(case: Case, wildcard: str) -> None:
    """A known slug whose last character is a wildcard of SQL is another one. An empty list is a warning.

    Any refusal passes: a component in front of the service may refuse the character. So does the answer to the slug
    without it, for which a service may take one with a character that no slug has.
    """
    request = await case.arrange()
    _require_whole(case, request)
    patterns = {name: f"{value[:-1]}{wildcard}" for name, value in request.path.items()}
    is_long = all(len(value) > 1 and value[-1].isalnum() for value in request.path.values())
    case.require_case(is_long, "the slug has no last letter behind others")
    answer = await case.send_with_retry(request.with_path(**patterns), "a slug with a wildcard", request)
    if answer.ok and not (answer.data and await _is_shorter_one(case, request, answer)):
        _expect_404(case, answer)


async def _is_shorter_one(case: Case, request: Request, answer: Answer) -> bool:
    """Whether a store of the slug without its last character is answered likewise, and the known one otherwise."""
    shorter = {name: value[:-1] for name, value in request.path.items()}
    other = await case.send(request.with_path(**shorter), "the slug without its last character")
    known = await case.control(request, "the known slug")
    fresh = await _fresh_places(case, request)
    return other.ok and _is_same_list(other, answer, fresh) and not _is_same_list(known, other, fresh)


async def _fresh_places(case: Case, request: Request) -> list[str]:
    """The places in the items of a list, which two readings of it fill otherwise, such as a URL with a signature."""
    first, second = [(await case.send(request, "the known slug again")).data for _ in range(2)]
    other = dict(pointer.leaves(second))
    places = (where for where, leaf in pointer.leaves(first) if other.get(where, leaf) != leaf)
    return sorted({re.sub("/[0-9]+(?=/|$)", "/*", where) for where in places})


def _is_same_list(first: Answer, second: Answer, fresh: list[str]) -> bool:
    return strictjson.is_equal(*(pointer.remove_matching(answer.data, fresh) for answer in (first, second)))


@check("PUB-3", on=tuple(_WILDCARDS))
async def the_beginning_of_a_slug_names_no_store(case: Case) -> None:
    """A known slug without its last character is another one: violated where it is answered with the known store.

    With another answer it may be another store, also with the same categories and other products. Where the known one
    has nothing, no answer says which store it is.
    """
    known = await case.good_answer()
    _require_whole(case, known.request)
    is_long = all(len(value) > 1 for value in known.request.path.values())
    case.require_case(is_long and known.data, "the slug has one character, or its store has nothing that is listed")
    shorter = {name: value[:-1] for name, value in known.request.path.items()}
    answer = await case.send_with_retry(known.request.with_path(**shorter), "a slug without its last character")
    if not answer.ok or not strictjson.is_equal(answer.data, known.data):
        return
    if case.operation.id != _PRODUCTS and await _has_other_products(case, known.request, answer.request):
        case.note("a store whose slug begins that of another one has the same categories, and other products")
        return
    message = "the beginning of a slug was answered as the store of the whole one"
    raise case.violation(message, known, answer, expected="404")


async def _has_other_products(case: Case, known: Request, other: Request) -> bool:
    """Whether two slugs are those of stores with different products."""
    products = case.contract.operations[_PRODUCTS]
    of_known, of_other = (structs.replace(request, operation=products, query=()) for request in (known, other))
    first = await case.send(of_known, "the products of the known slug")
    second = await case.send(of_other, "the products of the slug without its last character")
    return first.ok and second.ok and not _is_same_list(first, second, await _fresh_places(case, of_known))


def _require_whole(case: Case, request: Request) -> None:
    is_in_parts = any(map(may_be_read_in_part, request.path.values()))
    case.require_case(not is_in_parts, "a service may read a part of the slug alone: a number or a code before a title")


def _expect_404(case: Case, answer: Answer) -> None:
    if answer.ok and answer.data == []:
        case.warn("an unknown slug is answered with an empty list", answer, expected="404")
    elif answer.status != 404:
        raise case.violation("an unknown slug was not answered 404", answer, expected="404")


@check("PUB-4")
async def the_products_of_a_store_are_its_own(case: Case) -> None:
    """A warning where the list of a store has an item that the search finds with another merchant alone.

    The store may sell it for that one: the interface does not say whose products its list has.
    """
    search = case.profile.search
    case.need(search.item_merchant, "search.item_merchant", "the place of an item's merchant is needed")
    case.need(search.item_id is not None, "search.item_id", "the place of an item's id is needed")
    assert search.item_id is not None
    answer = await case.good_answer()
    slug, items = next(iter(answer.request.path.values())), items_of(answer)
    with_merchant = [item for item in items if pointer.has(item, search.item_merchant)]
    others = [item for item in with_merchant if not suits(item, search.item_merchant, slug)]
    case.require_case(len(others) < len(with_merchant), "no item of the list names the store by its slug")
    if not others or not pointer.has(others[0], search.item_id):
        return
    item_id, merchant = (pointer.get(others[0], place) for place in (search.item_id, search.item_merchant))
    request = await case.arrange(case.contract.operations["searchPublicProducts"])
    is_found = {
        name: str(item_id) in await find_ids(case, request.with_query(merchant=name)) for name in (slug, str(merchant))
    }
    case.note(f"the list of {slug} has the item {item_id} of {merchant}")
    if is_found[str(merchant)] and not is_found[slug]:
        message = f"the products of {slug} include {item_id}, which the search finds with {merchant} alone"
        raise case.violation(message, answer, expected=f"products of {slug}", level=Level.RECOMMENDED)


@check("VER-1")
async def the_operation_is_served_under_its_declared_path(case: Case) -> None:
    """The operation is served under /api/v1. A 404 fails where only the route can be missing.

    A 404 to a resource that another operation finds is about the route, not about the resource.
    """
    try:
        case.answers.append((await case.runtime.controls.prove(case.operation)).ref)
        return
    except Inconclusive:
        request = await case.arrange(prove_control=False)
    answer = await case.send(request, "control")
    if answer.status == 404:
        unprefixed = structs.replace(
            request, operation=replace(case.operation, path=case.operation.path.removeprefix("/api/v1"))
        )
        outside = await case.send(unprefixed.with_fresh_key(), "outside /api/v1")
        # a 404 may be about what the request names: a resource, a code, a filter
        optional = [parameter.name for parameter in case.operation.query_parameters if not parameter.required]
        if set(optional) & {name for name, _ in request.query}:
            answer = await case.send(request.without_query(*optional), "without filters")
        names_nothing = not case.operation.path_parameters and answer.status == 404
        if outside.ok or (names_nothing and case.operation.auth != "oauth"):
            raise case.violation("the operation is not served under /api/v1", outside, answer, expected="200")
        if found := await refused_by_one_operation(case, answer):
            later, sibling = found
            message = f"the operation is not served: {sibling.request.operation.id} finds the resource of its path"
            raise case.violation(message, sibling, later, expected="200")
    if not answer.ok:
        raise control_failed(answer)
