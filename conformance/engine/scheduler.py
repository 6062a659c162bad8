"""Runs coroutines concurrently in one event loop beside pytest; each pytest item waits only for its own.

Ordinary jobs start in the order of their submission. An exclusive job waits until no ordinary one is left, and runs
with nothing else in flight.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from conformance.core import interrupts
from conformance.core.gc_tuning import reduce_collections

T = TypeVar("T")
R = TypeVar("R")
_GRACE_S: Final = 0.5
"""Seconds to wait, after the deadline, for a loop that is busy with one answer."""
_LONGEST_END_S: Final = 60.0
"""Without a deadline: a loop that was stopped and has not ended by then is abandoned."""
_SPARE_LANES: Final = 192
"""Lanes in addition to the concurrency, for checks that wait: for a fixture, a back-off, or their turn of a control."""
_FEW_SPARE_LANES: Final = 16
"""The same, where the run may end early: what began and was not finished is evidence that was paid for and lost."""
_SPARE_LANES_A_PLACE: Final = 12
_LANES_A_SECOND: Final = 2.0
"""At most this many lanes for each request in flight, and for each request a second. What a check sends first rests on
fixtures that it has: with more lanes they would be tens of seconds old before its turn, and might have ended. With
fewer, negatives of one operation are less often under way together, and share fewer controls."""


@dataclass(frozen=True)
class Job(Generic[R, T]):
    """One coroutine to run. `work` receives the value of the engine's context manager."""

    key: str
    work: Callable[[R], Awaitable[T]]
    exclusive: bool = False


class EngineFailure(Exception):
    """The event loop ended with an error, which is the cause."""


class EngineShutdown(Exception):
    """The engine ended before this job had a result; the message is the reason."""


def lane_count(concurrency: int, rate: float | None, chains: int, *, may_end_early: bool) -> int:
    """The number of checks that are under way at once. `rate`: requests a second; `chains`: of long sequences."""
    spare = _FEW_SPARE_LANES if may_end_early else min(_SPARE_LANES, _SPARE_LANES_A_PLACE * concurrency)
    lanes = concurrency + max(_FEW_SPARE_LANES, spare)
    return chains + (lanes if rate is None else min(lanes, max(_FEW_SPARE_LANES, int(_LANES_A_SECOND * rate))))


class Engine(Generic[R, T]):
    """Runs jobs in its own thread. `open_context` is entered in that thread's loop and stays open for all of them.

    All methods must be called from one other thread. `remaining_s`: seconds that remain of the deadline.
    """

    def __init__(
        self,
        open_context: Callable[[], AbstractAsyncContextManager[R]],
        *,
        workers: int,
        deadline_s: float | None = None,
        remaining_s: float | None = None,
    ) -> None:
        self._open_context = open_context
        self._workers = workers
        self._deadline_s = deadline_s
        self._remaining_s = deadline_s if remaining_s is None else remaining_s
        self._give_up_at = None if self._remaining_s is None else time.monotonic() + self._remaining_s + _GRACE_S
        self._futures: dict[str, Future[T]] = {}
        self._loop_started, self._ready = threading.Event(), threading.Event()
        self._main: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self.stop_reason = ""
        self.completed_count = 0
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Raises what opening the context raised. If a signal interrupts it, call `stop` nevertheless."""
        self._thread.start()
        with interrupts.accept_signals():
            self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def submit(self, jobs: Iterable[Job[R, T]]) -> None:
        """Queues jobs. A job with a known key is not run again."""
        new = [job for job in jobs if job.key not in self._futures]
        if new:
            self._register([job.key for job in new], lambda: self._queue(new))

    def submit_later(self, keys: Sequence[str], jobs: Iterator[Job[R, T]]) -> None:
        """Queues ordinary jobs with these new keys; each is taken from `jobs` when a lane is free for it.

        For jobs that take time to choose: the first ones run meanwhile, and may be the only ones.
        """
        self._register(keys, lambda: self._queue_later(len(keys), jobs))

    def _register(self, keys: Sequence[str], queue: Callable[[], None]) -> None:
        self._futures |= {key: Future() for key in keys}
        assert self._main is not None
        try:
            self._main.get_loop().call_soon_threadsafe(queue)
        except RuntimeError:  # the loop has ended
            self._cancel_all()

    def result(self, key: str) -> T:
        """Waits for a job and returns its result.

        Raises EngineShutdown, EngineFailure, or the exception that the job raised.
        """
        try:
            with interrupts.accept_signals():
                return self._futures[key].result(self._remaining_wait_s())
        except TimeoutError:
            if self._futures[key].done():  # raised by the job
                raise
            self._give_up()
            raise EngineShutdown(self.stop_reason) from None
        except CancelledError:
            if self._failure is not None:
                raise EngineFailure(f"{type(self._failure).__name__}: {self._failure}") from self._failure
            raise EngineShutdown(self.stop_reason or "the job was cancelled, or the engine ended") from None

    def is_done(self, key: str) -> bool:
        """Whether a queued job has ended, with or without a result."""
        return self._futures[key].done()

    def wait(self, key: str, event: threading.Event, timeout_s: float | None = None) -> None:
        """Waits until a job ends, the event is set, or `timeout_s` seconds or the deadline have passed."""
        if key in self._futures:
            self._futures[key].add_done_callback(lambda _: event.set())
            with interrupts.accept_signals():
                event.wait(self._remaining_wait_s() if timeout_s is None else timeout_s)

    def stop(self, reason: str = "") -> None:
        """Cancels unfinished jobs and ends the loop. The first reason is kept."""
        self.stop_reason = self.stop_reason or reason
        if self._thread.ident is None:  # not started
            return
        self._loop_started.wait()
        if self._main is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._main.get_loop().call_soon_threadsafe(self._main.cancel)
        remaining_s = self._remaining_wait_s()
        self._thread.join(_LONGEST_END_S if remaining_s is None else remaining_s)
        if self._thread.is_alive():
            self._give_up()

    def _remaining_wait_s(self) -> float | None:
        """Seconds that the loop's thread may still take; None without a deadline."""
        return None if self._give_up_at is None else max(_GRACE_S, self._give_up_at - time.monotonic())

    def _give_up(self) -> None:
        """Abandons a loop that is too busy for its own timer. Its thread ends with the process."""
        ends = "the end of the engine" if self._deadline_s is None else f"the deadline of {self._deadline_s:g} s"
        self.stop_reason = self.stop_reason or ends
        self._cancel_all()

    @property
    def failure(self) -> BaseException | None:
        """The exception that ended the engine; None if there was none."""
        return self._failure

    def _cancel_all(self) -> None:
        for future in list(self._futures.values()):  # the other thread may be adding futures
            future.cancel()

    def _run(self) -> None:
        try:
            with reduce_collections():
                asyncio.run(self._supervise())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            while isinstance(error, BaseExceptionGroup):  # of the lanes, the first that failed
                error = error.exceptions[0]
            self._failure = error
        finally:
            self._loop_started.set()
            self._ready.set()
            self._cancel_all()

    async def _supervise(self) -> None:
        self._main = asyncio.create_task(self._serve())
        self._loop_started.set()
        await self._main

    async def _serve(self) -> None:
        self._ordinary_jobs: asyncio.Queue[Iterator[Job[R, T]]] = asyncio.Queue()
        """For each job an iterator that gives it."""
        self._exclusive_jobs: asyncio.Queue[Job[R, T]] = asyncio.Queue()
        self._unfinished_count = 0
        self._condition = asyncio.Condition()
        async with self._open_context() as runtime:
            self._ready.set()
            try:
                async with asyncio.timeout(self._remaining_s), asyncio.TaskGroup() as group:
                    for _ in range(self._workers):
                        group.create_task(self._ordinary_lane(runtime))
                    group.create_task(self._exclusive_lane(runtime))
            except TimeoutError:
                self.stop_reason = self.stop_reason or f"the deadline of {self._deadline_s:g} s"

    def _queue(self, jobs: list[Job[R, T]]) -> None:
        for job in jobs:
            if job.exclusive:
                self._exclusive_jobs.put_nowait(job)
            else:
                self._queue_later(1, iter((job,)))

    def _queue_later(self, count: int, jobs: Iterator[Job[R, T]]) -> None:
        self._unfinished_count += count
        for _ in range(count):
            self._ordinary_jobs.put_nowait(jobs)

    async def _ordinary_lane(self, runtime: R) -> None:
        while True:
            job = next(await self._ordinary_jobs.get())
            async with self._condition:  # an exclusive job holds this lock while it runs
                pass
            await self._run_job(job, runtime)
            async with self._condition:
                self._unfinished_count -= 1
                if not self._unfinished_count:  # what waits for it, waits for zero
                    self._condition.notify_all()

    async def _exclusive_lane(self, runtime: R) -> None:
        while True:
            job = await self._exclusive_jobs.get()
            async with self._condition:
                await self._condition.wait_for(lambda: not self._unfinished_count)
                await self._run_job(job, runtime)

    async def _run_job(self, job: Job[R, T], runtime: R) -> None:
        future = self._futures[job.key]
        task = asyncio.current_task()
        try:
            result = await job.work(runtime)
        except asyncio.CancelledError:
            if task is None or task.cancelling():
                raise
            future.cancel()  # not this task was cancelled, but one that the job awaited
        except Exception as error:  # noqa: BLE001 - raised by the job, delivered through its future
            with contextlib.suppress(InvalidStateError):  # already cancelled
                future.set_exception(error)
        else:
            with contextlib.suppress(InvalidStateError):
                future.set_result(result)
        self.completed_count += 1
        if task is not None and task.cancelling():  # the job was cancelled, and ended with something else
            raise asyncio.CancelledError
