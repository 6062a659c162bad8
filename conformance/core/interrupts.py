"""Ctrl-C and SIGTERM end a run where it waits, and nowhere else from its first line to its end.

pytest and pluggy are made of generators: an exception between two of them leaves one suspended, which complains when it
is collected. So the first signal is kept until the next wait, which comes at once; a second one is taken where it hits.
While a run's end is written there is no such wait: an exception may hit a destructor there, and get lost.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class _State:
    """Of this process, as its signals are."""

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
    """SIGTERM ends a run as Ctrl-C does: with a report of what there is. Raises KeyboardInterrupt with its name."""
    before = {number: signal.signal(number, _interrupt) for number in _NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _State.deferring, _State.pending = False, ""


@contextmanager
def deferred() -> Iterator[None]:
    """From here to the end, a signal is taken in `taken` only, at the latest when this ends."""
    _State.deferring = True
    try:
        yield
    finally:
        _State.deferring = False
        _take()


def finish() -> None:
    """From here on a run's end is written, of which one signal has nothing left to end; a second is taken at once."""
    _State.deferring, _State.pending = True, ""


@contextmanager
def in_a_process_of_its_own() -> Iterator[None]:
    """Both, for a worker of a split run, whose signals nobody else has taken in hand."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with as_exceptions(), deferred():
        yield


@contextmanager
def taken() -> Iterator[None]:
    """Here a signal may be raised, also one that came before."""
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
