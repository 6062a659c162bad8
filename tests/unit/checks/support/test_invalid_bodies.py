"""Bodies that break a schema in one place: which places, and by what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.checks.support.invalid_bodies import contract_breaks
from conformance.client.request import Request
from conformance.profile.behavior import Authorization
from conformance.profile.model import Limits, Profile, Schemas
from conformance.profile.resources import OperationFacts
from tests.support.check_runs import CONTRACT

CREATE = CONTRACT.operations["createInstallationWebhook"]
BODY = {"url": "https://a.example/x", "note": "n", "retry": {"max": 3, "name": "r"}}
RETRY = {"type": "object", "required": ["max"], "properties": {"max": {"type": "integer"}, "name": {"type": "string"}}}


def _profile(properties: Any) -> Profile:
    schema = {"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}, **properties}}
    return Profile(
        "shop",
        "http://127.0.0.1",
        Authorization("Bearer {key}"),
        schemas=Schemas(by_name={CREATE.request_schema: schema}),
        operations={CREATE.id: OperationFacts(body=BODY)},
    )


def _breaks(**properties: Any) -> set[str]:
    return {name for name in contract_breaks(_profile(properties), CREATE) if name.startswith("null")}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"note": {"type": "string"}, "retry": RETRY}, {"null/retry/name", "null/retry"}),
        ({"note": {"type": "string"}}, {"null/note"}),
        ({"note": {"type": ["string", "null"]}}, set()),
        ({}, set()),
    ],
    ids=["one within and one at the top", "at the top", "null is allowed", "no type is stated"],
)
def test_an_optional_member_is_null_where_the_schema_refuses_it(properties: Any, expected: set[str]) -> None:
    """A required member that is null is of another type, which other cases try."""
    assert _breaks(**properties) == expected


def test_texts_get_values_of_other_types_in_turn() -> None:
    """The first one a number, one of an enum `true`, and none a value that the schema allows."""
    texts = {name: {"type": "string"} for name in ("one", "two", "three", "four", "five")}
    schemas = {**texts, "kind": {"enum": ["n"]}, "either": {"type": ["string", "boolean", "object"]}}
    body = dict.fromkeys(("url", *schemas), "n")
    profile = replace(_profile(schemas), operations={CREATE.id: OperationFacts(body=body)}, limits=Limits(depth="deep"))
    sent = {}
    for name, found in contract_breaks(profile, CREATE).items():
        if name.startswith("type"):
            assert found is not None
            sent[name] = found[1](Request(CREATE, body=body)).body[name.removeprefix("type/")]
    assert list(sent.values()) == [12345, True, {}, ["n"], 12345, True, True, ["n"]]
