"""The paths of this package, of its pytest configuration and of its cache."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

PACKAGE: Final = Path(__file__).parents[1]
"""The folder of the package itself."""
CONFIGURATION: Final = PACKAGE / "runner" / "isolated.ini"
"""Replaces any pytest configuration of the current folder."""


def cache_directory() -> Path:
    """The user's cache folder of this suite, which only saves time; it need not exist."""
    return user_cache_path("commerce-conformance", appauthor=False)
