"""Too few file handles: a fault of the environment, whose message says what to do."""

from __future__ import annotations

import errno
import os
from typing import Final

try:
    import resource  # at once: without a file handle nothing can be imported
except ImportError:  # Windows
    _LIMIT_TEXT = ""
else:
    _LIMIT_TEXT = f", which is {resource.getrlimit(resource.RLIMIT_NOFILE)[0]:,}, with `ulimit -n 1024`"

_SYMPTOMS: Final = (os.strerror(errno.EMFILE), os.strerror(errno.ENFILE))


def with_remedy(message: str) -> str:
    """The message of an error; where file handles are lacking, with the remedy and the limit of this process.

    The text is searched, since an error may have passed another process or library, which keep only its text.
    """
    if not any(symptom in message for symptom in _SYMPTOMS) or "limit of open files" in message:
        return message
    return f"{message} (raise the limit of open files{_LIMIT_TEXT}, or lower --concurrency and -n)"
