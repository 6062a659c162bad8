"""Which bodies that are not JSON, or no objects, each operation is sent (BODY-2, BODY-3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.checks.check_bodies import (
    NOT_JSON,
    a_body_that_is_no_json_is_answered_400,
    a_body_that_is_no_object_is_answered_400,
)
from conformance.checks.support.registry import all_checks
from conformance.profile.model import Profile, Schemas
from tests.support.check_runs import CONTRACT, profile

BODIES = [operation.id for operation in CONTRACT.select("body")]
FREE = {"type": "object", "properties": {"reason": {"type": "string"}}}
NEEDY = {**FREE, "required": ["reason"]}


def cases_of(function: Any, schema: Any, depth: str = "standard") -> dict[str, set[str]]:
    """By operation, the names of its cases, where each body has this schema."""
    known = profile("http://127.0.0.1:1")
    names = {operation.request_schema for operation in CONTRACT.select("body")}
    stated: Profile = replace(
        known,
        schemas=Schemas(dict.fromkeys(names, schema) if schema else {}),
        limits=replace(known.limits, depth=depth),
    )
    found = next(one for one in all_checks() if one.function is function)
    return {operation.id: set(found.cases(stated, operation)) for operation in CONTRACT.select("body")}


@pytest.mark.parametrize("schema", [FREE, NEEDY, None], ids=["free", "needy", "unknown"])
def test_each_body_is_followed_by_a_second_value(schema: Any) -> None:
    """And each kind of text that is no JSON is sent to an operation, white space where it may be read as no members."""
    found = cases_of(a_body_that_is_no_json_is_answered_400, schema)
    assert all("second-value" in names for names in found.values()), found
    assert set().union(*found.values()) == set(NOT_JSON) - ({"blank"} if schema is not FREE else set())
    assert all(("blank" in names) == (schema is FREE) for names in found.values()), found


@pytest.mark.parametrize(("schema", "expected"), [(FREE, {"empty-array", "null"}), (NEEDY, {"array"})])
def test_what_may_be_read_as_no_members_is_sent_where_none_is_required(schema: Any, expected: set[str]) -> None:
    """Elsewhere an array is sent that may be read as the body in it."""
    found = cases_of(a_body_that_is_no_object_is_answered_400, schema)
    assert found == {name: {"string", *expected} for name in BODIES}


def test_a_deep_run_sends_all_of_them() -> None:
    for function, count in ((a_body_that_is_no_json_is_answered_400, 5), (a_body_that_is_no_object_is_answered_400, 4)):
        assert {len(names) for names in cases_of(function, NEEDY, "deep").values()} == {count}
