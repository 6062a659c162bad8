"""The output of a program, bounded in time and size: one that never ends, or prints without end, is a mistake."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence


class TooMuchOutput(Exception):
    """The program printed more than was allowed."""


def run(command: Sequence[str], timeout_s: float, max_bytes: int) -> tuple[int, bytes]:
    """The exit code of a program, and what it printed; its error output is discarded.

    Raises OSError and ValueError where it cannot be started, subprocess.TimeoutExpired, and TooMuchOutput.
    """
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    has_timed_out = threading.Event()

    def end() -> None:
        has_timed_out.set()
        process.kill()

    timer = threading.Timer(timeout_s, end)
    timer.start()
    try:
        assert process.stdout is not None
        with process.stdout as output:
            content = output.read(max_bytes + 1)
            if len(content) > max_bytes:
                raise TooMuchOutput
        code = process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.wait()
    if has_timed_out.is_set():
        raise subprocess.TimeoutExpired(command, timeout_s)
    return code, content
