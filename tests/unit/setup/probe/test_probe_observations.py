"""The pure parts of what a probe observes: limits by bisection, lists, lifetimes, members that bodies share."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.contract import load_contract
from conformance.profile.behavior import Authorization
from conformance.profile.model import Profile
from conformance.setup.probe.access import _find_scopes
from conformance.setup.probe.bodies import first_refused
from conformance.setup.probe.exchange import find_lifetime, lifetime_places
from conformance.setup.probe.openapi import read_openapi
from conformance.setup.probe.search_values import find_list

LIMITS = (10, 20, 50, 100, 200, 500)


@given(st.integers(1, 600))
def test_the_first_refused_limit_is_found_in_few_requests(bound: int) -> None:
    asked: list[int] = []

    async def is_refused(limit: int) -> bool:
        asked.append(limit)
        return limit >= bound

    expected = next((limit for limit in LIMITS if limit >= bound), None)
    assert asyncio.run(first_refused(LIMITS, is_refused)) == expected
    assert len(asked) <= 3


def test_a_list_counts_only_if_it_is_the_only_one_with_that_text() -> None:
    config = {"data": {"locales": ["en", "de"], "markets": ["US"], "mixed": ["fr", 1]}}
    assert find_list(config, "en") == ("/data/locales", ["en", "de"])
    assert find_list(config, "fr") is None
    assert find_list({"a": ["en"], "b": ["en"]}, "en") is None
    assert find_list(None, "en") is None


@pytest.mark.parametrize(
    ("data", "places"),
    [
        ({"expiresIn": 3600, "level": 2}, ["/data/expiresIn"]),
        ({"expires_in": 900}, ["/data/expires_in"]),
        ({"m1": 3600, "m2": "x"}, ["/data/m1"]),
        ({"m1": 899}, ["/data/m1"]),
        ({"m1": 3600, "m2": 60}, []),
        ({"m1": 7}, []),
        ({"m1": True}, []),
    ],
)
def test_a_lifetime_is_known_by_its_name_or_as_the_only_number(data: dict[str, Any], places: list[str]) -> None:
    assert lifetime_places({"data": data}) == places


@pytest.mark.parametrize(("shown", "lifetime"), [(3600, 3600), (899, 900), (3601, None), (100, None)])
def test_a_lifetime_has_whole_minutes_of_which_a_second_may_have_passed(shown: int, lifetime: int | None) -> None:
    assert find_lifetime({"data": {"ttl": shown}}, "/data/ttl") == lifetime


@pytest.mark.parametrize(
    ("data", "scopes"),
    [
        ({"scopes": ["catalog:read"]}, {"catalog:read"}),
        ({"scope": "catalog:read webhooks:read"}, {"catalog:read", "webhooks:read"}),
        ({"may": {"catalog:read": True, "webhooks:read": False}}, {"catalog:read"}),
        ({"missing": ["catalog:read"]}, set()),
    ],
)
def test_scopes_are_texts_or_the_names_of_true_members(data: dict[str, Any], scopes: set[str]) -> None:
    assert _find_scopes({"data": data}) == scopes


def _body(**own: Any) -> dict[str, Any]:
    call = {"type": "object", "properties": {"mark": {"type": "string"}}, "required": ["mark"]}
    return {"type": "object", "properties": {"call": call, "note": {"type": "string"}, **own}, "required": ["call"]}


def test_a_text_that_all_bodies_share_may_be_the_key(tmp_path: Path) -> None:
    """Whatever its name; a text that only some have is none."""
    names = [operation.request_schema for operation in load_contract().idempotent]
    schemas = {name: _body() for name in names}
    del schemas["PublicWebhookCreateRequest"]["properties"]["note"]
    path = tmp_path / "shop.json"
    path.write_text(json.dumps({"components": {"schemas": schemas}}))
    profile = Profile("p", "http://127.0.0.1:9", Authorization("Bearer {key}"))
    assert read_openapi(str(path), profile, load_contract()).key_locations == (("body", "/call/mark"),)
