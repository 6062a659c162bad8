"""A signal ends a run at its next wait; while pytest runs items, nowhere else."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from conformance.core import interrupts


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def number(request: pytest.FixtureRequest) -> signal.Signals:
    return signal.Signals(request.param)


def test_outside_of_items_a_signal_is_taken_at_once(number: signal.Signals) -> None:
    with interrupts.raise_on_signals(), pytest.raises(KeyboardInterrupt, match=number.name):
        signal.raise_signal(number)


def test_between_items_a_signal_waits_for_the_next_item(number: signal.Signals) -> None:
    reached = []
    with interrupts.raise_on_signals(), pytest.raises(KeyboardInterrupt, match=number.name), interrupts.defer_signals():
        signal.raise_signal(number)
        reached.append("the end of the item before")
        with interrupts.accept_signals():
            reached.append("another item")
    assert reached == ["the end of the item before"]


def test_in_an_item_a_signal_is_taken_at_once(number: signal.Signals) -> None:
    with interrupts.raise_on_signals(), interrupts.defer_signals(), pytest.raises(KeyboardInterrupt, match=number.name):  # noqa: SIM117
        with interrupts.accept_signals():
            signal.raise_signal(number)
            pytest.fail("the item went on")


def test_a_signal_after_the_last_item_is_not_lost(number: signal.Signals) -> None:
    with interrupts.raise_on_signals(), pytest.raises(KeyboardInterrupt, match=number.name), interrupts.defer_signals():
        signal.raise_signal(number)


def test_a_second_signal_does_not_wait(number: signal.Signals) -> None:
    """Whoever asks twice means it."""
    with interrupts.raise_on_signals(), interrupts.defer_signals():
        with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
            signal.raise_signal(number)
            signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt), interrupts.accept_signals():
            pass


def test_an_error_that_two_signals_at_once_lead_to_is_an_interrupt() -> None:
    """A queue whose wait is interrupted twice raises RuntimeError: it releases a lock that it has not."""

    def send_both() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)

    with interrupts.raise_on_signals():
        threading.Timer(0.05, send_both).start()
        with pytest.raises((RuntimeError, KeyboardInterrupt)) as raised:
            queue.Queue[None]().get(timeout=1)
    assert isinstance(interrupts.find_interrupt(raised.value), KeyboardInterrupt)
    assert interrupts.find_interrupt(RuntimeError()) is None


def test_while_the_end_is_written_one_signal_ends_nothing(number: signal.Signals) -> None:
    """A second one does; and in the next run each does again."""
    with interrupts.raise_on_signals():
        interrupts.ignore_first_signal()
        signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    with interrupts.raise_on_signals(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_handlers_are_put_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with interrupts.raise_on_signals():
        assert signal.getsignal(number) != before
    assert signal.getsignal(number) == before


def test_a_terminal_that_hangs_up_twice_asks_once() -> None:
    """The kernel and a shell both send a SIGHUP; only another signal ends the writing of the report."""
    with interrupts.raise_on_signals():
        with pytest.raises(KeyboardInterrupt, match="SIGHUP"):
            signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
        interrupts.ignore_first_signal()
        signal.raise_signal(signal.SIGHUP)
    with interrupts.raise_on_signals(), pytest.raises(KeyboardInterrupt, match="SIGHUP"):
        signal.raise_signal(signal.SIGHUP)


@pytest.fixture
def hangups_ignored() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


def test_under_nohup_a_run_goes_on(hangups_ignored: None) -> None:
    with interrupts.raise_on_signals():
        signal.raise_signal(signal.SIGHUP)


def test_a_worker_leaves_a_hangup_to_its_controller() -> None:
    before = signal.getsignal(signal.SIGHUP)
    with interrupts.handle_worker_signals():
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == before


IN_A_DESTRUCTOR = """
import signal, sys, time
from conformance.core import interrupts

class Closed:
    def __del__(self):
        signal.raise_signal(signal.Signals[sys.argv[1]])

def pieces():
    try:
        yield 1
    finally:
        signal.raise_signal(signal.Signals[sys.argv[1]])

interrupts.interrupt_when_terminated()
try:
    with interrupts.raise_on_signals():
        if sys.argv[2] == "destructor":
            lost = Closed()
        else:
            lost = pieces()
            next(lost)
        del lost
        time.sleep(5)
except KeyboardInterrupt as error:
    print("ended by", error)
"""


@pytest.mark.parametrize("place", ["destructor", "generator"])
def test_what_python_ignores_is_sent_again(number: signal.Signals, place: str) -> None:
    """An exception in a destructor ends nothing; the interrupt is not lost with it, and nothing else is printed."""
    command = [sys.executable, "-c", IN_A_DESTRUCTOR, number.name, place]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"ended by {number.name}\n", "")


IN_THE_HOOK = """
import signal, sys, threading, time
from conformance.core import interrupts

class Timer(threading.Timer):
    starts = 0

    def start(self):
        super().start()
        Timer.starts += 1
        time.sleep(1.0 if Timer.starts == 1 else 0.0)  # the first signal arrives before the hook has ended

class Closed:
    def __del__(self):
        signal.raise_signal(signal.Signals[sys.argv[1]])

threading.Timer = Timer
interrupts.interrupt_when_terminated()
try:
    with interrupts.raise_on_signals():
        lost = Closed()
        del lost
        time.sleep(5)
except KeyboardInterrupt as error:
    print("ended by", error)
"""


def test_what_arrives_while_it_is_sent_again_is_not_lost(number: signal.Signals) -> None:
    """A busy machine may take longer to start the thread that sends the signal than that thread waits."""
    command = [sys.executable, "-c", IN_THE_HOOK, number.name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"ended by {number.name}\n", "")


TWO_IN_A_DESTRUCTOR = """
import os, signal, time
from conformance.core import interrupts

class Closed:
    def __del__(self):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})

interrupts.interrupt_when_terminated()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
for number in (signal.SIGTERM, signal.SIGINT):
    os.kill(os.getpid(), number)
lost = Closed()
try:
    del lost
    time.sleep(5)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_of_two_signals_in_a_destructor_one_is_sent_again() -> None:
    """The second one is taken where the first is about to be sent again; Python would ignore both."""
    command = [sys.executable, "-c", TWO_IN_A_DESTRUCTOR]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


AFTER_THE_END = """
import os, signal, sys
from conformance.core import interrupts

class Late:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.Signals[sys.argv[1]]):
        kill(process, number)

interrupts.interrupt_when_terminated()
late = Late()
sys.exit(3)
"""


def test_a_signal_after_the_end_changes_no_exit_code(number: signal.Signals) -> None:
    """Python removes its handlers before it deletes all objects, which takes a tenth of a second after a run."""
    command = [sys.executable, "-c", AFTER_THE_END, number.name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


IN_A_CHILD_PROCESS = """
import signal, sys
from conformance.core import interrupts

for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(signal.Signals[name], signal.SIG_DFL)
interrupts.interrupt_when_terminated()
try:
    signal.raise_signal(signal.Signals[sys.argv[1]])
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_process_that_starts_without_handlers_is_interrupted_as_well(number: signal.Signals) -> None:
    """The runs of several targets start so: a signal may reach them before a run has handlers of its own."""
    command = [sys.executable, "-c", IN_A_CHILD_PROCESS, number.name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
