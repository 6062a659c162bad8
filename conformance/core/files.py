"""Regular files, for commands that read what somebody names: a pipe or a device would be read without end."""

from __future__ import annotations

import errno
import stat
from io import BufferedReader
from pathlib import Path


def open_regular(path: Path) -> BufferedReader:
    """A file, opened to be read. Raises OSError where there is none, and for what is no regular file."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "is a directory", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return path.open("rb")
