"""URL and method -> operation."""

from __future__ import annotations

import pytest

from conformance.client.traffic.operation_index import OperationIndex
from conformance.contract import load_contract

INDEX = OperationIndex(load_contract(), "https://shop.example/commerce")


def called(method: str, url: str) -> str | None:
    """The operationId; `foreign` for another host."""
    path = INDEX.path_of(url)
    if path is None:
        return "foreign"
    call = INDEX.find(method, path)
    return call.operation.id if call else None


@pytest.mark.parametrize("operation", load_contract().all, ids=lambda operation: operation.id)
def test_every_operation_is_found(operation: object) -> None:
    """By its method and template, with any id."""
    from conformance.contract import Operation

    assert isinstance(operation, Operation)
    path = operation.path.replace("{", "x").replace("}", "-1")
    assert called(operation.method, f"https://shop.example/commerce{path}?a=1") == operation.id


@pytest.mark.parametrize(
    ("method", "url", "expected"),
    [
        ("GET", "https://SHOP.example:443/commerce/api/v1/search?q=1", "searchPublicProducts"),
        ("GET", "http://shop.example/commerce/api/v1/search", "foreign"),
        ("GET", "https://shop.example/api/v1/search", "foreign"),
        ("GET", "https://shop.example/commerce2/api/v1/search", "foreign"),
        ("GET", "https://shop.example:8443/commerce/api/v1/search", "foreign"),
        ("GET", "https://shop.example:99999/commerce/api/v1/search", "foreign"),
        ("GET", "not a url", "foreign"),
        ("OPTIONS", "https://shop.example/commerce/api/v1/search", None),
        ("GET", "https://shop.example/commerce/api/v1/search/", None),
        ("GET", "https://shop.example/commerce/api/v2/search", None),
    ],
)
def test_other_hosts_and_other_paths_are_told_apart(method: str, url: str, expected: str | None) -> None:
    """Another host is foreign; another path of the target is not an operation."""
    assert called(method, url) == expected


@pytest.mark.parametrize("segment", ["a%2Fb", "..", "%2e%2e", "a%00", "a b"])
def test_a_path_that_servers_read_differently_is_unusual(segment: str) -> None:
    """Nothing is judged there: it may have gone elsewhere."""
    call = INDEX.find("GET", f"/api/v1/catalog/merchants/{segment}/products")
    assert call is not None and call.unusual == {"slug": segment}
