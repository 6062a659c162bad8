"""Reads regular files only, up to a size: a pipe or a device that a user names might never end."""

from __future__ import annotations

import errno
import stat
from io import BufferedReader
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 16 * 1024 * 1024
"""Of a document that a person writes or a tool generates for one: an OpenAPI document, a certificate."""


def open_regular(path: Path) -> BufferedReader:
    """Opens a file for reading. Raises OSError where it does not exist or is not a regular file."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "is a directory", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return path.open("rb")


def read_regular(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The content of a file. Raises OSError where it is not a regular file, or has more bytes than that."""
    with open_regular(path) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"is longer than {max_bytes // 2**20} MiB", str(path))
    return content
