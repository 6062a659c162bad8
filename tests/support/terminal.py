"""A command in a pseudo-terminal of its own: keys are typed when a prompt is there, as a person does it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from subprocess import Popen

from tests.support.commands import Desk

TIMEOUT_S = 30
"""For one prompt."""
CTRL_C = "\x03"
CTRL_D = "\x04"


@dataclass
class Terminal:
    """The screen holds everything that was printed and typed."""

    process: Popen[str]
    descriptor: int
    screen: str = ""
    _seen: int = field(default=0)

    def wait_for(self, text: str) -> None:
        """Reads until the text stands on the screen, behind what was waited for before."""
        until = time.monotonic() + TIMEOUT_S
        while text not in self.screen[self._seen :]:
            assert self._read(until), f"{text!r} is not on the screen:\n{self.screen}"
        self._seen = self.screen.index(text, self._seen) + len(text)

    def answer(self, prompt: str, *lines: str) -> None:
        """Types each line at its own appearance of the prompt."""
        for line in lines:
            self.wait_for(prompt)
            self.press(f"{line}\n")

    def press(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode(errors="surrogateescape"))

    def stop(self, keys: str = CTRL_C) -> int:
        """Types the keys until the command ends; its exit code. A signal just before a blocking read has no effect."""
        until = time.monotonic() + TIMEOUT_S
        while self.process.poll() is None and time.monotonic() < until:
            quiet = time.monotonic() + 2
            while self._read(quiet - 1.5):
                pass
            if self.process.poll() is None:
                self.press(keys)
            while time.monotonic() < quiet and self._read(quiet):
                pass
        return self.finish()

    def hang_up(self) -> int:
        """Closes the terminal's window; the exit code of the command."""
        os.close(self.descriptor)
        self.descriptor = -1
        return self.process.wait(timeout=TIMEOUT_S)

    def finish(self) -> int:
        """Reads to the end; the exit code."""
        until = time.monotonic() + TIMEOUT_S
        while self._read(until):
            pass
        return self.process.wait(timeout=TIMEOUT_S)

    def _read(self, until: float) -> bool:
        """Whether there was more to read, or may be later."""
        ready, _, _ = select.select([self.descriptor], [], [], 0.1)
        if not ready:
            return time.monotonic() < until and self.process.poll() is None
        try:
            content = os.read(self.descriptor, 65536)
        except OSError:  # the other end is closed
            return False
        self.screen += content.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(content)


@contextmanager
def terminal(desk: Desk, *command: object, env: Mapping[str, str] | None = None) -> Iterator[Terminal]:
    """`conformance COMMAND` in a terminal that controls it, so that Ctrl-C is a signal."""
    ours, theirs = pty.openpty()
    process = desk.started(
        ["-m", "conformance", *map(str, command)],
        env={"TERM": "dumb", "NO_COLOR": "1", **(env or {})},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    opened = Terminal(process, ours)
    try:
        yield opened
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if opened.descriptor >= 0:
            os.close(ours)
