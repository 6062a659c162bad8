"""Garbage collection for long runs: values that live long need not be scanned repeatedly."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_THRESHOLDS: Final = (20_000, 20, 5)
_lock = threading.Lock()
_users: list[tuple[int, int, int]] = []
"""For each entry of `reduce_collections` that has not exited: the thresholds before it."""


@contextmanager
def reduce_collections() -> Iterator[None]:
    """Collects reference cycles less often, and not among the objects that exist already.

    For code that creates many small values that live long, and few cycles: a run, and reading its journal. Several
    threads may enter it: the first one freezes the existing objects, and the last one restores the thresholds.
    """
    with _lock:
        if not _users:
            gc.freeze()
        _users.append(gc.get_threshold())
        gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        with _lock:
            thresholds = _users.pop()
            if not _users:
                gc.set_threshold(*thresholds)
                gc.unfreeze()


def reduce_until_exit() -> None:
    """As `reduce_collections`, without an end: restored thresholds would let the whole run be searched as it ends."""
    with _lock:
        if not _users:
            gc.freeze()
            _users.append(gc.get_threshold())
        gc.set_threshold(*_THRESHOLDS)


def collect_cycles() -> None:
    """Collects recent reference cycles, for code that creates many of them, such as a long search."""
    gc.collect(1)
