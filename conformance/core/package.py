"""Where this package lies, for what ships with it and for the processes that are to run it too."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1]
"""The folder of the package itself."""
CONFIGURATION: Final = PACKAGE / "runner" / "isolated.ini"
"""What pytest is given instead of the configuration that happens to lie in the current folder."""
