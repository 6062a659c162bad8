"""`os._exit` in a fixture's function: it would end the run at once, and with status 0 look like a conformant target."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import NoReturn

from conformance.core.errors import FixtureError

_IN_FUNCTION: ContextVar[bool] = ContextVar("_IN_FUNCTION", default=False)
_ORIGINAL = os._exit


@contextmanager
def refuse_process_exit() -> Iterator[None]:
    """Within this context `os._exit` raises SystemExit, which ends the function and not the process.

    It stays replaced afterwards: a function may have started a thread that calls it later.
    """
    if os._exit is _ORIGINAL:
        os._exit = partial(_exit, os.getpid())
    token = _IN_FUNCTION.set(True)
    try:
        yield
    finally:
        _IN_FUNCTION.reset(token)


def _exit(process: int, status: int) -> NoReturn:
    """`os._exit` of this process. Outside of a function it ends the process, but never with 0.

    A process that a function has forked ends as it likes.
    """
    if os.getpid() == process:
        if _IN_FUNCTION.get():
            raise SystemExit(f"os._exit({status})")
        if status == 0:
            print("error: os._exit(0) has ended the run: there is no verdict", file=sys.stderr, flush=True)
            status = FixtureError.exit_code
    _ORIGINAL(status)
