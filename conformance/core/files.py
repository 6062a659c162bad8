"""Opens regular files only: reading a pipe or a device that a user names might never end."""

from __future__ import annotations

import errno
import stat
from io import BufferedReader
from pathlib import Path


def open_regular(path: Path) -> BufferedReader:
    """Opens a file for reading. Raises OSError where it does not exist or is not a regular file."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "is a directory", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return path.open("rb")
