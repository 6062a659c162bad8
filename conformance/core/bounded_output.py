"""The output of a program, bounded in time and size: one that never ends, or prints without end, is a mistake."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Final

_CHUNK: Final = 64 * 1024
_POLL_S: Final = 0.02
_GRACE_S: Final = 0.2
"""How long the rest of the output is waited for when a program has ended: what it has started may keep it open."""


class TooMuchOutput(Exception):
    """The program printed more than was allowed."""


def run(command: Sequence[str], timeout_s: float, max_bytes: int) -> tuple[int, bytes]:
    """The exit code of a program, and what it printed until it ended; its error output is discarded.

    What it has started may go on, and is not waited for: not when the program ends, and not when it is killed.
    Raises OSError and ValueError where it cannot be started, subprocess.TimeoutExpired, and TooMuchOutput.
    """
    until = time.monotonic() + timeout_s
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
    )
    try:
        reader = _Reader(process, max_bytes)
        ended_at = None
        while not reader.ended.wait(_POLL_S):
            now = time.monotonic()
            if now > until:
                raise subprocess.TimeoutExpired(command, timeout_s)
            ended_at = ended_at or (now if process.poll() is not None else None)
            if ended_at is not None and now > ended_at + _GRACE_S:
                break
        content = bytes(reader.content)
        if len(content) > max_bytes:
            raise TooMuchOutput
        return process.wait(max(0.0, until - time.monotonic())), content
    finally:
        process.kill()
        process.wait()


class _Reader:
    """Reads the output of a process in a thread, which ends with the output."""

    def __init__(self, process: subprocess.Popen[bytes], max_bytes: int) -> None:
        self.content = bytearray()
        self.ended = threading.Event()
        self._process, self._max_bytes = process, max_bytes
        threading.Thread(target=self._read, name="output", daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            while len(self.content) <= self._max_bytes and (chunk := output.read(_CHUNK)):
                self.content += chunk
        self.ended.set()
