"""A search query is drafted for a target that answers a few values only, wherever it shows them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conformance.setup.probe.options import ProbeOptions
from conformance.setup.probe.probe import draft_profile
from tests.support.stub_service import Answer, stub_service

pytestmark = pytest.mark.e2e

WANTED = {"locale": "qq-ZZ", "market": "ZZ", "sort": "cheapest-first"}


def _search(query: dict[str, str]) -> Answer:
    """Items for queries of the one market only, with a q of three characters and five items a page at least."""
    right = WANTED.items() <= query.items() and len(query["q"]) >= 3 and int(query["pageSize"]) >= 5
    return (200, {"data": [{"id": f"p{n}"} for n in range(9)]}) if right else (400, {"error": "no"})


PAGE_SIZE = {"name": "pageSize", "in": "query", "schema": {"type": "integer", "default": 5}}
RUNTIME = {"data": {"markets": [{"code": "ZZ", "locales": ["qq-ZZ"]}], "search": {"sorts": ["cheapest-first"]}}}


def _document(search: list[Any], content: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    answers = {"200": {"content": {"application/json": content}}}
    paths = {
        "/api/v1/search": {"get": {"parameters": [*search, PAGE_SIZE]}},
        "/api/v1/runtime-config": {"get": {"responses": answers}},
    }
    return {"openapi": "3.1.0", "paths": paths, "components": {"schemas": schemas}}


def _parameter(name: str, value: str, how: str) -> dict[str, Any]:
    shown = [value] if how in ("enum", "examples") else value
    return {"name": name, "in": "query", "schema": {"type": "string", how: shown}}


SCHEMA = {
    "properties": {
        "locale": {"default": "qq-ZZ"},
        "market": {"$ref": "#/components/schemas/Market"},
        "sortBy": {"const": "cheapest-first"},
    }
}
PLACES = {
    "runtime-config": (RUNTIME, _document([], {}, {})),
    **{
        how: ({}, _document([_parameter(name, value, how) for name, value in WANTED.items()], {}, {}))
        for how in ("enum", "default", "example", "examples", "const")
    },
    "an example of runtime-config": ({}, _document([], {"example": RUNTIME}, {})),
    "a schema": ({}, _document([], {"schema": SCHEMA}, {"Market": {"enum": ["ZZ"]}})),
    "schemas by name": (
        {},
        _document([], {}, {name.title(): {"type": "string", "enum": [value]} for name, value in WANTED.items()}),
    ),
}


@pytest.mark.parametrize(("runtime", "document"), PLACES.values(), ids=PLACES)
def test_a_query_is_drafted_from_what_is_shown(
    runtime: dict[str, Any], document: dict[str, Any], tmp_path: Path
) -> None:
    """The draft names where its values were found."""
    (tmp_path / "shop.json").write_text(json.dumps(document))
    with stub_service({"/api/v1/search": _search, "/api/v1/runtime-config": (200, runtime)}) as url:
        asked = ProbeOptions(url, tmp_path / "mine.toml", openapi=str(tmp_path / "shop.json"), deadline_s=60)
        text = draft_profile(asked, lambda _: None).text
    query = tomllib.loads(text)["search"]["query"]
    assert WANTED.items() <= query.items()
    assert f"shown by the {'runtime configuration' if runtime else 'document'}" in text


def test_a_part_of_a_query_may_be_stated(tmp_path: Path) -> None:
    """The probe completes it, and names as stated only what was stated."""
    (tmp_path / "known.toml").write_text('[search.query]\nmarket = "ZZ"\nq = "lamp"\npageSize = 5\n')
    runtime = {"locale": "qq-ZZ", "sorting": ["cheapest-first"]}
    with stub_service({"/api/v1/search": _search, "/api/v1/runtime-config": (200, runtime)}) as url:
        text = draft_profile(
            ProbeOptions(url, tmp_path / "mine.toml", fixtures=tmp_path / "known.toml"), lambda _: None
        ).text
    assert {**WANTED, "q": "lamp", "pageSize": 5}.items() <= tomllib.loads(text)["search"]["query"].items()
    assert "answered 200, with items; locale and sort shown by the runtime configuration" in text


def test_a_part_of_a_query_is_completed_where_nothing_is_answered(tmp_path: Path) -> None:
    """The draft loads, and says what is assumed."""
    (tmp_path / "known.toml").write_text('[search.query]\nq = "lamp"\n')
    with stub_service({"/api/v1/search": (400, {})}) as url:
        asked = ProbeOptions(url, tmp_path / "mine.toml", fixtures=tmp_path / "known.toml")
        text = draft_profile(asked, lambda _: None).text
    assert tomllib.loads(text)["search"]["query"]["q"] == "lamp"
    assert "a query that is answered 200; the probe found none" in text
