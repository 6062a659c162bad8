"""Where the pages of a search may have a cursor."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.setup.probe.cursors import cursor_places


@pytest.mark.parametrize(
    ("beside", "places"),
    [
        ([{"meta": {"next": "b"}}, {"meta": {"next": "c"}}, {}], ["/meta/next"]),
        ([{"meta": {"next": 2}}, {"meta": {"next": 4}}, {"meta": {"next": None}}], ["/meta/next"]),
        ([{"meta": {"page": 1, "size": 2}}, {"meta": {"page": 2, "size": 2}}, {"meta": {"page": 3, "size": 2}}], []),
        ([{"meta": {"more": True}}, {"meta": {"more": True}}, {"meta": {"more": False}}], []),
        ([{"first": "x"}, {}, {}], ["/first"]),
    ],
)
def test_a_cursor_is_beside_data_and_differs_from_page_to_page(beside: list[dict[str, Any]], places: list[str]) -> None:
    """The number of the page, what each page repeats and what the items hold are not cursors."""
    values = [{"data": [{"id": f"p{number}"}], **part} for number, part in enumerate(beside)]
    assert cursor_places(values, 1) == places
