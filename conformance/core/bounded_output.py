"""The output of a program, bounded in time and size: one that never ends, or prints without end, is a mistake."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence
from typing import IO, Final

_CHUNK: Final = 64 * 1024
_GRACE_S: Final = 0.5
"""The wait for the rest of the output of a program that has ended: a process that it has started may keep it open."""


class TooMuchOutput(Exception):
    """The program printed more than was allowed."""


def run(command: Sequence[str], timeout_s: float, max_bytes: int) -> tuple[int, bytes]:
    """The exit code of a program, and what it printed until it ended; its error output is discarded.

    Processes that it has started, such as an agent that keeps keys, may go on, and are not waited for.
    Raises OSError and ValueError where it cannot be started, subprocess.TimeoutExpired, and TooMuchOutput.
    """
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
    )
    assert process.stdout is not None
    output = bytearray()
    reader = threading.Thread(target=_read, args=(process.stdout, output, max_bytes), name="output", daemon=True)
    reader.start()
    try:
        code = process.wait(timeout_s)
        reader.join(_GRACE_S)
    except subprocess.TimeoutExpired:
        if len(output) > max_bytes:  # and the program ignored that its output was closed
            raise TooMuchOutput from None
        raise
    finally:
        process.kill()
        process.wait()
    if len(output) > max_bytes:
        raise TooMuchOutput
    return code, bytes(output)


def _read(file: IO[bytes], output: bytearray, max_bytes: int) -> None:
    """Appends to `output` until the file ends, or more than `max_bytes` were read, and closes the file.

    It runs in a thread, since a file that another process keeps open may never end.
    """
    with file:
        while len(output) <= max_bytes and (chunk := file.read(_CHUNK)):
            output += chunk
