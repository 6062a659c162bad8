"""Inferred schemas are sound: what a service might as well have answered fits them."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.core import json_pointer as pointer
from conformance.setup.probe.infer_schema import envelope, error_schema, response_schema

LEAVES = st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats(-9, 9) | st.text(max_size=5)
THINGS = st.dictionaries(
    st.sampled_from("abcdef"),
    st.recursive(LEAVES, lambda b: st.lists(b, max_size=3) | st.dictionaries(st.sampled_from("xyz"), b, max_size=3)),
    max_size=5,
)
OBJECTS = st.builds(lambda data: {"data": data}, THINGS)
LISTS = st.builds(lambda data: {"data": data, "meta": {"total": len(data)}}, st.lists(THINGS, max_size=4))


def fits(schema: Any, value: Any) -> bool:
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


def loosenings(body: Any) -> list[Any]:
    """What another answer of the same service may be: without a member, with null in its place, with one more."""
    inside = [at for at, _ in pointer.leaves(body) if at.startswith("/data/")]
    found = [pointer.remove(body, at) for at in inside] + [pointer.replace(body, at, None) for at in inside]
    more = copy.deepcopy(body)
    more["links"] = {"self": "x"}
    (more["data"] if isinstance(more["data"], dict) else more).update({"another": [1, {}]})
    return [*found, more]


@given(st.lists(OBJECTS, min_size=1, max_size=4))
def test_every_answer_seen_fits_and_so_does_what_it_might_have_been(bodies: list[Any]) -> None:
    """Members may be missing, null or new; only the envelope is demanded."""
    schema = response_schema(bodies, "object")
    assert all(fits(schema, body) for body in bodies)
    assert all(fits(schema, other) for body in bodies for other in loosenings(body))
    assert not fits(schema, {}) and not fits(schema, {"data": []})


@given(st.lists(LISTS, min_size=1, max_size=4))
def test_items_of_all_lists_are_one_kind(bodies: list[Any]) -> None:
    """Any item seen may stand in any list; `data` must be one."""
    schema = response_schema(bodies, "array")
    every = [item for body in bodies for item in body["data"]]
    assert fits(schema, {"data": every}) and fits(schema, {"data": []})
    assert all(fits(schema, other) for body in bodies for other in loosenings(body))
    assert not fits(schema, {"data": {}})


@given(st.lists(THINGS.filter(bool), min_size=1, max_size=4))
def test_any_error_seen_fits_the_error_schema(bodies: list[Any]) -> None:
    schema = error_schema(bodies)
    assert all(fits(schema, body) for body in bodies)
    assert not fits(schema, {}) and not fits(schema, [])


def test_a_type_that_was_always_seen_is_held() -> None:
    """It is not a schema that fits everything: a text is not a number, though a whole number may be a fraction."""
    schema = response_schema([{"data": {"id": "a", "count": 1}}, {"data": {"id": "b", "count": 2}}], "object")
    assert not fits(schema, {"data": {"id": 7}})
    assert fits(schema, {"data": {"count": 1.5}})


def test_what_was_only_null_may_become_anything() -> None:
    schema = response_schema([{"data": {"cancelledAt": None}}], "object")
    assert fits(schema, {"data": {"cancelledAt": "2030-01-01"}})


def test_what_a_caller_may_fill_in_is_left_open() -> None:
    """Members of members: a map of labels has other values tomorrow."""
    schema = response_schema([{"data": {"metadata": {"priority": 1}}}], "object")
    assert fits(schema, {"data": {"metadata": {"priority": "high", "team": []}}})


@pytest.mark.parametrize("deep", [70, 400])
def test_what_is_nested_without_end_tells_nothing(deep: int) -> None:
    """And costs no stack."""
    value: Any = {}
    for _ in range(deep):
        value = {"data": value}
    assert response_schema([value], "object")["required"] == ["data"]
    assert fits(response_schema([value], "object"), {"data": {"data": 1}})


def test_the_envelope_is_what_the_interface_says() -> None:
    assert fits(envelope("object"), {"data": {}}) and not fits(envelope("object"), {"data": None})
    assert fits(envelope("array"), {"data": [], "meta": {}}) and not fits(envelope("array"), {"data": {}})
