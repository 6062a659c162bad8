"""Where this package lies, for what ships with it and for the processes that run it too, and where it keeps a cache."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

PACKAGE: Final = Path(__file__).parents[1]
"""The folder of the package itself."""
CONFIGURATION: Final = PACKAGE / "runner" / "isolated.ini"
"""What pytest is given instead of the configuration that happens to lie in the current folder."""


def cache_directory() -> Path:
    """The user's cache of this suite, which only saves time; need not exist."""
    return user_cache_path("commerce-conformance", appauthor=False)
