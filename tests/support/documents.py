"""The source documents, which stand beside the repository and not in it."""

from __future__ import annotations

import os
from functools import cache

import pytest

from tests.support.paths import SHARED


@cache
def shared(name: str) -> str:
    """The text of a source document. Skips where it is not there, but in CI, where it must be."""
    path = SHARED / name
    if not path.exists() and os.environ.get("CI") != "true":
        pytest.skip(f"{path.name} is not there: the source documents stand in ../shared beside the repository")
    return path.read_text(encoding="utf-8")
