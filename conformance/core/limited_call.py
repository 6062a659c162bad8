"""A call in a thread of its own, which is waited for up to a time: what it calls may never return."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


def start_call(function: Callable[[], _T], name: str) -> Callable[[float], _T]:
    """Starts a call. The returned function waits for its result for at most that number of seconds.

    It raises what the call raises, and TimeoutError. `name`: of the thread, which ends with the process.
    """
    future = Future[_T]()

    def call() -> None:
        try:
            result = function()
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=call, name=name, daemon=True).start()
    return lambda timeout_s: future.result(max(0.0, timeout_s))
