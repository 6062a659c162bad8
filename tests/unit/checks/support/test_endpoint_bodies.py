"""Other bodies that create an endpoint: each fits its schema, and is as full or as short as it can be."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from conformance.checks.support.endpoint_bodies import (
    escaped_body,
    fullest_body,
    least_body,
    opposite_switches,
    with_known_items,
)

TEXT = {"type": "string", "minLength": 1, "maxLength": 40}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["url"],
    "properties": {
        "url": {"type": "string", "maxLength": 200},
        "kinds": {"type": "array", "maxItems": 12, "items": TEXT},
        "states": {"type": "array", "maxItems": 5, "items": {"enum": ["on", "off"]}},
        "code": {"type": "string", "pattern": "^[a-z]+$"},
        "short": {"type": "string", "maxLength": 4},
        "data": {
            "type": "object",
            "properties": {
                "team": TEXT,
                "rank": {"type": "integer", "maximum": 1_000_000},
                "free": {"type": "integer"},
            },
        },
    },
}
BODY = {
    "url": "https://hooks.example/u7",
    "kinds": ["a", "b"],
    "states": ["off", "on"],
    "code": "abc",
    "short": "abcd",
    "data": {"team": "red", "rank": 3, "free": 3},
}


def test_the_fullest_body_fits_its_schema_and_is_in_no_order() -> None:
    """Only free texts, lists and integers with a bound change, and only so far that the schema allows it."""
    full = fullest_body(BODY, SCHEMA, (), ())
    assert jsonschema_rs.Draft202012Validator(SCHEMA).is_valid(full)
    assert full["kinds"] == [f"a{number}" for number in range(12, 0, -1)]
    assert full["states"] == ["on", "off"]
    assert full["data"]["team"].startswith("red ") and not full["data"]["team"].isascii()
    assert (full["data"]["rank"], full["data"]["free"]) == (1_000_000, 3)
    assert {name: full[name] for name in ("url", "code", "short")} == {
        name: BODY[name] for name in ("url", "code", "short")
    }


def test_a_list_takes_the_items_that_other_bodies_have_without_their_placeholders() -> None:
    """Its own come first, each once; members that are not lists of texts in all of the bodies stay as they are."""
    others = [{"kinds": ["b", "c"], "states": [1]}, {"kinds": ["{cart.id}", "d"]}, None, {"more": ["e"]}]
    body = {"kinds": ["a", "b"], "states": ["on"], "code": "abc"}
    assert with_known_items(body, others) == {"kinds": ["a", "b", "c", "d"], "states": ["on"], "code": "abc"}
    assert with_known_items(["a"], others) == ["a"]


def test_without_new_items_a_list_has_its_own_in_another_order() -> None:
    full = fullest_body(BODY, SCHEMA, (), (), new_items=False)
    assert (full["kinds"], full["states"]) == (["b", "a"], ["on", "off"])
    assert full["data"]["rank"] == 1_000_000


def test_places_and_values_that_stay_do_not_change() -> None:
    full = fullest_body(BODY, SCHEMA, ("/kinds",), ("red",))
    assert (full["kinds"], full["data"]["team"]) == (["a", "b"], "red")


def test_texts_and_urls_get_escapes_where_the_schema_allows_it() -> None:
    """A list is left alone, and so is a text with a pattern, one that has no room, and one that stays."""
    escaped = escaped_body(BODY, SCHEMA, (), ())
    assert escaped == {
        **BODY,
        "url": "https://hooks.example/u7/a%20b",
        "data": {**BODY["data"], "team": "red a+b & 25%25"},  # type: ignore[dict-item]
    }
    assert escaped_body(BODY, SCHEMA, ("/data",), (BODY["url"],)) == BODY
    with_query = {**BODY, "url": "https://hooks.example/u7?x=1"}
    assert escaped_body(with_query, SCHEMA, ("/data",), ()) == with_query


def test_the_least_body_is_the_profiles_shortest_or_what_the_schema_requires() -> None:
    others = [{"url": "https://hooks.example/u8", "code": "x"}, {"url": "{unique}"}]
    assert least_body(others, BODY, SCHEMA, ()) == {"url": "{unique}"}
    assert least_body((), BODY, SCHEMA, ()) == {"url": BODY["url"]}
    assert least_body((), {**BODY, "url": "https://h/{id}"}, SCHEMA, ()) == {
        "url": "https://h/{{id}}"
    }  # no placeholder
    assert least_body((), {"url": "x"}, SCHEMA, ()) is None
    assert least_body((), BODY, None, ()) is None


@pytest.mark.parametrize(("body", "found"), [({"a": True, "b": False, "c": 1}, {"a": False, "b": True}), ([True], {})])
def test_switches_are_turned_round(body: Any, found: dict[str, bool]) -> None:
    assert opposite_switches(body) == found
