"""A sample of a pattern matches it, is new each time, and can be carried in a header."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.client.pattern import covering_samples, sample, widths
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


@pytest.mark.parametrize("pattern", [r"[^,]{30}", r"\S{30}", r".{30}"])
def test_samples_are_plain_where_they_may_be(pattern: str) -> None:
    """Of a class that only says what it lacks, letters and digits are taken."""
    assert sample(pattern, random.Random(1)).isalnum()


@pytest.mark.parametrize("pattern", [r"[ -~]{12}", r"[\u0000-\U0010ffff]{30}", r"[!-~]{8,40}"])
def test_ordinary_samples_have_no_separator_of_a_header(pattern: str) -> None:
    """A key must survive every header parser on its way."""
    texts = [sample(pattern, random.Random(seed)) for seed in range(50)]
    assert not set("".join(texts)) & set('",;\\ ')
    assert set("".join(texts)) & set("-_.:/+")


def test_samples_of_any_length_have_every_one_that_is_long_enough_to_be_unique() -> None:
    lengths = {len(sample("[a-z0-9_-]{8,64}", random.Random(seed), "any")) for seed in range(500)}
    assert min(lengths) in (19, 20)
    assert max(lengths) == 64
    assert {len(sample("[a-z]{4,9}", random.Random(seed), "any")) for seed in range(50)} == {9}


@pytest.mark.parametrize(
    ("pattern", "length"),
    [("[a-z0-9_-]{8,64}", 36), ("[a-z]{4,9}", 9), ("[0-9]{40,}", 40), ("[01]+", 96), ("k_[a-f0-9]{8,32}", 34)],
)
def test_ordinary_samples_have_one_length(pattern: str, length: int) -> None:
    """A target that refuses some lengths fails the checks of lengths, and not each call that meets one of them."""
    assert {len(sample(pattern, random.Random(seed))) for seed in range(50)} == {length}


@pytest.mark.parametrize(
    ("pattern", "shortest", "longest"),
    [("[a-z]{8,64}", 8, 64), ("k(a|bc|def){2,3}", 3, 10), ("[0-9]{18}", 18, 18), ("x+", 1, None)],
)
def test_the_shortest_and_the_longest_samples(pattern: str, shortest: int, longest: int | None) -> None:
    assert widths(pattern) == (shortest, longest)
    assert len(sample(pattern, random.Random(1), "shortest")) == shortest
    assert longest is None or len(sample(pattern, random.Random(1), "longest")) == longest


@pytest.mark.parametrize(
    "pattern", ["[A-Za-z0-9_-]{8,64}", "[A-Z]{3}-[0-9]{12}", "[!-~]{12}", "(a|b)[xyz]{2}", ".{30}"]
)
def test_a_few_samples_hold_every_character(pattern: str) -> None:
    """Of every class; each matches."""
    texts = covering_samples(pattern, random.Random(1), 100)
    assert all(re.fullmatch(pattern, text) for text in texts)
    expected = {c for c in map(chr, range(33, 127)) if re.search(r"\[[^]]*" if "[" in pattern else ".", pattern)}
    classes = re.findall(r"\[[^]]*\]", pattern) or ["[A-Za-z0-9]"]
    expected = {c for c in expected if any(re.fullmatch(part, c) for part in classes)}
    assert expected <= set("".join(texts))
    assert len(texts) <= 11
