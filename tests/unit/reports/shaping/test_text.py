"""Text from a target acts nowhere."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.core.messages import plural
from conformance.reports.shaping.text import clean, cut, map_strings, milliseconds, one_line, utf8, visible
from tests.support.runs import PAYLOADS

ANY = st.text(alphabet=st.characters(codec=None)) | st.sampled_from(PAYLOADS)


def obeyed(text: str) -> list[str]:
    """Characters that a terminal or a renderer acts upon."""
    return [
        c
        for c in text
        if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\t\n" and ord(c) != 0x0600
    ]


BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@given(ANY)
def test_clean_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    """No control character but tab and newline, no bidi control, no surrogate survives."""
    left = clean(text)
    assert not [c for c in left if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n"]
    assert not set(left) & set(BIDI)
    assert clean(left) == left


@given(ANY)
def test_visible_text_holds_neither_and_is_stable(text: str) -> None:
    """Naming the invisible twice names nothing twice, and UTF-8 carries the result."""
    left = visible(text)
    assert not [c for c in left if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n"]
    assert not set(left) & set(BIDI)
    assert visible(left) == left
    left.encode()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_payloads_leave_nothing_to_obey(payload: str) -> None:
    """Each payload of the hostile run is disarmed by both."""
    assert obeyed(clean(payload)) == []
    assert obeyed(visible(payload)) == []


def test_an_escape_sequence_goes_as_a_whole() -> None:
    """`ESC [31m` leaves no `[31m` behind, and a title goes with its text."""
    assert clean("a\x1b[31mred\x1b[0mb \x1b]0;title\x07c\x9b2Jd") == "aredb cd"


@given(ANY)
def test_utf8_can_always_be_encoded(text: str) -> None:
    """Lone surrogates are replaced, pairs are joined, all else is left as it is."""
    utf8(text).encode()
    if not re.search("[\ud800-\udfff]", text):
        assert utf8(text) == text


def test_a_surrogate_pair_is_one_character() -> None:
    """Two halves that some decoder left apart are what they were meant to be."""
    assert utf8("\ud83d\ude00\ud800") == "\U0001f600\ufffd"


def test_what_is_cut_says_how_much() -> None:
    """A reader knows that there is more."""
    assert cut("abcdef", 4) == "abcd… (2 more characters)"
    assert cut("abcd", 4) == "abcd"
    assert len(one_line("x " * 1_000_000)) < 300


def test_numbers_read_as_people_write_them() -> None:
    """Singular, plural, thousands, and units that fit."""
    assert [plural(n, "check") for n in (0, 1, 2_000)] == ["0 checks", "1 check", "2,000 checks"]
    assert [milliseconds(n) for n in (0.44, 12.3, 3_210)] == ["0.4 ms", "12 ms", "3.2 s"]


def test_mapping_reaches_every_string_of_a_value() -> None:
    """Member names, tuples and nested values alike; what is ordinary beside them stays as it is."""
    odd = {"a\x07": ("b\x07", ["c\u200b", 1, None]), "plain": {"tab\t": "line\n"}}
    assert map_strings(odd, clean) == {"a": ("b", ["c", 1, None]), "plain": {"tab\t": "line\n"}}


@given(st.recursive(st.none() | st.integers() | ANY, lambda inner: st.dictionaries(ANY, inner) | st.lists(inner)))
def test_mapping_changes_what_each_string_alone_would(value: Any) -> None:
    """However quickly ordinary values are passed over, each string comes out as the change alone makes it."""
    for change in (clean, visible, utf8):

        def one_by_one(part: Any, change: Any = change) -> Any:
            if isinstance(part, dict):
                return {change(name): one_by_one(item) for name, item in part.items()}
            if isinstance(part, list):
                return [one_by_one(item) for item in part]
            return change(part) if isinstance(part, str) else part

        assert map_strings(value, change) == one_by_one(value)
