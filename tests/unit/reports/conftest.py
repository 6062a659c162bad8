"""The runs that the tests of the reports share; building the big one takes a second, so it is built once."""

from __future__ import annotations

import pytest

from conformance.core.model import Run
from tests.support import runs as build


@pytest.fixture(scope="session")
def small() -> Run:
    return build.small()


@pytest.fixture(scope="session")
def big() -> Run:
    return build.big()


@pytest.fixture(scope="session")
def hostile() -> Run:
    return build.hostile()
