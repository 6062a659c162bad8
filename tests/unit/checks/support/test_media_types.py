"""Media types beside the stated ones."""

from __future__ import annotations

import pytest

from conformance.checks.support.media_types import other_media_types


@pytest.mark.parametrize(
    ("stated", "others"),
    [
        (("application/json",), ["text/plain", "application/vnd.conformance.v1+json", "application/json5"]),
        (
            ("application/json", "application/*+json"),
            ["text/plain", "text/vnd.conformance.v1+json", "application/json5"],
        ),
        (("application/json", "text/*"), ["application/json5"]),
        (("application/json", "text/plain"), ["application/vnd.conformance.v1+json", "application/json5"]),
        (("application/json", "application/json*"), ["text/plain", "text/vnd.conformance.v1+json"]),
    ],
)
def test_other_media_types_are_not_stated(stated: tuple[str, ...], others: list[str]) -> None:
    assert other_media_types(stated) == others
