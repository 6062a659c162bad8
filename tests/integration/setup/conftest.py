"""One reference process for all drafts, and a folder with the commands at hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.runner import embedded_reference as embedded
from tests.support.commands import Desk, shared_reference


@pytest.fixture(scope="session")
def served() -> Iterator[embedded.Embedded]:
    service = shared_reference()
    with embedded.environment(service.environment):
        yield service


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, shared_reference())
