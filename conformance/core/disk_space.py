"""What to do where a file cannot be written for lack of space."""

from __future__ import annotations

import errno


def space_hint(error: OSError) -> str:
    """What to do about an error of writing; empty where neither a disk nor a limit is full."""
    match error.errno:
        case errno.EFBIG:
            return "raise the limit on the size of files, `ulimit -f`, and run again"
        case errno.ENOSPC | errno.EDQUOT:
            return "free some space and run again"
    return ""
