"""JSON by RFC 8259 and nothing else; equality of JSON values as JSON has it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.core.strict_json import (
    ABSENT,
    MAX_DEPTH,
    JsonError,
    NestingLimitError,
    NumberLimitError,
    differences,
    first_difference,
    is_equal,
    json_type,
    parse,
    parse_leniently,
)
from tests.support.paths import SHARED

CASES = SHARED / "json-parsing" / "test_parsing"
TOO_DEEP = {"n_structure_100000_opening_arrays.json", "n_structure_open_array_object.json"}

names = st.text("ab~/é", max_size=3)
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
few = settings(max_examples=40)


def _cases(prefix: str) -> list[Any]:
    found = sorted(CASES.glob(f"{prefix}_*.json"))
    if not found:
        reason = f"the cases of JSONTestSuite are not at {CASES.parent.name}/{CASES.name}"
        return [pytest.param(None, marks=() if os.environ.get("CI") == "true" else pytest.mark.skip(reason=reason))]
    return [pytest.param(path, id=path.name) for path in found]


@pytest.mark.parametrize("path", _cases("y"))
def test_what_must_be_accepted_is(path: Path | None) -> None:
    """Every y_ text of JSONTestSuite parses, strictly and leniently, to the value that Python reads."""
    assert path is not None, "the cases of JSONTestSuite must be there in CI"
    raw = path.read_bytes()
    assert is_equal(parse(raw), json.loads(raw))
    assert is_equal(parse_leniently(raw), json.loads(raw))


@pytest.mark.parametrize("path", _cases("n"))
def test_what_must_be_refused_is(path: Path | None) -> None:
    """Every n_ text of JSONTestSuite is refused, with a reason in words."""
    assert path is not None, "the cases of JSONTestSuite must be there in CI"
    with pytest.raises(JsonError) as refused:
        parse(path.read_bytes())
    assert str(refused.value)
    assert isinstance(refused.value, NestingLimitError) == (path.name in TOO_DEEP)


@pytest.mark.parametrize("path", _cases("i"))
def test_what_is_free_raises_nothing_else(path: Path | None) -> None:
    """An i_ text of JSONTestSuite is accepted or refused; nothing else happens."""
    assert path is not None, "the cases of JSONTestSuite must be there in CI"
    for reader in (parse, parse_leniently):
        try:
            reader(path.read_bytes())
        except JsonError as refused:
            assert str(refused)


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf{}", b"NaN", b"[Infinity]", b"-Infinity"])
def test_only_the_lenient_reader_forgives(raw: bytes) -> None:
    """A byte order mark, NaN and Infinity are not JSON, but a forgiving reader sees a value."""
    parse_leniently(raw)
    with pytest.raises(JsonError):
        parse(raw)


@pytest.mark.parametrize(
    "raw", [b"", b" \t\r\n", b"{} {}", b"{}\x00", b"{}\x0c", b"'a'", b"\xff", '"é"'.encode("utf-16")]
)
def test_neither_reader_forgives(raw: bytes) -> None:
    """Nothing, more than one value, and another encoding are not JSON by any reading."""
    for reader in (parse, parse_leniently):
        with pytest.raises(JsonError):
            reader(raw)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth_is_bounded(opening: bytes, closing: bytes) -> None:
    """MAX_DEPTH levels are read and compared; one more is a NestingLimitError, for both readers."""
    deepest = opening * MAX_DEPTH + b"1" + closing * MAX_DEPTH
    value, other = parse(deepest), parse(deepest.replace(b"1", b"2"))
    assert is_equal(value, parse_leniently(deepest))
    assert not is_equal(value, other)
    assert first_difference(value, other).count("/") == MAX_DEPTH
    for reader in (parse, parse_leniently):
        with pytest.raises(NestingLimitError):
            reader(opening + deepest + closing)


def test_brackets_in_strings_are_no_depth() -> None:
    """Only structure counts: brackets inside strings do not, escaped quotes notwithstanding."""
    text = '["' + "[{" * MAX_DEPTH + '\\"' + "[{" * MAX_DEPTH + '"]'
    assert parse(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    "raw",
    [
        b"[]" * 600 + b'"' + b'\\"' * 500_000,
        b'"' + b"\\" * 1_000_000,
        b"[" * 1_000_000,
        b"[" + b"9" * 1_000_000 + b"]",
        b"[1e" + b"9" * 1_000_000 + b"]",
        b'{"a":' * 500 + b'"\\u12',
    ],
    ids=["open string", "backslashes", "brackets", "digits", "exponent", "torn escape"],
)
def test_hostile_text_costs_little(raw: bytes) -> None:
    """A megabyte made to be slow is judged in a moment."""
    started = time.process_time()
    try:
        parse(raw)
    except JsonError:
        pass
    assert time.process_time() - started < 1.0


def test_huge_numbers_keep_their_value() -> None:
    """Numbers beyond a float are exact integers, not infinity; of more than 4,000 digits they are beyond the limits."""
    assert parse(b"123456789012345678901234567890123456789012345") == 123456789012345678901234567890123456789012345
    assert parse(b"1e400") == parse(b"1" + b"0" * 400) == 10**400
    assert parse(b"-1.25e400") == -125 * 10**398
    assert not is_equal(parse(b"1e400"), parse(b"1e401"))
    for reader in (parse, parse_leniently):
        for number in (b"9" * 4001, b"1e4000", b"-1e4000", b"1e99999999999999999999", b"1" * 5000 + b".5"):
            with pytest.raises(NumberLimitError):
                reader(b'{"a":' + number + b"}")
    assert not is_equal(parse(b"9007199254740993"), parse(b"9007199254740992"))


@given(values)
@few
def test_same_is_reflexive_and_survives_writing(value: Any) -> None:
    """A value equals itself, and itself after it was written and read."""
    assert is_equal(value, value)
    assert is_equal(value, parse(json.dumps(value).encode()))
    assert first_difference(value, value) == ""


@given(values, values)
@few
def test_same_is_symmetric(left: Any, right: Any) -> None:
    """Which side a value stands on does not matter."""
    assert is_equal(left, right) == is_equal(right, left)


@given(st.dictionaries(names, values, max_size=4))
@few
def test_order_of_members_means_nothing(value: dict[str, Any]) -> None:
    """Objects with the same members are the same in any order."""
    assert is_equal(value, dict(reversed(value.items())))


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (10**20, 1e20, True),
        (0, -0.0, True),
        (True, 1, False),
        (False, 0, False),
        ([True], [1], False),
        (None, False, False),
        (None, 0, False),
        ("1", 1, False),
        ("é", "e\u0301", False),
        ([1, 2], [2, 1], False),
        ([], {}, False),
        ({"a": None}, {}, False),
        ({"a": [1.0]}, {"a": [1]}, True),
    ],
)
def test_equality_of_json_values(left: Any, right: Any, equal: bool) -> None:
    """Numbers by value, booleans by themselves, texts by code points, arrays in order."""
    assert is_equal(left, right) is equal
    assert is_equal({"x": left}, {"x": right}) is equal


@pytest.mark.parametrize(
    ("left", "right", "where"),
    [
        ({"a": 1, "b": 2}, {"b": 3, "a": 1}, "/b"),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "/a/b/1"),
        ({"a": 1}, {}, "/a"),
        ({"a/b": 1}, {"a/b": 2}, "/a~1b"),
        ({"~": 1}, {"~": 2}, "/~0"),
        ([1, 2], [1], ""),
        ([1, 2], {"0": 1}, ""),
        ({"a": [1]}, {"a": [1, 2]}, "/a"),
        (1, 1.0, ""),
    ],
)
def test_the_first_difference_is_a_pointer(left: Any, right: Any, where: str) -> None:
    """The place where two values part, as a JSON pointer; nothing where they are the same or wholly other."""
    assert first_difference(left, right) == where


@given(values, values)
@few
def test_a_difference_is_named_within_both(left: Any, right: Any) -> None:
    """What first_difference names differs: a place of its own only where the values do."""
    if is_equal(left, right):
        assert first_difference(left, right) == ""


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (0, "a number"),
        (0.5, "a number"),
        ("", "a string"),
        ([], "an array"),
        ({}, "an object"),
    ],
)
def test_kinds_are_named_in_words(value: Any, name: str) -> None:
    """The six JSON types, and a boolean is not a number."""
    assert json_type(value) == name


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        (1, "1", [("", 1, "1")]),
        ({"a": {"b": [1, 2]}, "c": 0}, {"a": {"b": [1, 3]}, "c": 0}, [("/a/b/1", 2, 3)]),
        ({"a/b": 1}, {"c": 2}, [("/a~1b", 1, ABSENT), ("/c", ABSENT, 2)]),
        ([1], [1, {"x": 1}], [("/1", ABSENT, {"x": 1})]),
        ({"a": None}, {}, [("/a", None, ABSENT)]),
    ],
)
def test_differences_are_the_places_with_both_values(left: Any, right: Any, found: list[Any]) -> None:
    """Each place that differs, deepest first, with what each value has there; equal numbers do not differ."""
    assert differences(left, right, 10) == found


def test_differences_are_bounded() -> None:
    """No more places than the limit are compared."""
    assert len(differences(list(range(50)), list(range(1, 51)), 5)) == 5
