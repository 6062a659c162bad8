"""A call that may wait for ever is waited for up to a time."""

from __future__ import annotations

import threading
import time

import pytest

from conformance.core.limited_call import start_call


def test_the_result_is_returned() -> None:
    """To each caller that waits for it, also one that has no time left."""
    wait = start_call(lambda: 7, "seven")
    assert wait(30) == 7
    assert wait(0) == wait(-1) == 7


def test_what_is_raised_is_raised_where_it_is_waited_for() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start_call(interrupt, "interrupt")(30)


def test_a_call_that_takes_longer_is_left() -> None:
    """The end of the process does not wait for its thread either."""
    release = threading.Event()
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        start_call(release.wait, "a call that waits")(0.05)
    assert time.monotonic() - started < 25
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "a call that waits")
    assert thread.daemon
    release.set()
