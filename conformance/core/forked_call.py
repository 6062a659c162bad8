"""A call in a forked copy of this process: a second processor does it while this one goes on."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


def can_fork() -> bool:
    """Whether a fork is safe, which it is not beside other threads, and a second processor is there for it."""
    if sys.platform in ("win32", "darwin"):  # macOS: its frameworks crash in forked processes
        return False
    return len(os.sched_getaffinity(0)) > 1 and threading.active_count() == 1


class ForkedCall(Generic[T]):
    """Starts `call` in a forked process. Its result must be picklable.

    Raises OSError where no process can be started.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._pipe, writer = os.pipe()
        try:
            self.pid = os.fork()
        except OSError:
            os.close(self._pipe)
            os.close(writer)
            raise
        if self.pid == 0:
            _call_and_exit(call, writer)
        os.close(writer)

    def result(self) -> T:
        """Waits for the call and returns its result. Raises ChildProcessError where the process ended without one."""
        try:
            with os.fdopen(self._pipe, "rb") as pipe:
                content = pipe.read()
        finally:
            _, status = os.waitpid(self.pid, 0)
        try:
            value: T = pickle.loads(content)  # noqa: S301 - written by a copy of this process
        except Exception as error:  # incomplete, or a value that cannot be pickled
            code = os.waitstatus_to_exitcode(status)
            raise ChildProcessError(f"a forked process ended with {code} and without a result") from error
        return value


def _call_and_exit(call: Callable[[], object], writer: int) -> NoReturn:
    """Ends without exit handlers and without flushing buffers, which are the other process's."""
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # the other process decides
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(call(), pipe)
        status = 0
    finally:
        os._exit(status)
