"""Ctrl-C, SIGTERM and SIGHUP interrupt a run only where it waits, from its first line to its end.

pytest and pluggy consist of generators: an exception between two of them leaves one suspended, which warns when it is
collected. So the first signal is deferred until the next wait, which follows within milliseconds; a second signal is
raised immediately, unless both are SIGHUP, which the kernel and a shell both send. While the end of a run is written
nothing waits. What is raised in a destructor, which Python ignores, is sent once more.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_RESEND_S: Final = 0.01
_MAX_RESENDS: Final = 100
_HANGUP = getattr(signal, "SIGHUP", None)
"""The terminal was closed, or the pipeline's runner has stopped; Windows has no such signal."""


class _State:
    """The state of this process, to which its signal handlers apply."""

    deferring = False
    accepting = False
    pending = ""
    hung_up = False
    has_arrived = False
    """Whether a signal has arrived while an interrupt was sent again."""
    report_ignored: Callable[[UnraisableHookArgs], object] = sys.unraisablehook


def interrupt_when_terminated() -> None:
    """SIGTERM and SIGHUP end any command as Ctrl-C does, from its start: with a line, and the same exit code.

    Those that are ignored, as under nohup, stay so.
    """
    if threading.current_thread() is threading.main_thread():
        atexit.register(_ignore_signals)
        _resend_lost_interrupts()
        for number in stopping_signals():
            if signal.getsignal(number) is signal.SIG_DFL:  # SIGINT, too, in a `core.child_process`
                handler = signal.default_int_handler if number == signal.SIGINT else _interrupt
                signal.signal(number, handler)


def _ignore_signals() -> None:
    """The exit code is known. From here on Python handles no signal any more: it would end the process with its own."""
    for number in stopping_signals():
        signal.signal(number, signal.SIG_IGN)


def _resend_lost_interrupts() -> None:
    """Sends the signal again where its KeyboardInterrupt is raised in a destructor, whose exceptions Python ignores."""
    if sys.unraisablehook is not _resend:
        _State.report_ignored, sys.unraisablehook = sys.unraisablehook, _resend


def _resend(failure: UnraisableHookArgs) -> None:
    if not issubclass(failure.exc_type, KeyboardInterrupt) or sys.is_finalizing():
        _State.report_ignored(failure)
        return
    name = str(failure.exc_value)
    for _ in range(_MAX_RESENDS):
        _State.has_arrived = False
        with suppress(KeyboardInterrupt):  # of Python's own handler
            _send_later(name)
            if not _State.has_arrived:  # on a busy machine it arrives here already, where Python ignores it as well
                break


def _send_later(name: str) -> None:
    """Sends this process the signal of that name, or SIGINT, in a moment."""
    _State.hung_up = False
    number = signal.Signals[name] if name in signal.Signals.__members__ else signal.SIGINT
    timer = threading.Timer(_RESEND_S, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()


def _is_resending(frame: FrameType | None) -> bool:
    """Whether an interrupt is sent again at the moment: another one that is raised there would be the end of both."""
    while frame is not None:
        if frame.f_code is _resend.__code__:
            _State.has_arrived = True
            return True
        frame = frame.f_back
    return False


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Calls the handler of Ctrl-C: an event loop has one of its own, which lets its tasks end."""
    if _is_resending(frame):
        return
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt


def _handle_signal(number: int, frame: FrameType | None) -> None:
    if _is_resending(frame):
        return
    name = signal.Signals(number).name
    if number == _HANGUP:
        if _State.hung_up:
            return
        _State.hung_up = True
    if _State.deferring and not _State.accepting and not _State.pending:
        _State.pending = name
        return
    raise KeyboardInterrupt(name)


def stopping_signals() -> list[signal.Signals]:
    """The signals that end a run. SIGHUP is not one of them under nohup, which ignores it."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if _HANGUP is not None and signal.getsignal(_HANGUP) is not signal.SIG_IGN:
        numbers.append(_HANGUP)
    return numbers


def find_interrupt(error: BaseException) -> KeyboardInterrupt | None:
    """The interrupt that has led to an error; None if there was none.

    Before Python 3.12 one within the creation of a class is a RuntimeError. Of two signals at once, the second one is
    raised where `threading` handles the first: it does not take back the lock that it waited with, and releases it.
    """
    chained = error.__cause__ or error.__context__
    if isinstance(chained, KeyboardInterrupt) or chained is None:
        return chained
    return find_interrupt(chained)


@contextmanager
def raise_on_signals() -> Iterator[None]:
    """Each of these signals ends a run with a report. Raises KeyboardInterrupt with the signal's name."""
    previous = {number: signal.signal(number, _handle_signal) for number in stopping_signals()}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        _State.deferring, _State.pending, _State.hung_up = False, "", False


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defers signals until `accept_signals` is entered, or until this context ends."""
    _State.deferring = True
    try:
        yield
    finally:
        _State.deferring = False
        _raise_pending()


def ignore_first_signal() -> None:
    """Ignores the first signal while the end of a run is written; a second one is raised immediately."""
    _State.deferring, _State.pending = True, ""


@contextmanager
def handle_worker_signals() -> Iterator[None]:
    """Both contexts, for a worker of a split run, which has no other signal handlers.

    It ignores SIGHUP, which reaches one process or all of them: the controller ends its workers with SIGINT.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = None if _HANGUP is None else signal.signal(_HANGUP, signal.SIG_IGN)
    try:
        with raise_on_signals(), defer_signals():
            yield
    finally:
        if _HANGUP is not None:
            signal.signal(_HANGUP, previous)


@contextmanager
def accept_signals() -> Iterator[None]:
    """Signals are raised in this context, including a deferred one."""
    _State.accepting = True
    try:
        _raise_pending()
        yield
    finally:
        _State.accepting = False


def _raise_pending() -> None:
    name, _State.pending = _State.pending, ""
    if name:
        raise KeyboardInterrupt(name)
