"""Programs and Python functions that provide fixtures, bounded in time, and programs in size."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from conformance.core.bounded_output import TooMuchOutput

TIMEOUT_S: Final = 30.0
MAX_OUTPUT: Final = 4 * 1024 * 1024
"""In bytes."""
_CHUNK: Final = 64 * 1024
_POLL_S: Final = 0.02
_GRACE_S: Final = 2.0


async def run_program(
    arguments: Sequence[str], *, directory: Path, environment: Mapping[str, str]
) -> tuple[int | None, bytes]:
    """The exit code of a program, and what it printed until it ended. What it has started ends with it.

    Raises OSError and ValueError where it cannot be started, TimeoutError, and TooMuchOutput.
    """
    process = await asyncio.create_subprocess_exec(
        *arguments,
        cwd=directory,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # otherwise Ctrl-C ends the command too, which looks like its failure
        env=environment,
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            output = await _read_output(process)
            while process.returncode is None:  # noqa: ASYNC110 - `wait` may wait for its output too
                await asyncio.sleep(_POLL_S)
        return process.returncode, output
    finally:
        _end_group(process)
        await _release(process)


async def _read_output(process: asyncio.subprocess.Process) -> bytes:
    """What a program prints until it ends. What it has started may keep its output open, and is not waited for."""
    assert process.stdout is not None
    output = bytearray()
    reading = asyncio.ensure_future(process.stdout.read(_CHUNK))
    try:
        while True:
            has_ended = process.returncode is not None
            await asyncio.wait({reading}, timeout=_POLL_S)
            if not reading.done():
                if has_ended:
                    return bytes(output)
                continue
            if not (chunk := reading.result()):
                return bytes(output)
            output += chunk
            if len(output) > MAX_OUTPUT:
                raise TooMuchOutput
            reading = asyncio.ensure_future(process.stdout.read(_CHUNK))
    finally:
        reading.cancel()
        await asyncio.wait({reading})  # two readers at once are refused


async def _release(process: asyncio.subprocess.Process) -> None:
    """Waits until a killed program has exited and its output is closed: `wait` alone does not return before that."""
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError):  # a process that has left the group may keep the output open
        async with asyncio.timeout(_GRACE_S):
            while await process.stdout.read(_CHUNK):
                pass
            await process.wait()


def _end_group(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


async def call_in_thread(function: Callable[[], Any]) -> Any:
    """The result of a function that may block, in the context of the caller. Raises what it raises.

    Its thread is none of the loop's executor, whose end would wait for a function that never returns.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return  # the wait has ended
        if error is None:
            future.set_result(result)
        else:
            ends_generators = isinstance(error, StopIteration | GeneratorExit)  # by which Python ends a coroutine
            future.set_exception(RuntimeError(type(error).__name__) if ends_generators else error)

    def call() -> None:
        result, error = None, None
        try:
            result = context.run(function)
        except BaseException as problem:  # noqa: BLE001 - raised again where the result is awaited
            error = problem
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=call, name="fixture", daemon=True).start()
    return await future
