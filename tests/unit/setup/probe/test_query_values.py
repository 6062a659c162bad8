"""Values of search parameters: what answers, examples and schemas show, and the order in which queries are tried."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from conformance.setup.probe.query_values import candidate_queries, example_of, values_in, values_of_parameters

TRIES = 80

SHOWN: dict[str, tuple[Any, dict[str, tuple[str, ...]]]] = {
    "lists": ({"data": {"locales": ["nl-NL"], "markets": ["NL"]}}, {"locale": ("nl-NL",), "market": ("NL",)}),
    "objects": (
        {"markets": [{"code": "NL", "name": "Nederland", "supportedLocales": ["nl-NL", "en-NL"]}]},
        {"market": ("NL",), "locale": ("nl-NL", "en-NL"), "q": ("nederland",)},
    ),
    "an object of codes": ({"countries": {"NL": {"currency": "EUR"}, "BE": {}}}, {"market": ("NL", "BE")}),
    "defaults": (
        {"defaultLocale": "nl", "market": "NL", "search": {"sortOptions": ["cheap"], "pageSize": 12}},
        {"locale": ("nl",), "market": ("NL",), "sort": ("cheap",), "pageSize": ("12",)},
    ),
    "nothing usable": ({"market": None, "locale": "{env.HOME}", "sort": True, "orderId": "o1"}, {}),
    "no object": ([1, "x", None], {}),
}


@pytest.mark.parametrize(("value", "expected"), SHOWN.values(), ids=SHOWN)
def test_values_are_found_by_the_names_of_members(value: Any, expected: dict[str, tuple[str, ...]]) -> None:
    assert values_in(value) == expected


def _resolve(value: Any) -> Any:
    return {"type": "string", "enum": ["NL", "BE"]} if value == {"$ref": "#/Market"} else value


def test_a_schema_shows_its_examples_enumerations_and_defaults() -> None:
    """Through references, parts of `allOf` and arrays; whatever shows nothing is left out."""
    schema = {
        "allOf": [{"properties": {"locale": {"default": "nl-NL"}}}],
        "properties": {"markets": {"items": {"$ref": "#/Market"}}, "other": {"type": "string"}},
    }
    assert example_of(schema, _resolve) == {"locale": "nl-NL", "markets": ["NL", "BE"]}
    assert example_of({"type": "object"}, _resolve) is None


def test_a_parameter_shows_all_its_values() -> None:
    parameters = [
        {"name": "market", "in": "query", "schema": {"$ref": "#/Market"}, "examples": {"a": {"value": "LU"}}},
        {"name": "page", "in": "query", "schema": {"anyOf": [{"type": "integer", "default": 1}]}},
        {"name": "X-Market", "in": "header", "example": "NL"},
        {"name": "flag", "in": "query", "example": True},
    ]
    assert values_of_parameters(parameters, _resolve) == {"market": ("LU", "NL", "BE"), "page": ("1",)}


def _tried(known: dict[str, str], shown: dict[str, tuple[str, ...]]) -> list[dict[str, str]]:
    return list(islice(candidate_queries(known, shown), TRIES))


def test_the_first_query_has_what_is_shown() -> None:
    """The market of the locale's own region, though another one is shown first."""
    shown = {"locale": ("nl-NL",), "market": ("BE", "NL"), "sort": ("cheap",)}
    first = _tried({}, shown)[0]
    assert first == {"q": "a", "locale": "nl-NL", "market": "NL", "sort": "cheap", "page": "1", "pageSize": "2"}


def test_what_is_known_is_in_every_query() -> None:
    """Further parameters too."""
    known = {"market": "CH", "category": "shoes"}
    assert all(known.items() <= query.items() for query in _tried(known, {"market": ("NL",)}))


@pytest.mark.parametrize(
    "wanted",
    [
        {"locale": "fr-FR", "market": "FR", "sort": "relevance"},
        {"locale": "en-US", "market": "US", "sort": "best"},
        {"locale": "de-DE", "market": "DE", "sort": "newest"},
        {"locale": "nl-NL", "market": "NL", "sort": "price"},
        {"locale": "en-US", "market": "US", "sort": "relevance", "q": "shirt"},
        {"locale": "nl-NL", "market": "NL", "sort": "relevance", "pageSize": "12", "q": "shirt"},
    ],
)
def test_a_likely_query_is_among_those_that_are_tried(wanted: dict[str, str]) -> None:
    """With nothing shown, and with a market and a page size shown."""
    shown = {"market": ("NL",), "pageSize": ("12",)} if wanted["market"] == "NL" else {}
    assert any(wanted.items() <= query.items() for query in _tried({}, shown))


def test_no_query_is_tried_twice() -> None:
    queries = _tried({}, {"locale": ("en-US",), "market": ("US",), "sort": ("name",), "q": ("a",), "pageSize": ("2",)})
    assert len({tuple(query.items()) for query in queries}) == len(queries)
