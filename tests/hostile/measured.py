"""A command, run to its end, with what it took: seconds, and bytes of memory of its whole process tree."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.commands import Desk

_EVERY_S = 0.02
_LOST_S = 60.0
_WORK = 1_000_000
_WORK_S = 0.05
"""Seconds that so many additions take at most on a machine for which the limits of these tests are meant."""


@dataclass(frozen=True)
class Measured:
    code: int
    out: bytes = field(repr=False)
    err: bytes = field(repr=False)
    wall_s: float
    kept_waiting_s: float
    """After its deadline, for so long its main thread was ready to run, and other processes had the processors."""
    slowness: float
    """How many times longer the machine took for a fixed piece of work, before the command or after it; at least 1."""
    peak_bytes: int
    """Of all processes of the tree at once, each with all that it ever held: no peak falls between two looks."""

    @property
    def text(self) -> str:
        return (self.out + self.err).decode("utf-8", "replace")

    @property
    def end(self) -> str:
        return self.text[-1500:]


def measured(desk: Desk, command: Sequence[str], deadline_s: float) -> Measured:
    """Runs it in the desk's folder; what is not done long after its deadline is killed, and has the code of that."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        slowness = _slowness()
        started = time.monotonic()
        process = desk.started(command, stdout=out, stderr=err)
        tree = _Tree(process.pid, started + deadline_s)
        try:
            process.wait(deadline_s + _LOST_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        finally:
            wall_s = time.monotonic() - started
            peak, waiting_s = tree.end()
        for stream in (out, err):
            stream.seek(0)
        slowness = max(slowness, _slowness())
        return Measured(process.returncode, out.read(), err.read(), wall_s, waiting_s, slowness, peak)


def _slowness() -> float:
    started = time.perf_counter()
    total = 0
    for number in range(_WORK):
        total += number
    return max(1.0, (time.perf_counter() - started) / _WORK_S)


class _Tree:
    """Looks at a process and its descendants until told to end."""

    def __init__(self, root: int, deadline: float) -> None:
        self._deadline = deadline
        self._waited_before_s = 0.0
        self._root = root
        self._peak = 0
        self._waiting_s = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> tuple[int, float]:
        """The peak in bytes, and for how many seconds the first process was kept waiting."""
        self._ended.set()
        self._thread.join()
        return self._peak, max(0.0, self._waiting_s - self._waited_before_s)

    def _watch(self) -> None:
        while not self._ended.wait(_EVERY_S):
            self._waiting_s = max(self._waiting_s, _waiting(self._root))
            if time.monotonic() < self._deadline:
                self._waited_before_s = self._waiting_s
            self._peak = max(self._peak, sum(map(_most_held, _descendants(self._root))))


def _descendants(root: int) -> list[int]:
    found, left = [], [root]
    while left:
        pid = left.pop()
        found.append(pid)
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                left += map(int, children.read_text().split())
            except OSError:
                continue
    return found


def _waiting(pid: int) -> float:
    """Seconds that a process's main thread has spent in the scheduler's queue; 0 where it has ended."""
    try:
        _, delayed_ns, _ = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()
    except (OSError, ValueError):
        return 0.0
    return int(delayed_ns) / 1e9


def _most_held(pid: int) -> int:
    """The most resident memory that a process ever had; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)
