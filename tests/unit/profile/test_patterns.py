"""Regular expressions of a profile: valid ones, whose texts are not too long to be generated."""

from __future__ import annotations

import pytest

from conformance.profile.patterns import pattern_trouble


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "[a-f0-9]{8}(-[a-f0-9]{4}){3}-[a-f0-9]{12}",
        "key_[A-Za-z0-9]{16,255}",
        "(a{64}){64}",
        "a{4096}b{4096}",
        r"(\{9999}\}){2}",
        "([{9999}]x){2}",
        "([]{9999}]x){2}",
        "(?#(a{9999})x{2}",
        "a{,9999}",
        "(?:a{2}?|b)*",
        "(?P<part>a{3})(?P=part){9}",
    ],
)
def test_texts_of_some_length_can_be_generated(pattern: str) -> None:
    assert pattern_trouble(pattern) == ""


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("a{4097}", "4,097"),
        ("(a{9999}){9999}", "99,980,001"),
        ("(?:(x{2}y){50}|z{40}){50}", "5,000"),
        ("((a{20}b){20,}c){20}", "8,000"),
        (r"[\]{5}]{5000}", "5,000"),
        ("(?:){5000}", "5,000"),
    ],
)
def test_repetitions_without_bound_are_refused(pattern: str, count: str) -> None:
    assert f"demands {count} repetitions, and at most 4,096 are supported" in pattern_trouble(pattern)


@pytest.mark.parametrize("pattern", ["(", "a{2}{3}", "a{99999999999}", f"a{{{'9' * 5000}}}", "(" * 5000 + ")" * 5000])
def test_no_regular_expression_is_refused(pattern: str) -> None:
    assert "is not a regular expression: " in pattern_trouble(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+", "([a-z]+[0-9]*)*x", r"(\w+\s?)*", "(x|y|xy)*z"])
def test_a_pattern_that_tries_all_ways_is_refused(pattern: str) -> None:
    """Nothing could end a comparison with it: neither a deadline nor a signal is looked at meanwhile."""
    assert "takes more than 100 ms to refuse a text of " in pattern_trouble(pattern)


@pytest.mark.parametrize(
    "pattern", ["[a-z0-9]{16,64}", "(?:[a-z]+-)*[a-z]+", "(?=.*[a-z])[a-z0-9]{8,40}", "(ab)+(ab)*"]
)
def test_a_pattern_of_many_repetitions_is_accepted(pattern: str) -> None:
    assert pattern_trouble(pattern) == ""
