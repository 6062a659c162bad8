"""The file of a profile, which a run reads several times: at its start, in each process, and when it is repeated."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any, Final

from conformance.core.errors import ProfileError
from conformance.profile.source import read_toml

_HINT: Final = "a run reads it several times, and the files that it names are beside it: write it to a file"


def read_profile(path: Path) -> tuple[str, dict[str, Any]]:
    """The text and the document. Raises ProfileError where that is a pipe, cannot be read or is not TOML."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # `read_toml` says why
        return read_toml(path)
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode):
        kind = "a device" if stat.S_ISCHR(mode) else "a pipe"
        raise ProfileError(f"is {kind}, not a file", where=str(path), hint=_HINT)
    return read_toml(path)
