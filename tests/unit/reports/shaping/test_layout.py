"""Bodies are indented without a change of what was sent."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.core import json_pointer as pointer
from conformance.core.model import Message
from conformance.reports.shaping.layout import MAX_LINES, lines_of

names = st.text(max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


def laid_out(body: str, *, truncated: bool = False) -> list[str]:
    return [line.text for line in lines_of(Message((), body, len(body), truncated))]


@settings(max_examples=60)
@given(st.lists(values, min_size=1, max_size=3) | st.dictionaries(names, values, min_size=1, max_size=3))
def test_the_lines_are_the_same_value_and_each_leaf_has_its_place(value: object) -> None:
    """Joined, the lines parse to the value; a scalar's line has its JSON pointer."""
    lines = lines_of(Message((), json.dumps(value), 1))
    assert json.loads("\n".join(line.text for line in lines)) == value
    places = [line.place for line in lines]
    assert all(place in places for place, _ in pointer.leaves(value))


def test_nothing_but_white_space_changes() -> None:
    """Numbers, escapes and members that stand there twice stay as they were sent."""
    body = '{"a":1.0,"a":1e2,"b":"\\u0041","c":[],"d":{ },"e":[1,"x, y: {"]}'
    assert laid_out(body) == [
        "{",
        '  "a": 1.0,',
        '  "a": 1e2,',
        '  "b": "\\u0041",',
        '  "c": [],',
        '  "d": {},',
        '  "e": [',
        "    1,",
        '    "x, y: {"',
        "  ]",
        "}",
    ]


def test_a_cut_body_is_indented_as_far_as_it_goes() -> None:
    """The journal bounds bodies: the part that is there is as readable as a whole one."""
    assert laid_out('{"data":{"a":1,"b":"xy', truncated=True) == ["{", '  "data": {', '    "a": 1,', '    "b": "xy']


@pytest.mark.parametrize("body", ["", "plain\ntext", "{not json", "}{", "[1,]", '{"a":"\nb"}', "<p>{}</p>"])
@pytest.mark.parametrize("truncated", [False, True])
def test_what_is_no_json_stays_as_it_is(body: str, *, truncated: bool) -> None:
    """Its own lines, none of which holds a line break."""
    lines = laid_out(body, truncated=truncated)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", body)
    assert not any("\n" in line for line in lines)
    if not truncated:
        assert lines == body.splitlines()


def test_lines_are_bounded() -> None:
    """A long list ends with an ellipsis."""
    assert len(laid_out(json.dumps(list(range(9_000))))) == MAX_LINES + 1
