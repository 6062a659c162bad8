"""The parameters of a query."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from conformance.core.query import parameters, without_fragment


@pytest.mark.parametrize(
    "query", ["", "a", "a=", "=b", "a=b=c", "a=1&a=2", "&&a=1&", "a=b%20c&d=%ff", "a=b+c", "ä=ö;x"]
)
def test_a_query_is_read_as_the_standard_library_reads_it(query: str) -> None:
    """With and without escapes, blank names and values included."""
    assert parameters(query) == parse_qsl(query, keep_blank_values=True)


def test_a_mark_begins_no_fragment() -> None:
    """The `#` of a redaction's mark is part of the recorded URL; another one ends it."""
    url = "https://h.example/a?k=«redacted:token#82899fa762d923dd»&b=1"
    assert without_fragment(url) == without_fragment(f"{url}#part") == url
    assert without_fragment("https://h.example/a#b?c") == "https://h.example/a"
