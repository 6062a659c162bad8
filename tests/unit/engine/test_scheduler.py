"""The engine runs jobs beside its caller, together or alone; each comes to an end, and so does waiting for it."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from conformance.core import interrupts
from conformance.engine.scheduler import Engine, EngineShutdown, Job, lane_count

Runtime = list[str]


@asynccontextmanager
async def opened() -> AsyncIterator[Runtime]:
    log: Runtime = []
    try:
        yield log
    finally:
        log.append("closed")


@pytest.fixture
def start() -> Iterator[Callable[..., Engine[Runtime, Any]]]:
    """`start(workers=...)`: an engine that runs, and is stopped whatever happens."""
    made: list[Engine[Runtime, Any]] = []

    def begin(workers: int = 4, deadline_s: float | None = None, context: Any = opened) -> Engine[Runtime, Any]:
        engine: Engine[Runtime, Any] = Engine(context, workers=workers, deadline_s=deadline_s)
        made.append(engine)
        engine.start()
        return engine

    yield begin
    for engine in made:
        engine.stop("the test has ended")
    assert not any(thread.name == "engine" for thread in threading.enumerate())


def sleeper(seconds: float, value: Any = None) -> Callable[[Runtime], Any]:
    async def work(runtime: Runtime) -> Any:
        await asyncio.sleep(seconds)
        return value

    return work


@pytest.mark.parametrize("error", [OSError("the disk is full"), None], ids=["raises", "returns"])
def test_a_job_that_swallows_its_cancellation_does_not_hold_the_end_up(start: Any, error: Exception | None) -> None:
    """As where what a check writes at its end fails: without a deadline, nobody would end the run."""
    is_running = threading.Event()

    async def work(runtime: Runtime) -> None:
        try:
            is_running.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if error is not None:
                raise error from None

    engine = start(workers=2)
    engine.submit([Job("a", work), Job("b", work)])
    assert is_running.wait(10)
    began = time.monotonic()
    engine.stop("the disk is full")
    assert time.monotonic() - began < 10


def test_jobs_run_together(start: Any) -> None:
    """As many at once as there are lanes: a job that waits for nine others does not wait in vain."""
    waiting: list[asyncio.Future[None]] = []

    def meeting(number: int) -> Job[Runtime, int]:
        async def work(runtime: Runtime) -> int:
            waiting.append(asyncio.get_running_loop().create_future())
            if len(waiting) == 10:
                for future in waiting:
                    future.set_result(None)
                waiting.clear()
            else:
                await asyncio.wait_for(waiting[-1], 30)
            return number

        return Job(str(number), work)

    engine = start(workers=10)
    engine.submit(map(meeting, range(20)))
    assert [engine.result(str(number)) for number in range(20)] == list(range(20))
    assert engine.completed_count == 20


@pytest.mark.parametrize(
    ("concurrency", "rate", "may_end_early", "lanes"),
    [(32, None, False, 224), (32, None, True, 48), (1, None, False, 17), (32, 10.0, False, 20), (32, 0.5, False, 16)],
)
def test_a_check_begins_when_its_turn_is_near(
    concurrency: int, rate: float | None, lanes: int, *, may_end_early: bool
) -> None:
    """Its fixtures wait with it: a cart that was made half a minute before the first call on it may have ended."""
    assert lane_count(concurrency, rate, 0, may_end_early=may_end_early) == lanes
    assert lane_count(concurrency, rate, 3, may_end_early=may_end_early) == lanes + 3


def test_lanes_bound_how_many_run(start: Any) -> None:
    """Never more jobs than lanes, in the order they were submitted."""
    running = most = 0
    order: list[int] = []

    def counted(number: int) -> Job[Runtime, None]:
        async def work(runtime: Runtime) -> None:
            nonlocal running, most
            order.append(number)
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1

        return Job(str(number), work)

    engine = start(workers=3)
    engine.submit(map(counted, range(12)))
    for number in range(12):
        engine.result(str(number))
    assert (most, order) == (3, list(range(12)))


def test_an_exclusive_job_runs_after_all_others_and_alone(start: Any) -> None:
    """It waits until no ordinary job is left; those that come while it runs wait for it."""
    events: list[str] = []

    def noted(name: str, seconds: float, exclusive: bool = False) -> Job[Runtime, None]:
        async def work(runtime: Runtime) -> None:
            events.append(f"{name} begins")
            await asyncio.sleep(seconds)
            events.append(f"{name} ends")

        return Job(name, work, exclusive)

    engine = start(workers=4)
    engine.submit([noted("alone", 0.15, True), noted("a", 0.05), noted("b", 0.02), noted("second alone", 0.01, True)])
    while "alone begins" not in events:
        time.sleep(0.005)
    engine.submit([noted("late", 0.01)])
    for name in ("a", "b", "alone", "late", "second alone"):
        engine.result(name)
    assert events[:2] == ["a begins", "b begins"]
    assert events[4:6] == ["alone begins", "alone ends"]
    for name in ("late", "second alone"):
        assert events.index(f"{name} ends") == events.index(f"{name} begins") + 1 > 6


def test_a_known_key_is_not_run_again(start: Any) -> None:
    """Submitting a job twice runs it once."""
    calls = []

    async def work(runtime: Runtime) -> int:
        calls.append(1)
        return len(calls)

    engine = start()
    engine.submit([Job("a", work), Job("a", work)][:1])
    engine.submit([Job("a", work)])
    assert engine.result("a") == engine.result("a") == 1
    assert len(calls) == 1


def test_what_a_job_raises_is_delivered(start: Any) -> None:
    """To whoever waits for it, and nobody else; the lane goes on."""

    async def failing(runtime: Runtime) -> None:
        raise ValueError("mine")

    engine = start(workers=1)
    engine.submit([Job("bad", failing), Job("good", sleeper(0, 7))])
    with pytest.raises(ValueError, match="mine"):
        engine.result("bad")
    assert engine.result("good") == 7


def test_a_job_whose_awaitable_was_cancelled_has_an_end(start: Any) -> None:
    """Something that a job waited for was cancelled: its caller is told, the lane goes on."""

    async def cancelled(runtime: Runtime) -> None:
        inner = asyncio.ensure_future(asyncio.sleep(10))
        asyncio.get_running_loop().call_later(0.01, inner.cancel)
        await inner

    engine = start(workers=1)
    engine.submit([Job("bad", cancelled), Job("good", sleeper(0, 7))])
    with pytest.raises(EngineShutdown, match="cancelled"):
        engine.result("bad")
    assert engine.result("good") == 7


def test_stop_ends_everything_at_once(start: Any) -> None:
    """Running, queued and exclusive jobs alike end with Stopped, which says why; what was done stays done."""
    engine = start(workers=1)
    jobs = [
        Job("done", sleeper(0, 1)),
        Job("running", sleeper(30)),
        Job("queued", sleeper(30)),
        Job("alone", sleeper(0), True),
    ]
    engine.submit(jobs)
    assert engine.result("done") == 1
    started = time.perf_counter()
    engine.stop("SIGINT")
    engine.stop("another reason")
    assert time.perf_counter() - started < 5
    for name in ("running", "queued", "alone"):
        with pytest.raises(EngineShutdown, match="SIGINT"):
            engine.result(name)
    assert engine.result("done") == 1
    assert engine.failure is None


def test_stop_wakes_whoever_waits(start: Any) -> None:
    """A caller that waits in another thread is not left waiting."""
    engine = start()
    engine.submit([Job("a", sleeper(30))])
    threading.Timer(0.05, engine.stop, ["enough"]).start()
    with pytest.raises(EngineShutdown, match="enough"):
        engine.result("a")


def test_the_deadline_ends_the_run(start: Any) -> None:
    """What is not done by then ends with Stopped, naming the deadline."""
    engine = start(deadline_s=0.1)
    engine.submit([Job("quick", sleeper(0, 1)), Job("slow", sleeper(30))])
    assert engine.result("quick") == 1
    with pytest.raises(EngineShutdown, match=r"deadline of 0.1 s"):
        engine.result("slow")
    assert engine.stop_reason == "the deadline of 0.1 s"


def test_submitting_after_the_end(start: Any) -> None:
    """A job that comes too late ends as the others did: nobody waits for ever."""
    engine = start()
    engine.stop("over")
    engine.submit([Job("late", sleeper(0))])
    with pytest.raises(EngineShutdown, match="over"):
        engine.result("late")


def test_the_context_is_opened_once_and_closed(start: Any) -> None:
    """Every job gets the same open thing; it is closed in the same loop when the engine stops."""
    logs = []

    async def keep(runtime: Runtime) -> int:
        logs.append(runtime)
        return id(asyncio.get_running_loop())

    engine = start()
    engine.submit([Job("a", keep), Job("b", keep)])
    assert engine.result("a") == engine.result("b")
    assert logs[0] is logs[1]
    engine.stop("")
    assert logs[0] == ["closed"]


def test_a_context_that_cannot_be_opened(start: Any) -> None:
    """What opening raised is raised by start."""

    @asynccontextmanager
    async def broken() -> AsyncIterator[Runtime]:
        raise OSError("no socket")
        yield []

    with pytest.raises(OSError, match="no socket"):
        start(context=broken)


def test_many_submissions_race_with_the_end(start: Any) -> None:
    """Jobs that are submitted while the engine stops all come to an end."""
    engine = start(workers=2)
    stopper = threading.Timer(0.01, engine.stop, ["race"])
    stopper.start()
    for number in range(600):
        engine.submit([Job(str(number), sleeper(0.001))])
    stopper.join()
    ends = [_end(engine, str(number)) for number in range(600)]
    assert set(ends) <= {"done", "stopped"}


def _end(engine: Engine[Runtime, Any], key: str) -> str:
    try:
        engine.result(key)
    except EngineShutdown:
        return "stopped"
    return "done"


@pytest.mark.parametrize("how", ["the job ends", "the event is set", "the engine stops", "the time is up"])
def test_waiting_for_a_job_or_an_event_ends_with_whichever_comes(start: Callable[..., Any], how: str) -> None:
    """And with the engine, however it ends; nobody waits for what will never come."""
    engine, event = start(), threading.Event()
    begun = threading.Event()

    async def work(_: Runtime) -> None:
        begun.set()
        await asyncio.sleep(0.05 if how == "the job ends" else 30)

    engine.submit([Job("slow", work)])
    assert begun.wait(5)
    if how == "the event is set":
        threading.Timer(0.05, event.set).start()
    if how == "the engine stops":
        threading.Timer(0.05, engine.stop).start()
    before = time.monotonic()
    engine.wait("slow", event, 0.05 if how == "the time is up" else None)
    assert time.monotonic() - before < 10


@pytest.mark.parametrize("after_s", [0.00002, 0.0001, 0.0003, 0.001, 0.003])
def test_an_engine_whose_start_is_interrupted_ends_when_it_is_stopped(after_s: float) -> None:
    """A signal comes before its loop, with it, or while its context is being opened."""

    @asynccontextmanager
    async def slow_to_open() -> AsyncIterator[Runtime]:
        await asyncio.sleep(0.2)
        yield []

    engine: Engine[Runtime, Any] = Engine(slow_to_open, workers=1)
    with interrupts.raise_on_signals():
        with pytest.raises(KeyboardInterrupt, match="SIGTERM"), interrupts.defer_signals():
            threading.Timer(after_s, signal.pthread_kill, [threading.get_ident(), signal.SIGTERM]).start()
            engine.start()
        engine.stop()
    assert "engine" not in {thread.name for thread in threading.enumerate()}


def test_an_engine_that_never_began_may_be_stopped() -> None:
    engine: Engine[Runtime, Any] = Engine(opened, workers=1)
    engine.stop("no more")
    assert engine.stop_reason == "no more"


def test_jobs_that_are_chosen_later_are_chosen_when_a_lane_is_free(start: Any) -> None:
    """Behind those that were queued before, each once, and no more of them than are run."""
    chosen: list[str] = []
    engine = start(workers=1)
    release = threading.Event()

    async def wait(runtime: Runtime) -> None:
        while not release.is_set():
            await asyncio.sleep(0.001)

    def choose() -> Iterator[Job[Runtime, str]]:
        for number in range(4):
            chosen.append(str(number))
            yield Job(str(number), wait if number == 2 else sleeper(0, str(number)))

    engine.submit([Job("first", sleeper(0, "first"))])
    engine.submit_later([str(number) for number in range(4)], choose())
    engine.submit([Job("1", sleeper(0, "submitted twice"))])
    assert [engine.result(key) for key in ("1", "0", "first")] == ["1", "0", "first"]
    while len(chosen) < 3:
        time.sleep(0.001)
    assert chosen == ["0", "1", "2"]
    release.set()
    assert (engine.result("3"), chosen) == ("3", ["0", "1", "2", "3"])


def test_what_runs_alone_waits_for_jobs_that_are_not_chosen_yet(start: Any) -> None:
    """They count as soon as they are announced."""
    log: list[str] = []

    def noted(key: str, exclusive: bool = False) -> Job[Runtime, None]:
        async def work(runtime: Runtime) -> None:
            await asyncio.sleep(0.002)
            log.append(key)

        return Job(key, work, exclusive)

    engine = start(workers=1)
    engine.submit_later(["a", "b", "c"], map(noted, "abc"))
    engine.submit([noted("alone", exclusive=True)])
    engine.result("alone")
    assert log == ["a", "b", "c", "alone"]
