"""One reference server for all tests of it; every test looks at it through a prefix of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import httpx
import pytest

from conformance.reference.server import ReferenceServer
from tests.support.reference_api import Api, client

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[ReferenceServer]:
    with ReferenceServer() as running:
        yield running


@pytest.fixture(scope="session")
def http() -> Iterator[httpx.Client]:
    with client() as shared:
        yield shared


@pytest.fixture
def api_of(server: ReferenceServer, http: httpx.Client) -> Callable[[str], Api]:
    """`api_of("F024")`: that target with a state that no other test touches."""
    return lambda name: Api(server, f"{name}~{next(_numbers)}", http)


@pytest.fixture
def api(api_of: Callable[[str], Api]) -> Api:
    return api_of("reference")
