"""A sample of a pattern matches it, is new each time, and can be carried in a header."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.client.pattern import sample
from conformance.client.request import random_match

PATTERNS = [
    r"[A-Za-z0-9_-]{16,64}",
    r"^[a-f0-9]{32}$",
    r"[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}",
    r"key_\d{4}\w+",
    r"\A(?:ord|cart)-[a-z]{3,}?\Z",
    r"(?P<a>[abc]+)-(?:x|y|)",
    r".{20}",
    r"[^,;]{10,255}",
    r"[^a]b[^b]",
    r"[!-~]{12}",
    r"[\x21-\x7e]+",
    r"[\u0000-\U0010ffff]{8}",
    r"[^\w]{3}",
    r"\D\S\W\d\s\w",
    r"[\d\-.]{5}",
    r"a{2}b?c*d+e{0,3}f{1,1000000}",
    r"(?>ab|cd)e++f*+",
    r"\"[A-Z]{26}\"",
    r"\x41\.\$\^",
    r"[é]",
    r"(?i:abc)(?s:.)",
    r"(a|b|(c|d)){4}\b",
    r"",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=15)
def test_a_sample_matches(pattern: str, seed: int) -> None:
    """Whatever the pattern is made of, but look-around and back references."""
    text = sample(pattern, random.Random(seed))
    assert re.fullmatch(pattern, text)
    assert len(text) < 200


@pytest.mark.parametrize("pattern", [*PATTERNS[:5], PATTERNS[7]])
def test_samples_are_new_each_time(pattern: str) -> None:
    """A key of a pattern with room in it is not met twice."""
    assert len({random_match(pattern) for _ in range(20)}) == 20


@pytest.mark.parametrize("pattern", [r"[ -~]{12}", r"[\u0000-\U0010ffff]{30}", r"[^,]{30}", r"\S{30}", r".{30}"])
def test_samples_are_plain_where_they_may_be(pattern: str) -> None:
    """Of a wide class letters and digits are taken: a key must survive every header parser on its way."""
    assert sample(pattern, random.Random(1)).isalnum()
