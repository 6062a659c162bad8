"""A call in a forked process gives its result, or says that there is none; it is offered only where it is safe."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from conformance.core.forked_call import ForkedCall, can_fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes can be forked here")


def test_a_result_is_that_of_another_process() -> None:
    """Also a large one, which does not fit into a pipe at once."""
    pid, text = ForkedCall(lambda: (os.getpid(), "x" * 1_000_000)).result()
    assert pid != os.getpid() and len(text) == 1_000_000


@pytest.mark.parametrize(
    "call",
    [
        lambda: os._exit(0),
        lambda: os._exit(3),
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        lambda: 1 / 0,
        threading.Lock,
    ],
    ids=["exits", "fails", "is killed", "raises", "has no picklable result"],
)
def test_a_process_without_a_result_is_said(call: Callable[[], object]) -> None:
    """As a ChildProcessError; nothing waits, and no process remains."""
    forked = ForkedCall(call)
    with pytest.raises(ChildProcessError, match="without a result"):
        forked.result()
    with pytest.raises(ChildProcessError):
        os.waitpid(forked.pid, os.WNOHANG)


def test_ctrl_c_leaves_the_decision_to_the_first_process() -> None:
    """The forked process finishes its work: its files are complete, or the first process removes them."""

    def call() -> str:
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), number)
        return "finished"

    assert ForkedCall(call).result() == "finished"


PROGRAM = """
import os, threading
from conformance.core.forked_call import can_fork
print(can_fork())
thread = threading.Thread(target=threading.Event().wait, daemon=True)
thread.start()
print(can_fork())
"""


def test_a_fork_is_not_offered_beside_other_threads() -> None:
    """A lock that another thread holds would never be released in the forked process."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    expected = sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1
    assert done.stdout.split() == [str(expected), "False"]


def test_a_fork_is_not_offered_on_one_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would only take turns with the first process."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert not can_fork()
