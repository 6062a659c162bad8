"""What is said of an observed run."""

from __future__ import annotations

import pytest

from conformance.core.observed_traffic import ObservedTraffic
from conformance.reports.shaping.traffic import left_out


@pytest.mark.parametrize(
    ("unknown", "text"),
    [
        ({"GET /a": 1}, "1 request to the target that is not an operation of the interface: GET /a (1)"),
        ({"GET /a": 2}, "2 requests to the target that are not operations of the interface: GET /a (2)"),
        ({"GET /a": 1, "GET /b": 1}, "2 requests to the target that are not operations of the interface: GET /a (1), "),
    ],
)
def test_requests_beside_the_interface_are_counted_in_words(unknown: dict[str, int], text: str) -> None:
    observed = ObservedTraffic((), "redacted", 0, unknown, {}, (), (), ())
    (line,) = left_out(observed)
    assert line.startswith(text)
