"""Where the files of the checkout stand, whatever folder a test is in."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PROFILES: Final = ROOT / "profiles"
SHARED: Final = ROOT.parent / "shared"
"""The source documents stand beside the repository, not in it."""
