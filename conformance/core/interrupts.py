"""Ctrl-C and SIGTERM interrupt a run only where it waits, from its first line to its end.

pytest and pluggy consist of generators: an exception between two of them leaves one suspended, which warns when it is
collected. So the first signal is deferred until the next wait, which follows within milliseconds; a second signal is
raised immediately. While the end of a run is written nothing waits: an exception might be raised in a destructor there,
and be lost.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class _State:
    """The state of this process, to which its signal handlers apply."""

    deferring = False
    bearable = False
    pending = ""


def _interrupt(number: int, _frame: object) -> None:
    name = signal.Signals(number).name
    if _State.deferring and not _State.bearable and not _State.pending:
        _State.pending = name
        return
    raise KeyboardInterrupt(name)


@contextmanager
def as_exceptions() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: with a report. Raises KeyboardInterrupt with the signal's name."""
    before = {number: signal.signal(number, _interrupt) for number in _NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _State.deferring, _State.pending = False, ""


@contextmanager
def deferred() -> Iterator[None]:
    """Defers signals until `taken` is entered, or until this context ends."""
    _State.deferring = True
    try:
        yield
    finally:
        _State.deferring = False
        _take()


def finish() -> None:
    """Ignores the first signal while the end of a run is written; a second one is raised immediately."""
    _State.deferring, _State.pending = True, ""


@contextmanager
def in_a_process_of_its_own() -> Iterator[None]:
    """Both contexts, for a worker of a split run, which has no other signal handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with as_exceptions(), deferred():
        yield


@contextmanager
def taken() -> Iterator[None]:
    """Signals are raised in this context, including a deferred one."""
    _State.bearable = True
    try:
        _take()
        yield
    finally:
        _State.bearable = False


def _take() -> None:
    name, _State.pending = _State.pending, ""
    if name:
        raise KeyboardInterrupt(name)
