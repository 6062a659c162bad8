"""An error for lack of file handles says what to do, and any other is left as it is."""

from __future__ import annotations

import errno
import os
import resource

import pytest

from conformance.core.file_handles import with_remedy


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_the_remedy_names_the_limit(number: int) -> None:
    """It is added once, however often the message is passed on."""
    text = with_remedy(str(OSError(number, os.strerror(number), "reports")))
    assert "'reports'" in text
    assert f"which is {resource.getrlimit(resource.RLIMIT_NOFILE)[0]:,}" in text
    assert "--concurrency" in text
    assert with_remedy(text) == text


def test_another_error_has_no_such_remedy() -> None:
    text = str(OSError(errno.ENOSPC, "No space left on device", "reports"))
    assert with_remedy(text) == text
