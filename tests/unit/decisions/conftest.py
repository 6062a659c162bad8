"""The hand-made runs of the reports' tests."""

from __future__ import annotations

import pytest

from conformance.core.model import Run
from tests.support import runs as build


@pytest.fixture(scope="session")
def small() -> Run:
    return build.small()
