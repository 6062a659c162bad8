"""The garbage collector's part: what runs long and keeps much need not be searched through over and over."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_EVERY: Final = (20_000, 20, 5)
_lock = threading.Lock()
_users: list[tuple[int, int, int]] = []
"""For each of those inside, the thresholds that it found."""


@contextmanager
def calm_collector() -> Iterator[None]:
    """Looks for circular garbage less often, and not in what is there already.

    For what makes many small values that live on, and few circles: a run, and the reading of its journal. May be
    entered by several threads at once: what is there is what was when the first one came, and the last one to leave
    puts things back.
    """
    with _lock:
        if not _users:
            gc.freeze()
        _users.append(gc.get_threshold())
        gc.set_threshold(*_EVERY)
    try:
        yield
    finally:
        with _lock:
            before = _users.pop()
            if not _users:
                gc.set_threshold(*before)
                gc.unfreeze()


def forget_circles() -> None:
    """Collects what became circular garbage of late: for whoever has made much of it, as a long search does."""
    gc.collect(1)
