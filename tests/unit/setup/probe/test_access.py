"""The scopes in an identity answer."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.setup.probe.access import find_scopes


@pytest.mark.parametrize(
    ("data", "scopes"),
    [
        ({"scopes": ["catalog:read"]}, {"catalog:read"}),
        ({"scope": "catalog:read webhooks:read"}, {"catalog:read", "webhooks:read"}),
        ({"may": {"catalog:read": True, "webhooks:read": False}}, {"catalog:read"}),
        ({"missing": ["catalog:read"]}, set()),
    ],
)
def test_scopes_are_texts_or_the_names_of_true_members(data: dict[str, Any], scopes: set[str]) -> None:
    assert find_scopes({"data": data}) == scopes
