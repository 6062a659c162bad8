"""A slug is not a pattern or prefix (PUB-3); what the search says of the products of a store judges them (PUB-4)."""

from __future__ import annotations

import re
from functools import partial
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from conformance.checks.check_public import a_pattern_that_fits_a_slug_names_no_store as no_store
from conformance.checks.check_public import the_beginning_of_a_slug_names_no_store, the_products_of_a_store_are_its_own
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Search
from conformance.profile.resources import OperationFacts
from tests.support.check_runs import CONTRACT

PRODUCTS = CONTRACT.operations["listPublicMerchantProducts"]
QUERY = {"q": "a", "locale": "en", "market": "US", "sort": "name", "page": 1, "pageSize": 2}
FACTS: dict[str, Any] = {
    "search": Search(query=QUERY, page_base=1, item_id="/id", item_merchant="/merchant"),
    "operations": {PRODUCTS.id: OperationFacts(path={"slug": "acme"})},
}
OWN, OTHER = {"id": "p1", "merchant": "acme"}, {"id": "p2", "merchant": "other"}


@pytest.mark.parametrize(
    ("outcome", "listed", "found"),
    [
        (Outcome.PASSED, [OWN], {}),
        (Outcome.PASSED, [OWN, {"id": "p3"}], {}),
        (Outcome.PASSED, [OWN, {"id": "p2", "merchant": ["other", "acme"]}], {}),
        (Outcome.PASSED, [OWN, OTHER], {"acme": [OWN, OTHER], "other": [OTHER]}),
        (Outcome.PASSED, [OWN, OTHER], {"acme": [OWN], "other": []}),
        (Outcome.WARNED, [OWN, OTHER], {"acme": [OWN], "other": [OTHER]}),
        (Outcome.INAPPLICABLE, [{"id": "p1", "merchant": "Acme Inc."}], {}),
        (Outcome.INAPPLICABLE, [], {}),
    ],
    ids=["own", "unnamed", "of both", "sold by both", "not found", "of another", "named by a title", "empty"],
)
def test_an_item_of_another_store_alone_is_a_stranger(
    judged: Any, answer: Any, outcome: Outcome, listed: list[Any], found: dict[str, Any]
) -> None:
    """What both stores sell, and what the search does not find, is not a fault."""

    def script(arrived: Any) -> bytes:
        query = {name: values[0] for name, values in parse_qs(urlsplit(arrived.target).query).items()}
        if "/search" not in arrived.target:
            return bytes(answer(200, {"data": listed}))
        items = found.get(query.get("merchant", ""), [])
        return bytes(answer(200, {"data": items if query["page"] == "1" else []}))

    result, _ = judged(script, the_products_of_a_store_are_its_own, PRODUCTS, **FACTS)
    assert result.outcome is outcome, result


def _like(pattern: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace("%", ".*").replace("_", "."), "acme") is not None


@pytest.mark.parametrize("wildcard", ["%", "_"])
@pytest.mark.parametrize(
    ("outcome", "slug", "status", "data"),
    [
        (Outcome.PASSED, "acme", 404, None),
        (Outcome.PASSED, "acme", 400, None),
        (Outcome.PASSED, "acme", 403, None),
        (Outcome.WARNED, "acme", 200, []),
        (Outcome.FAILED, "acme", 200, [OWN]),
        (Outcome.FAILED, "acme", 200, [OWN, OTHER]),
        (Outcome.PASSED, "acme", 200, [OTHER]),
        (Outcome.INAPPLICABLE, "17-acme", 200, [OWN]),
        (Outcome.INAPPLICABLE, "a", 200, [OWN]),
        (Outcome.INAPPLICABLE, "acme!", 200, [OWN]),
    ],
    ids=["unknown", "no slug", "firewall", "empty", "LIKE", "several", "dropped", "number", "short", "mark"],
)
def test_a_wildcard_in_a_slug_stands_for_itself(
    judged: Any, answer: Any, wildcard: str, outcome: Outcome, slug: str, status: int, data: Any
) -> None:
    """Any refusal passes, and an empty list is a warning, as for another slug that names nothing."""

    def script(arrived: Any) -> bytes:
        asked = unquote(arrived.target.split("/")[-2])
        if asked == slug:
            return bytes(answer(200, {"data": [OWN]}))
        if asked == slug[:-1]:
            return bytes(answer(200, {"data": [OTHER]}) if data == [OTHER] else answer(404, {"error": "no"}))
        assert _like(asked)
        return bytes(answer(status, {"error": "no"} if data is None else {"data": data}))

    facts = {**FACTS, "operations": {PRODUCTS.id: OperationFacts(path={"slug": slug})}}
    result, _ = judged(script, partial(no_store, wildcard=wildcard), PRODUCTS, **facts)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(
    ("outcome", "slug", "status", "data"),
    [
        (Outcome.PASSED, "acme", 404, None),
        (Outcome.PASSED, "acme", 400, None),
        (Outcome.PASSED, "acme", 200, []),
        (Outcome.PASSED, "acme", 200, [OTHER]),
        (Outcome.FAILED, "acme", 200, [OWN]),
        (Outcome.INAPPLICABLE, "17-acme", 200, [OWN]),
        (Outcome.INAPPLICABLE, "a", 200, [OWN]),
    ],
    ids=["unknown", "no slug", "empty", "another store", "prefix", "number", "short"],
)
def test_the_beginning_of_a_slug_is_another_one(
    judged: Any, answer: Any, outcome: Outcome, slug: str, status: int, data: Any
) -> None:
    """It may be the slug of another store, which has other products."""

    def script(arrived: Any) -> bytes:
        if arrived.target.split("/")[-2] == slug:
            return bytes(answer(200, {"data": [OWN]}))
        assert arrived.target.split("/")[-2] == slug[:-1]
        return bytes(answer(status, {"error": "no"} if data is None else {"data": data}))

    facts = {**FACTS, "operations": {PRODUCTS.id: OperationFacts(path={"slug": slug})}}
    result, _ = judged(script, the_beginning_of_a_slug_names_no_store, PRODUCTS, **facts)
    assert result.outcome is outcome, result


def test_a_store_without_products_is_not_told_apart(judged: Any, answer: Any) -> None:
    result, _ = judged(
        lambda _arrived: bytes(answer(200, {"data": []})), the_beginning_of_a_slug_names_no_store, PRODUCTS, **FACTS
    )
    assert result.outcome is Outcome.INAPPLICABLE, result
