"""What a target shows of sorts, cursors and Retry-After is drafted where it is certain, and is a TODO elsewhere."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.in_process import merge_patch
from conformance.reference.registry import variants
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles
from conformance.setup.probe.draft import format_value
from conformance.setup.probe.options import ProbeOptions, key_source
from conformance.setup.probe.probe import draft_profile
from tests.support.draft_truth import compare
from tests.support.drafts import SCHEMAS, drafted, fragment, probed
from tests.support.stub_service import Answer, stub_service

pytestmark = pytest.mark.e2e

ITEMS = [{"id": f"p{number:02}", "price": 100 - number} for number in range(12)]
ORDERS: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "relevance": lambda item: item["id"],
    "price": lambda item: item["price"],
    "price_desc": lambda item: -item["price"],
}
Beside = Callable[[int, int], Mapping[str, Any]]
"""(position of the page, size of the page) -> what the answer has beside data."""


def _service(beside: Beside, parameter: str = "cursor", *, once: bool = False) -> Callable[[dict[str, str]], Answer]:
    """A search by number, or by the position that a cursor names."""
    used = set[str]()

    def search(query: dict[str, str]) -> Answer:
        if query.get("sort") not in ORDERS or query.get("locale") != "en-US" or not 1 <= int(query["pageSize"]) <= 50:
            return 400, {"error": "no"}
        size, cursor = int(query["pageSize"]), query.get(parameter, "")
        if cursor in used:
            return 400, {"error": "used"}
        used.update([cursor] if once and cursor else [])
        start = int(cursor) if cursor else (int(query.get("page", 1)) - 1) * size
        if start < 0:
            return 400, {"error": "no"}
        page = sorted(ITEMS, key=ORDERS[query["sort"]])[start : start + size]
        return 200, {"data": page, **beside(start, size)}

    return search


def _next(start: int, size: int) -> dict[str, Any]:
    return {"meta": {"next": str(start + size) if start + size < len(ITEMS) else None, "size": size}}


def _drafted(search: Callable[[dict[str, str]], Answer], place: Path, document: Any = None) -> tuple[str, Any]:
    openapi = place / "shop.json"
    if document is not None:
        openapi.write_text(json.dumps(document))
    with stub_service({"/api/v1/search": search}) as url:
        asked = ProbeOptions(url, place / "mine.toml", openapi=str(openapi) if document is not None else "")
        text = draft_profile(asked, lambda _: None).text
    return text, tomllib.loads(text)["search"]


NONE: Mapping[str, tuple[Beside, dict[str, Any]]] = {
    "no end": (lambda start, size: {"next": str((start + size) % len(ITEMS))}, {}),
    "the wrong page": (lambda start, size: {"next": str(start + 2 * size)} if start + size < 12 else {}, {}),
    "good once": (_next, {"once": True}),
    "no parameter takes it": (_next, {"parameter": "weiter"}),
    "the number of the request": (lambda start, size: {"time": start * 1000 + size}, {"parameter": "weiter"}),
}


@pytest.mark.parametrize("parameter", ["cursor", "next", "page[after]"])
def test_a_cursor_is_drafted_with_the_parameter_that_takes_it(parameter: str, tmp_path: Path) -> None:
    _, search = _drafted(_service(_next, parameter), tmp_path)
    assert (search["cursor"], search["cursor_parameter"]) == ("/meta/next", parameter)


def test_a_parameter_of_the_document_is_tried_first(tmp_path: Path) -> None:
    named = {"name": "weiter", "in": "query", "schema": {"type": "string"}}
    document = {"openapi": "3.1.0", "paths": {"/api/v1/search": {"get": {"parameters": [named]}}}}
    _, search = _drafted(_service(_next, "weiter"), tmp_path, document)
    assert (search["cursor"], search["cursor_parameter"]) == ("/meta/next", "weiter")


@pytest.mark.parametrize(("beside", "more"), NONE.values(), ids=NONE)
def test_what_is_no_certain_cursor_is_a_todo(beside: Beside, more: dict[str, Any], tmp_path: Path) -> None:
    text, search = _drafted(_service(beside, **more), tmp_path)
    assert not {"cursor", "cursor_parameter"} & search.keys()
    assert "if it is a cursor" in text


def test_where_pages_differ_in_nothing_there_is_no_cursor(tmp_path: Path) -> None:
    """The exclusion has what was seen as its evidence."""
    text, search = _drafted(_service(lambda start, size: {"meta": {"page": start // size + 1}}), tmp_path)
    assert search["cursor"].keys() == search["cursor_parameter"].keys() == {"none"}
    assert "only the number of the page differs outside data" in text


def _with_sorts(values: list[str]) -> dict[str, Any]:
    sort = {"name": "sort", "in": "query", "schema": {"type": "string", "enum": values}}
    return {"openapi": "3.1.0", "paths": {"/api/v1/search": {"get": {"parameters": [sort]}}}}


def test_sorts_are_drafted_where_the_document_lists_them(tmp_path: Path) -> None:
    _, search = _drafted(_service(_next), tmp_path, _with_sorts(list(ORDERS)))
    descending = {"by": "/price", "order": "descending"}
    assert search["sorts"] == {"relevance": {}, "price": {"by": "/price"}, "price_desc": descending}


@pytest.mark.parametrize("values", [[*ORDERS, "newest"], None], ids=["one is refused", "not listed"])
def test_sorts_that_are_not_all_certain_are_a_todo(values: list[str] | None, tmp_path: Path) -> None:
    text, search = _drafted(_service(_next), tmp_path, _with_sorts(values) if values else None)
    assert "sorts" not in search
    assert "# sorts = {" in text


LIMITS: Mapping[str, tuple[Mapping[str, str], bool | None]] = {
    "true": ({"Retry-After": "0"}, True),
    "absent": ({}, False),
    "no time": ({"Retry-After": "soon"}, None),
}


@pytest.mark.parametrize(("headers", "expected"), LIMITS.values(), ids=LIMITS)
def test_retry_after_is_drafted_where_a_429_was_provoked(
    headers: Mapping[str, str], expected: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Retry-After is a fact only if the request was answered again after its time."""
    monkeypatch.setenv("SHOP_KEY", "key-0123456789")
    calls = iter(range(10_000))

    def identity(_query: dict[str, str]) -> Answer:
        return (429, {"error": "slow down"}, headers) if 20 <= next(calls) < 23 else (200, {"data": {}})

    with stub_service({"/api/v1/open/identity": identity}) as url:
        asked = ProbeOptions(url, tmp_path / "mine.toml", keys=(key_source("env:SHOP_KEY"),), provoke_429=50)
        text = draft_profile(asked, lambda _: None).text
    rate_limit = tomllib.loads(text)["rate_limit"]
    assert rate_limit["provoke"] is True
    assert rate_limit.get("retry_after") is expected
    assert ("# retry_after = true" in text) is (expected is None)


SHOWN: Mapping[str, set[str]] = {
    "": {"answers.fresh_headers", "authorization.key_case", "search.cursor", "tenancy.installation_in_identity"},
    "V361": {"answers.fresh_headers"},
    "V363": {"tenancy.installation_in_identity", "tenancy.installation_in_readiness"},
    "V365": {"tenancy.installation_in_identity", "tenancy.installation_in_readiness"},
    "V368": {"search.cursor", "search.cursor_parameter"},
    "V530": {"authorization.key_case"},
    "D19": {"answers.further_members"},
}
"""Variant -> what its draft states, among other facts. V361 and V363 exclude one of them, and so does the reference."""


@pytest.mark.parametrize(("target", "facts"), SHOWN.items(), ids=lambda value: value or "reference")
def test_the_draft_of_a_variant_states_what_its_answers_show(
    target: str, facts: set[str], served: EmbeddedReference, tmp_path: Path
) -> None:
    """Every drafted fact and exclusion is that of the true profile."""
    document = tomllib.loads((bundled_profiles() / "reference.toml").read_text(encoding="utf-8"))
    draft = drafted(served, tmp_path, target)
    stated = tomllib.loads((tmp_path / f"{target or 'plain'}.fixtures.toml").read_text(encoding="utf-8"))
    found = compare(draft.text, merge_patch(document, variants()[target].profile if target else {}), stated)
    assert facts <= set(found.true)
    assert not found.false


EXCLUDED = ("search", "search.query", "search.page_size_max", "webhooks", "webhooks.id", "idempotency.volatile")


@pytest.mark.parametrize("fact", EXCLUDED)
def test_what_a_user_excludes_is_not_drafted(fact: str, served: EmbeddedReference, tmp_path: Path) -> None:
    """The rest is, and the draft is a valid profile."""
    table, _, name = fact.partition(".")
    excluded = {"none": "not here"}
    place = fragment(tmp_path / "known.toml")
    place.write_text(place.read_text() + f"{table} = {format_value({name: excluded} if name else excluded)}\n")
    text = probed(served, tmp_path, "", place, openapi=str(SCHEMAS)).text
    found = tomllib.loads(text)[table]
    assert (found[name] if name else found) == excluded
    assert "incomplete" not in text
