"""When two payloads are two by the target's own word: its answers show what distinguishes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.checks.support.payload_changes import shows, tells_apart


def answer(said: Any, shown: Any) -> Any:
    """The answer to a request that says something in its member `a`."""
    return SimpleNamespace(request=SimpleNamespace(body={"a": said}), value=shown)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("red", {"data": {"x": "red"}}), ("RED", {"data": {"x": "RED"}}), True),
        (("red", {"data": {"x": "red"}}), ("RED", {"data": {"x": "red"}}), False),
        (("red", {"data": {"x": "red"}}), ("RED", {"data": {"y": "RED"}}), False),
        (("red", {"data": {}}), ("RED", {"data": {}}), False),
        (("red", {"data": {"x": "red"}}), ("red", {"data": {"x": "red"}}), False),
        ((["a"], {"data": {"x": ["a"]}}), (["a", "a"], {"data": {"x": ["a", "a"]}}), True),
        ((["a"], {"data": {"x": ["a"]}}), (["a", "a"], {"data": {"x": ["a"]}}), False),
        (([{"n": 1}], {"data": {"x": [{"id": 7}]}}), ([{"n": 1}, {"n": 2}], {"data": {"x": [{"id": 7}, {}]}}), True),
        (([{"n": 1}], {"data": {"x": [{"id": 7}]}}), ([{"n": 1}, {"n": 2}], {"data": {"x": [{"id": 7}]}}), False),
    ],
    ids=[
        "both cases are shown",
        "folded",
        "elsewhere",
        "nothing is shown",
        "no difference",
        "an item twice",
        "a set",
        "a further object",
        "objects in one",
    ],
)
def test_a_target_tells_apart_what_it_shows_apart(first: Any, second: Any, expected: bool) -> None:
    assert tells_apart("/a", answer(*first), answer(*second)) is expected


def test_what_an_answer_shows_of_its_request() -> None:
    """A value of its own, or as part of a list; a list of objects by its length."""
    assert shows("/a", answer("red", {"data": {"colors": ["blue", "red"]}}))
    assert shows("/a", answer([{"n": 1}], {"data": {"lines": [{"id": "x", "n": 1}]}}))
    assert not shows("/a", answer("red", {"data": {"color": "reddish"}}))
    assert not shows("/a", answer([{"n": 1}], {"data": {"lines": [1]}}))
