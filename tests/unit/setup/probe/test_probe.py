"""The pure parts of a probe: bisection, sources of keys, what tells two creations apart, what a document says."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from conformance.contract import load_contract
from conformance.core.errors import ProfileError, UsageError
from conformance.profile.behavior import Authorization
from conformance.profile.model import Profile
from conformance.profile.schemas import load_schemas
from conformance.setup.probe.answers import generalize_pointer
from conformance.setup.probe.idempotency import KEY_FORMATS, differences, identifying_pointers
from conformance.setup.probe.openapi import read_openapi
from conformance.setup.probe.options import (
    KeySource,
    ProbeOptions,
    key_source,
    read_fragment,
    read_secret,
    relocate_source,
)
from conformance.setup.probe.search import Bound, find_bound

URL = "http://127.0.0.1:9"
STEPS = (10, 20, 50, 100, 200, 500, 1000, 5000)


@given(st.integers(2, 6000))
def test_a_bound_is_found_exactly_and_soon(limit: int) -> None:
    """The largest size that is accepted, in fewer requests than anybody minds."""
    asked: list[int] = []

    async def accepts(size: int) -> bool:
        asked.append(size)
        return size <= limit

    found = asyncio.run(find_bound(accepts, STEPS, 2))
    if limit >= STEPS[-1]:
        assert found == Bound(STEPS[-1], None)
    else:
        assert found == Bound(limit, limit + 1)
    assert len(asked) <= len(STEPS) + 12
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize(
    ("text", "name", "secret"),
    [
        ("env:SHOP_KEY", "full", {"env": "SHOP_KEY"}),
        ("other=env:B", "other", {"env": "B"}),
        ("read.only=file:keys/a=b.txt", "read.only", {"file": "keys/a=b.txt"}),
        ("command:pass show 'my shop' --line=2", "full", {"command": ["pass", "show", "my shop", "--line=2"]}),
    ],
)
def test_a_key_is_given_by_its_source(text: str, name: str, secret: dict[str, Any]) -> None:
    source = key_source(text)
    assert (source.name, source.secret) == (name, secret)


SECRETS = [
    "sk_live_51Habc",
    "full=sk_live_51Habc",
    "user:sk_live_51Habc",
    "env:sk-live-51Habc",
    "sk_live=51Habc",
    "env:",
]


@pytest.mark.parametrize("text", SECRETS)
def test_what_may_be_a_secret_is_refused_and_not_repeated(text: str) -> None:
    """And the message says how a key is given instead."""
    with pytest.raises(UsageError) as refused:
        key_source(text)
    assert "51Habc" not in str(refused.value)
    assert "env:VARIABLE" in str(refused.value)


def test_a_key_comes_from_where_the_profile_will_look_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and programs relative to the draft, as in any profile."""
    (tmp_path / "key.txt").write_text("from a file\n")
    (tmp_path / "key.txt").chmod(0o600)
    monkeypatch.setenv("SHOP_KEY", "from the environment")
    assert read_secret(key_source("file:key.txt"), tmp_path) == "from a file"
    assert read_secret(key_source("env:SHOP_KEY"), tmp_path) == "from the environment"
    assert read_secret(key_source("command:echo from a program"), tmp_path) == "from a program"
    with pytest.raises(ProfileError):
        read_secret(key_source("env:NOT_SET_ANYWHERE"), tmp_path)


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        ({"file": "keys/full.txt"}, {"file": "../keys/full.txt"}),
        ({"file": "profiles/near.txt"}, {"file": "./near.txt"}),
        ({"file": "near.txt"}, {"file": "near.txt"}),
        ({"file": "/etc/hostname"}, {"file": "/etc/hostname"}),
        ({"command": ["keys/show", "keys/full.txt"]}, {"command": ["../keys/show", "keys/full.txt"]}),
        ({"command": ["printenv", "KEY"]}, {"command": ["printenv", "KEY"]}),
        ({"env": "KEY"}, {"env": "KEY"}),
    ],
)
def test_a_path_of_the_command_line_begins_where_it_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: dict[str, Any], told: dict[str, Any]
) -> None:
    """In the profile it begins at that one's folder; what is only there is meant there."""
    for name in ("keys/full.txt", "keys/show", "profiles/near.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert relocate_source(KeySource("full", secret), Path("profiles")) == KeySource("full", told)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"base_url": "shop.example"}, "--base-url"),
        ({"base_url": "http://shop.example/api/v1"}, "--base-url"),
        ({"output": "mine.json"}, "mine.json"),
        ({"output": "no/such/folder/mine.toml"}, "folder"),
        ({"output": "two words.toml"}, "--output"),
        ({"keys": ("env:A", "full=env:B")}, "--key"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_sent(
    change: dict[str, Any], where: str, tmp_path: Path
) -> None:
    given = {"base_url": URL, "output": "mine.toml", "keys": ("env:A",), **change}
    asked = ProbeOptions(given["base_url"], tmp_path / given["output"], tuple(key_source(key) for key in given["keys"]))
    with pytest.raises(UsageError) as refused:
        asked.validate()
    assert where in str(refused.value)


@pytest.mark.parametrize("text", ["[credentials.full]\nscopes = []", '[schemas]\nfile = "a.json"', "[search"])
def test_a_fragment_holds_what_has_no_option_of_its_own(text: str, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(ProfileError):
        read_fragment(path)


def test_two_things_are_told_apart_by_their_ids() -> None:
    """Not by what differs with every call, nor by the time of day; by whatever differs where there is no id."""
    one = {"data": {"id": "a1", "at": "10:00"}, "requestId": "r1"}
    other = {"data": {"id": "a2", "at": "10:01"}, "requestId": "r2"}
    assert identifying_pointers(one, other) == {"/data/id"}
    assert identifying_pointers({"data": {"m1": "x", "m2": 1}}, {"data": {"m1": "y", "m2": 1}}) == {"/data/m1"}


def test_a_difference_is_of_json_values() -> None:
    assert differences({"a": 1, "b": [1, 2]}, {"a": 1.0, "b": [1, 3], "c": None}) == {"/b/1", "/c"}
    assert differences({"a": True}, {"a": 1}) == {"/a"}
    assert generalize_pointer("/data/items/12/at") == "/data/items/*/at"


@pytest.mark.parametrize("form", KEY_FORMATS, ids=lambda form: form.name)
def test_a_key_has_the_look_that_is_stated_of_it(form: Any) -> None:
    """What a draft says of the format, the suite's own keys will follow."""
    import re

    keys = {form.generate() for _ in range(50)}
    assert len(keys) == 50
    if form.value is not None:
        assert all(re.fullmatch(form.value["pattern"], key) for key in keys)


OPENAPI = {
    "openapi": "3.0.3",
    "paths": {
        "/open/webhooks/endpoints": {
            "post": {
                "parameters": [{"$ref": "#/components/parameters/Key"}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewHook"}}}},
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Hook"}}}},
                    "400": {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Oops"}}}},
                },
            }
        },
        "/search": {
            "get": {
                "parameters": [
                    {"name": "sort", "in": "query", "schema": {"enum": ["best", "cheap"]}},
                    {"name": "locale", "in": "query", "example": "nl-NL", "schema": {"type": "string"}},
                ],
                "responses": {},
            }
        },
        "/runtime-config": {
            "get": {"responses": {"200": {"content": {"application/json": {"schema": {"type": "object"}}}}}}
        },
    },
    "components": {
        "parameters": {"Key": {"name": "X-Idem-Potency", "in": "header"}, "Once": {"name": "Idempotency-Once"}},
        "securitySchemes": {"a": {"type": "http", "scheme": "bearer"}, "b": {"type": "http", "scheme": "ShopKey"}},
        "schemas": {
            "NewHook": {"type": "object", "properties": {"context": {"properties": {"idempotencyKey": {}}}}},
            "Hook": {"type": "object", "nullable": True},
            "Oops": {"type": "object"},
            "public_cart_response": {"type": "object"},
            "PublicCartQuoteResponse": {"type": "nonsense"},
        },
    },
}


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_document_is_read_by_its_operations_and_then_by_names(suffix: str, tmp_path: Path) -> None:
    """Whatever it calls its schemas; what cannot be used is left out, and what it drafts can be loaded."""
    path = tmp_path / f"shop.{suffix}"
    path.write_text(json.dumps(OPENAPI) if suffix == "json" else yaml.safe_dump(OPENAPI))
    contract = load_contract()
    said = read_openapi(str(path), Profile("p", URL, Authorization("Bearer {key}")), contract)
    assert said.schema_names["PublicWebhookCreateRequest"] == "NewHook"
    assert said.schema_names["PublicErrorResponse"] == "Oops"
    assert said.schema_names["PublicCartResponse"] == "public_cart_response"
    assert said.document["components"]["schemas"]["OperationResponse"]["anyOf"][0] == {
        "$ref": "#/components/schemas/Hook"
    }
    assert set(said.unusable) == {"PublicCartQuoteResponse"}
    assert ("body", "/context/idempotencyKey") in said.key_locations
    assert said.authorization_formats == ("Bearer {key}", "ShopKey {key}")
    assert said.query_values == {"sort": ("best", "cheap"), "locale": ("nl-NL",)}
    written = tmp_path / "drafted.json"
    written.write_text(json.dumps(said.document))
    assert set(load_schemas(written, said.schema_names, contract.schema_names)) == set(said.evidence)


def test_a_document_on_another_host_is_not_fetched() -> None:
    """No request leaves for anywhere but the target's host and this machine."""
    with pytest.raises(UsageError, match="not the host of the base URL"):
        read_openapi(
            "https://docs.example/openapi.json",
            Profile("p", "https://shop.example", Authorization("Bearer {key}")),
            load_contract(),
        )


@pytest.mark.parametrize("text", ["", "[1, 2]", "{", "openapi: [", "\0"])
def test_what_is_no_document_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(text)
    with pytest.raises(ProfileError):
        read_openapi(str(path), Profile("p", URL, Authorization("Bearer {key}")), load_contract())
