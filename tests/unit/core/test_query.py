"""The parameters of a query."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from conformance.core.query import parameters


@pytest.mark.parametrize(
    "query", ["", "a", "a=", "=b", "a=b=c", "a=1&a=2", "&&a=1&", "a=b%20c&d=%ff", "a=b+c", "ä=ö;x"]
)
def test_a_query_is_read_as_the_standard_library_reads_it(query: str) -> None:
    """With and without escapes, blank names and values included."""
    assert parameters(query) == parse_qsl(query, keep_blank_values=True)
