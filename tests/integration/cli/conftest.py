"""Every test gets a folder of its own, with the commands and a target at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Desk, shared_reference


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, shared_reference())
