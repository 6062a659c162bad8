"""Runs many coroutines in one event loop beside pytest, so that each pytest item only waits for its own.

Ordinary jobs run together, in the order they were submitted. An exclusive job waits until none of them is left, and
then runs with nothing else in flight.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from conformance.core import interrupts
from conformance.core.gc_tuning import reduce_collections

T = TypeVar("T")
R = TypeVar("R")
_GRACE_S: Final = 0.5
"""So long after the deadline a loop that is busy with one answer is waited for."""


@dataclass(frozen=True)
class Job(Generic[R, T]):
    """One coroutine to run. `work` gets what the engine's context opened."""

    key: str
    work: Callable[[R], Awaitable[T]]
    exclusive: bool = False


class Stopped(Exception):
    """The engine ended before this job had a result; says why."""


class Engine(Generic[R, T]):
    """Runs jobs in a thread of its own. `opened` is entered in that thread's loop and stays open for all of them.

    The methods are for another thread, always the same one. Of the deadline, `left_s` may be left by now.
    """

    def __init__(
        self,
        opened: Callable[[], AbstractAsyncContextManager[R]],
        *,
        workers: int,
        deadline_s: float | None = None,
        left_s: float | None = None,
    ) -> None:
        self._opened = opened
        self._workers = workers
        self._deadline_s = deadline_s
        self._left_s = deadline_s if left_s is None else left_s
        self._last_moment = None if self._left_s is None else time.monotonic() + self._left_s + _GRACE_S
        self._futures: dict[str, Future[T]] = {}
        self._begun, self._ready = threading.Event(), threading.Event()
        self._main: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self.stopped = ""
        self.done = 0
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Raises what opening the context raised. Where a signal ends it, `stop` still ends what it began."""
        self._thread.start()
        with interrupts.accept_signals():
            self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def submit(self, jobs: Iterable[Job[R, T]]) -> None:
        """Queues jobs. A key that is known already is not run again."""
        new = [job for job in jobs if job.key not in self._futures]
        if not new:
            return
        self._futures |= {job.key: Future() for job in new}
        assert self._main is not None
        try:
            self._main.get_loop().call_soon_threadsafe(self._queue, new)
        except RuntimeError:  # the loop has ended
            self._cancel_all()

    def result(self, key: str) -> T:
        """Waits for a job. Raises Stopped where it never came to an end, and what the job raised, if anything."""
        try:
            with interrupts.accept_signals():
                return self._futures[key].result(self._patience())
        except TimeoutError:
            if self._futures[key].done():  # the job's own
                raise
            self._give_up()
            raise Stopped(self.stopped) from None
        except CancelledError:
            raise Stopped(self.stopped or "it was cancelled, or the engine ended") from self._failure

    def wait(self, key: str, others: threading.Event, most_s: float | None = None) -> None:
        """Until a job has come to an end or the event is set; or for so long, or until the deadline."""
        if key in self._futures:
            self._futures[key].add_done_callback(lambda _: others.set())
            with interrupts.accept_signals():
                others.wait(self._patience() if most_s is None else most_s)

    def stop(self, reason: str = "") -> None:
        """Ends every job that is not done, and the loop. The first reason stays."""
        self.stopped = self.stopped or reason
        if self._thread.ident is None:  # it never began
            return
        self._begun.wait()
        if self._main is not None:
            with contextlib.suppress(RuntimeError):  # it has ended already
                self._main.get_loop().call_soon_threadsafe(self._main.cancel)
        self._thread.join(self._patience())
        if self._thread.is_alive():
            self._give_up()

    def _patience(self) -> float | None:
        """How long the loop's thread may still be waited for."""
        return None if self._last_moment is None else max(_GRACE_S, self._last_moment - time.monotonic())

    def _give_up(self) -> None:
        """The loop's own timer is late: it is busy with something. Nobody waits for it; it ends with the process."""
        self.stopped = self.stopped or f"the deadline of {self._deadline_s:g} s"
        self._cancel_all()

    @property
    def failure(self) -> BaseException | None:
        """What broke the engine itself."""
        return self._failure

    def _cancel_all(self) -> None:
        for future in list(self._futures.values()):  # the other thread may be adding some
            future.cancel()

    def _run(self) -> None:
        try:
            with reduce_collections():
                asyncio.run(self._supervise())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - told to whoever waits, in their thread
            self._failure = error
        finally:
            self._begun.set()
            self._ready.set()
            self._cancel_all()

    async def _supervise(self) -> None:
        self._main = asyncio.create_task(self._serve())
        self._begun.set()
        await self._main

    async def _serve(self) -> None:
        self._ordinary: asyncio.Queue[Job[R, T]] = asyncio.Queue()
        self._alone: asyncio.Queue[Job[R, T]] = asyncio.Queue()
        self._left = 0
        self._turn = asyncio.Condition()
        async with self._opened() as runtime:
            self._ready.set()
            try:
                async with asyncio.timeout(self._left_s), asyncio.TaskGroup() as group:
                    for _ in range(self._workers):
                        group.create_task(self._lane(runtime))
                    group.create_task(self._exclusive_lane(runtime))
            except TimeoutError:
                self.stopped = self.stopped or f"the deadline of {self._deadline_s:g} s"

    def _queue(self, jobs: list[Job[R, T]]) -> None:
        for job in jobs:
            self._left += not job.exclusive
            (self._alone if job.exclusive else self._ordinary).put_nowait(job)

    async def _lane(self, runtime: R) -> None:
        while True:
            job = await self._ordinary.get()
            async with self._turn:  # held by an exclusive job for as long as it runs
                pass
            await self._one(job, runtime)
            async with self._turn:
                self._left -= 1
                self._turn.notify_all()

    async def _exclusive_lane(self, runtime: R) -> None:
        while True:
            job = await self._alone.get()
            async with self._turn:
                await self._turn.wait_for(lambda: not self._left)
                await self._one(job, runtime)

    async def _one(self, job: Job[R, T], runtime: R) -> None:
        future = self._futures[job.key]
        task = asyncio.current_task()
        try:
            result = await job.work(runtime)
        except asyncio.CancelledError:
            if task is None or task.cancelling():
                raise
            future.cancel()  # not we were cancelled, but something that the job waited for
        except Exception as error:  # noqa: BLE001 - the job's own, delivered with its future
            with contextlib.suppress(InvalidStateError):  # it was given up
                future.set_exception(error)
        else:
            with contextlib.suppress(InvalidStateError):
                future.set_result(result)
        self.done += 1
