"""A text of an answer that is not of the format that its schema names is a warning, and nothing more (ENV-4)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.core.model import Finding
from conformance.core.outcomes import Level
from conformance.judge.formats import format_validator
from conformance.judge.invariants import Invariants
from conformance.judge.validators import Validators
from conformance.profile.behavior import Authorization
from conformance.profile.model import Profile, Schemas

IDENTITY = Request(load_contract().operations["getApiKeyIdentity"])
AT = {"type": "string", "format": "date-time"}
BRANCHES = {"anyOf": [{"type": "integer"}, AT]}
DEFINED = {"$ref": "#/$defs/at"}
NAMED = {"type": "object", "properties": {"format": {"const": "uuid"}}}
BAD = "2026-11-26 16:00:00"


def findings(schema: Any, value: Any, *, sent_body: bytes = b"", dialect: str = "") -> list[Finding]:
    whole = {"properties": {"data": {"properties": {"m": schema}}}, "$defs": {"at": AT}}
    if dialect:
        whole["$schema"] = dialect
    declared = Schemas({"ApiKeyIdentityResponse": whole})
    invariants = Invariants(
        Profile("p", "http://t", Authorization("Bearer {key}"), schemas=declared), Validators(declared)
    )
    body, headers = json.dumps({"data": {"m": value}}).encode(), (("Content-Type", "application/json"),)
    answer = Answer("x1", IDENTITY, "http://t/a", (), sent_body, 200, headers, body)
    return [finding for finding in invariants.judge(answer)[1] if finding.requirement == "ENV-4"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (AT, BAD),
        (BRANCHES, BAD),
        (DEFINED, BAD),
        ({"format": "uuid"}, "3f2504e04f8911d39a0c0305e82c3301"),
        ({"format": "uri"}, "shop.example/cart"),
        ({"format": "email"}, "nobody"),
        ({"items": {"format": "date"}}, ["2026-02-28", "2026-02-29"]),
    ],
)
def test_a_text_that_is_not_of_its_format_is_a_warning(schema: Any, value: Any) -> None:
    """Also in a branch, or in a part that is referred to."""
    (finding,) = findings(schema, value)
    assert (finding.code, finding.level) == ("format", Level.RECOMMENDED)
    assert "/data/m" in finding.message


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (AT, "2026-12-31T23:59:60Z"),
        (AT, "2026-11-26t16:00:00.1234567-08:00"),
        (AT, 5),
        (BRANCHES, 5),
        ({"format": "uuid"}, "3F2504E0-4F89-11D3-9A0C-0305E82C3301"),
        ({"format": "uri"}, "urn:shop:1"),
        ({"format": "email"}, "a+b@localhost"),
        ({"format": "hostname"}, "-no host-"),
        ({"format": "int64"}, "no number"),
        ({"format": "password"}, ""),
        (NAMED, {"format": "uuid"}),
    ],
)
def test_what_the_standard_of_a_format_allows_is_none(schema: Any, value: Any) -> None:
    """Nor is a value that is not a text, a format that readers differ about, or one that is not known."""
    assert findings({**schema, "type": ["string", "integer", "object"]} if schema is AT else schema, value) == []


def test_a_text_of_the_request_is_not_held_to_a_format() -> None:
    """The schema of the request may name none, and the suite sends texts of all kinds."""
    assert findings(AT, BAD, sent_body=json.dumps({"at": BAD}).encode()) == []


@pytest.mark.parametrize("draft", ["draft-04", "draft-06", "draft-07"])
def test_a_format_is_no_assertion_in_older_dialects_either(draft: str) -> None:
    """They leave it to the implementation."""
    (finding,) = findings(AT, BAD, dialect=f"http://json-schema.org/{draft}/schema#")
    assert finding.level is Level.RECOMMENDED


def test_another_violation_of_the_schema_is_told_alone() -> None:
    """It binds."""
    (finding,) = findings({**AT, "maxLength": 3}, BAD)
    assert finding.code == "schema"


@pytest.mark.parametrize("schema", [{}, {"type": "string"}, {"properties": {"format": {"type": "string"}}}, True])
def test_a_schema_without_a_format_has_no_second_validator(schema: Any) -> None:
    """It costs nothing then."""
    assert format_validator(schema) is None
