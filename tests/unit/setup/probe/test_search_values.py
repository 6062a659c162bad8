"""Lists of values that a target shows."""

from __future__ import annotations

from conformance.setup.probe.search_values import find_list


def test_a_list_counts_only_if_it_is_the_only_one_with_that_text() -> None:
    config = {"data": {"locales": ["en", "de"], "markets": ["US"], "mixed": ["fr", 1]}}
    assert find_list(config, "en") == ("/data/locales", ["en", "de"])
    assert find_list(config, "fr") is None
    assert find_list({"a": ["en"], "b": ["en"]}, "en") is None
    assert find_list(None, "en") is None
