"""Runs many coroutines in one event loop beside pytest, so that each pytest item only waits for its own.

Ordinary jobs run together; exclusive ones run last, one at a time, with nothing else in flight.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Job(Generic[R, T]):
    """One coroutine to run. `work` gets what the engine's context opened."""

    key: str
    work: Callable[[R], Awaitable[T]]
    exclusive: bool = False


class Stopped(Exception):
    """The engine ended before this job had a result; says why."""


class Engine(Generic[R, T]):
    """Runs jobs in a thread of its own. `opened` is entered in that thread's loop and stays open for all of them."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[R]], *, workers: int) -> None:
        self._opened = opened
        self._workers = workers
        self._futures: dict[str, Future[T]] = {}
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self.stopped = ""
        self.done = 0

    def start(self, jobs: Sequence[Job[R, T]], *, deadline_s: float | None = None) -> None:
        self._futures = {job.key: Future() for job in jobs}
        self._thread = threading.Thread(target=self._run, args=(list(jobs), deadline_s), name="engine", daemon=True)
        self._thread.start()
        self._ready.wait()

    @property
    def total(self) -> int:
        return len(self._futures)

    def result(self, key: str) -> T:
        """Waits for a job. Raises Stopped where it never came to an end, and what the job raised, if anything."""
        try:
            return self._futures[key].result()
        except CancelledError:
            raise Stopped(self.stopped or "the engine ended") from self._failure

    def stop(self, reason: str) -> None:
        """Ends every job that is not done. The first reason stays."""
        self.stopped = self.stopped or reason
        if self._loop is not None and self._main is not None and not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self._main.cancel)
            except RuntimeError:  # the loop closed in between
                return

    def join(self, timeout: float | None = None) -> None:
        """Waits until the loop has ended. Raises what broke the engine itself, if anything did."""
        if self._thread is not None:
            self._thread.join(timeout)
        if self._failure is not None:
            raise self._failure

    def _run(self, jobs: list[Job[R, T]], deadline_s: float | None) -> None:
        try:
            asyncio.run(self._supervise(jobs, deadline_s))
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()
            for future in self._futures.values():
                future.cancel()

    async def _supervise(self, jobs: list[Job[R, T]], deadline_s: float | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._ready.set()
        async with self._opened() as runtime:
            try:
                async with asyncio.timeout(deadline_s):
                    await self._together([job for job in jobs if not job.exclusive], runtime)
                    for job in jobs:
                        if job.exclusive:
                            await self._one(job, runtime)
            except TimeoutError:
                self.stopped = self.stopped or f"deadline of {deadline_s:g} s"

    async def _together(self, jobs: list[Job[R, T]], runtime: R) -> None:
        queue = iter(jobs)

        async def lane() -> None:
            for job in queue:
                await self._one(job, runtime)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._workers, len(jobs))):
                group.create_task(lane())

    async def _one(self, job: Job[R, T], runtime: R) -> None:
        future = self._futures[job.key]
        try:
            result = await job.work(runtime)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(result)
        self.done += 1
