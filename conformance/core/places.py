"""Where the suite keeps, in a user's home, what only saves time."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """By the XDG base directory specification; need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "commerce-conformance"
