"""The laws of JSON pointers (RFC 6901)."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.core import json_pointer as pointer

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
NAMES = st.text(alphabet='ab/~01 %"', max_size=4)
VALUES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=4) | st.dictionaries(NAMES, below, max_size=4), max_leaves=12
)
DOCUMENT = {
    "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6, " ": 7, "m~n": 8,
}  # fmt: skip


@pytest.mark.parametrize(
    ("at", "value"),
    [
        ("", DOCUMENT), ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3),
        ("/g|h", 4), ("/i\\j", 5), ('/k"l', 6), ("/ ", 7), ("/m~0n", 8),
    ],
)  # fmt: skip
def test_the_examples_of_the_rfc(at: str, value: Any) -> None:
    """RFC 6901, section 5."""
    assert pointer.get(DOCUMENT, at) == value


@given(VALUES)
def test_leaves_are_found_where_they_say(value: Any) -> None:
    """Every leaf is at its pointer, pointers are distinct, and no leaf is an object or array."""
    found = pointer.leaves(value)
    assert len({at for at, _ in found}) == len(found)
    for at, leaf in found:
        assert pointer.get(value, at) is leaf
        assert not isinstance(leaf, dict | list)


@given(VALUES)
def test_replacing_changes_that_place_alone(value: Any) -> None:
    """After `replace` the new value is there, everything else as it was, and the original untouched."""
    before = copy.deepcopy(value)
    for at, _ in pointer.leaves(value):
        changed = pointer.replace(value, at, "NEW")
        assert pointer.get(changed, at) == "NEW"
        assert {a: v for a, v in pointer.leaves(changed) if a != at} == {
            a: v for a, v in pointer.leaves(value) if a != at
        }
    assert value == before


@given(VALUES)
def test_removing_takes_away_one_leaf(value: Any) -> None:
    """After `remove` there is one leaf less, or an object or array that became empty, and the original is untouched."""
    before = copy.deepcopy(value)
    for at, _ in pointer.leaves(value):
        if at:
            changed = pointer.remove(value, at)
            assert len(pointer.leaves(changed)) == len(pointer.leaves(value)) - 1
            parent, _, _ = at.rpartition("/")
            assert len(pointer.get(changed, parent)) == len(pointer.get(value, parent)) - 1
    assert value == before


def test_a_new_member_may_be_put_but_no_new_element() -> None:
    """`replace` adds the last member of an object; an index must exist."""
    assert pointer.replace({"a": {}}, "/a/b", 1) == {"a": {"b": 1}}
    with pytest.raises(KeyError):
        pointer.replace({"a": []}, "/a/0", 1)
    with pytest.raises(KeyError):
        pointer.replace({}, "/a/b", 1)


def test_putting_makes_the_way() -> None:
    """`put` makes the objects that are missing on the way, and otherwise is `replace`."""
    assert pointer.put({"a": 1}, "/b/c", 2) == {"a": 1, "b": {"c": 2}}
    assert pointer.put({"b": {"c": [1]}}, "/b/c/0", 2) == {"b": {"c": [2]}}
    with pytest.raises(KeyError):
        pointer.put({"b": 1}, "/b/c", 2)


@pytest.mark.parametrize("at", ["/foo/2", "/foo/-", "/foo/01", "/foo/-1", "/nope", "/foo/bar", "/ /x", "/foo/\u0660"])
def test_what_is_not_there_is_a_key_error(at: str) -> None:
    assert not pointer.has(DOCUMENT, at)
    with pytest.raises(KeyError):
        pointer.get(DOCUMENT, at)
    with pytest.raises(KeyError):
        pointer.remove(DOCUMENT, at)


def test_a_pointer_begins_with_a_slash_and_the_whole_stays() -> None:
    with pytest.raises(ValueError, match="begins with a slash"):
        pointer.get({}, "a")
    with pytest.raises(ValueError, match="whole value"):
        pointer.remove({}, "")


@pytest.mark.parametrize(
    ("value", "volatile", "left"),
    [
        ({"a": 1, "b": 2}, ("/b",), {"a": 1}),
        ({"a": 1}, ("/b", "/a/b", "/c/*/d"), {"a": 1}),
        ({"a": [{"x": 1, "y": 2}, {"x": 3}]}, ("/a/*/x",), {"a": [{"y": 2}, {}]}),
        ({"a": {"p": {"x": 1}, "q": {"x": 2}}}, ("/a/*/x",), {"a": {"p": {}, "q": {}}}),
        ({"a": [[{"x": 1}], [{"x": 2}]]}, ("/a/*/*/x",), {"a": [[{}], [{}]]}),
        ({"a": "text"}, ("/a/*/x",), {"a": "text"}),
        ({"a": 1}, ("",), {"a": 1}),
        ([1], ("/data",), [1]),
        ({"a": [1, 2, 3]}, ("/a/*",), {"a": []}),
    ],
)
def test_volatile_members_are_left_out(value: Any, volatile: tuple[str, ...], left: Any) -> None:
    """By pointer, `*` for every element; what is not there is no trouble, and the value itself stays as it is."""
    before = copy.deepcopy(value)
    assert pointer.remove_matching(value, volatile) == left
    assert value == before
