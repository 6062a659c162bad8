"""Generated inputs: hypothesis draws them in a thread, and the target answers them in the engine's loop.

The number is bounded, the values follow from the run's seed, and of the violating inputs the smallest is reported. A
batch is generated before any is sent, so that several are in flight together; to shrink, each waits for the answer to
the previous one.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Violation
from conformance.checks.support.value_pools import Pool, select
from conformance.client.recorder import current_check
from conformance.core.gc_tuning import collect_cycles

if TYPE_CHECKING:
    from hypothesis import settings
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
Search = tuple[Callable[[], "SearchStrategy[Any]"], int, int]
"""A strategy, the seed of hypothesis, and the number of examples."""
Source = Callable[[], "SearchStrategy[Any]"] | Sequence[Any]
"""What values come from: a strategy, generated as needed; a pool, which keeps its values; or the values."""
Law = Callable[[Any], Coroutine[Any, Any, None]]
"""Sends the request of a value, and raises Violation where the answer is wrong."""
_MAX_SHRINKS: Final = 25
_SHRINK_S: Final = 3.0
"""Further examples, and seconds, for finding a smaller one that violates."""
_MAX_EXCERPT: Final = 160
_CONCURRENCY: Final = 4
"""Number of examples of one property in flight together."""
_DRAW_POOL: Final = ThreadPoolExecutor(1, "draw")
_SEARCH_POOL: Final = ThreadPoolExecutor(8, "explore")
"""A separate pool: the loop's own resolves names while these threads wait for answers. It is kept, since hypothesis
needs time to adapt to a new thread."""
BATCH: Final = 25
"""Number of examples that are generated, and then sent, at a time: the memory of hypothesis and the waiting values grow
with it. The examples of smaller properties are cached; for larger ones the memory would cost more than generating them
again."""
_DRAW_CACHE: Final[WeakKeyDictionary[SearchStrategy[Any], dict[tuple[int, int], tuple[Any, ...]]]] = WeakKeyDictionary()
"""By strategy, seed and number: the generated values, as long as the strategy lives. Where many targets are judged with
one seed, shared strategies (`strategies`) need not generate them for each target. No law changes its value."""
_HYPOTHESIS_LOCK: Final = threading.Lock()
"""Held except while waiting for an answer: hypothesis sets the recursion limit, which CPython's parser in another
thread does not tolerate (SystemError in 3.11). hypothesis is also imported under this lock, since a concurrent import
may see partial modules."""


_SEARCH_CANCELLED: Final[contextvars.ContextVar[threading.Event | None]] = contextvars.ContextVar(
    "search cancelled", default=None
)
"""Set where no check waits for the values of the search in this context."""


class SearchCancelledError(BaseException):
    """Ends a search of hypothesis, which takes an `Exception` for a failed example and would shrink it."""


class Exploration:
    """The state of one search. hypothesis calls its methods, in a separate thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, max_examples: int) -> None:
        self.sent_count = 0
        self.violations = 0
        self.error: BaseException | None = None
        self.smallest: tuple[str, Violation] | None = None
        self.outcomes: dict[int, Violation | None] = {}
        """The results of the examples sent before shrinking, by the hash of their text."""
        self.max_examples = max_examples
        self._loop = loop
        self._found_at = 0.0

    def pass_over(self, texts: Iterable[str]) -> None:
        """The search for a smaller example does not send these."""
        for text in texts:
            self.outcomes.setdefault(hash(text), None)

    def start_example(self) -> bool:
        """Counts one example; returns whether it may be sent."""
        if self.error is not None or self.sent_count >= self.max_examples + (_MAX_SHRINKS if self.smallest else 0):
            return False
        if self.smallest and time.monotonic() > self._found_at + _SHRINK_S:
            return False
        self.sent_count += 1
        return True

    def shrink_from_now(self) -> None:
        """Starts the time for finding a smaller one."""
        self._found_at = time.monotonic()

    def step(self, work: Callable[[], Coroutine[Any, Any, None]], text: Callable[[], str]) -> None:
        """Sends the request of an example. Raises Violation; any other exception ends the search, and is kept."""
        if self.error is not None:
            return
        coroutine = work()
        _HYPOTHESIS_LOCK.release()
        try:
            asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()
        except Violation as violation:
            self.keep(text(), violation)
            raise
        except BaseException as error:  # noqa: BLE001 - raised again in the check's thread
            coroutine.close()  # it was never started where the loop is closed
            self.error = error
        finally:
            _HYPOTHESIS_LOCK.acquire()

    def keep(self, text: str, violation: Violation) -> None:
        """Counts a violation, and keeps the smallest."""
        self.violations += 1
        if self.smallest is None:
            self._found_at = time.monotonic()
        if self.smallest is None or (len(text), text) < (len(self.smallest[0]), self.smallest[0]):
            self.smallest = text, violation


def seed_of(case: Case) -> int:
    """The seed of a check's examples, from the run's seed and the check's name, so that a check can run alone."""
    return zlib.crc32(f"{case.runtime.settings.seed}:{current_check.get()}".encode())


def hypothesis_settings(examples: int, **options: Any) -> settings:
    """hypothesis settings without a database and a deadline."""
    from hypothesis import HealthCheck, Phase, Verbosity, settings

    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        **options,
    )


async def explore(
    case: Case,
    strategy: Source,
    law: Law,
    *,
    examples: int,
    show: Callable[[Any], str],
    final_check: Callable[[], Awaitable[Any]] | None = None,
    needs: str = "",
) -> None:
    """Sends `examples` generated values; raises Violation with the smallest of those that violate the law.

    `show` says in words what was generated, differently for each value. `final_check` must succeed at the end: the
    control, proven again. `needs` says what is missing where there are no values at all.
    """
    examples = max(1, examples)  # a share of a small number is at least one
    exploration = Exploration(asyncio.get_running_loop(), examples)
    for offset, number in batches(examples):
        exploration.outcomes.clear()
        batch = await _generate(case, strategy, offset, number, examples)
        case.require_case(offset or batch.values or not needs, needs)
        is_exhausted = len(batch.values) < number
        await send_batch(exploration, batch.values, law, show)
        if exploration.smallest is not None and batch.search is not None:
            exploration.pass_over(show(value) for value in batch.pool)
            await run_in_thread(exploration, partial(_shrink, exploration, *batch.search, law, show))
        if exploration.smallest is not None or is_exhausted:
            break
    await conclude(case, exploration, final_check)


@dataclass(frozen=True)
class _Batch:
    """Values to send, and the search that generated them; None if nothing smaller can be generated."""

    values: list[Any]
    search: Search | None = None
    pool: Sequence[Any] = ()
    """All that the search generates before it looks for something smaller."""


async def _generate(case: Case, source: Source, offset: int, number: int, examples: int) -> _Batch:
    """`number` values of one batch of all the examples. A pool is used where it has values for all of them."""
    seed, start_seed = case.runtime.settings.seed, seed_of(case)
    if not callable(source):
        return _Batch(list(source[offset : offset + number]))
    if isinstance(source, Pool) and examples <= source.size:
        pool = await load_pool(source, seed)
        values = select(pool, examples, start_seed)[offset : offset + number]
        return _Batch(values, (source, source.start_seed(seed), source.size), pool)
    search = source, start_seed + offset, number
    return _Batch(await draw(partial(_draw, *search)), search)


async def load_pool(pool: Pool, seed: int) -> tuple[Any, ...]:
    """The values of a pool: stored ones, or generated in a thread."""
    values = pool.load(seed)
    return await draw(partial(pool.load_or_draw, seed, _draw)) if values is None else values


def batches(examples: int) -> Iterator[tuple[int, int]]:
    """Offset and size of each batch."""
    for offset in range(0, examples, BATCH):
        yield offset, min(BATCH, examples - offset)


async def draw(search: Callable[[], T]) -> T:
    """Runs a search of hypothesis, which sends nothing, in a thread. It ends early where the run does."""
    is_cancelled = threading.Event()

    def search_with_lock() -> T:
        _SEARCH_CANCELLED.set(is_cancelled)
        with _HYPOTHESIS_LOCK:
            return search()

    try:
        return await asyncio.get_running_loop().run_in_executor(
            _DRAW_POOL, contextvars.copy_context().run, search_with_lock
        )
    except asyncio.CancelledError:
        is_cancelled.set()  # the reports need the processor, and the process waits for its threads
        raise


def _draw(strategy: Callable[[], SearchStrategy[Any]], start_seed: int, examples: int) -> list[Any]:
    """The examples that hypothesis tries while none fails; none where no value can be generated."""
    from hypothesis import given, seed
    from hypothesis.errors import Unsatisfiable

    search_strategy = strategy()
    cached = _DRAW_CACHE.setdefault(search_strategy, {})
    if (start_seed, examples) in cached:
        return list(cached[start_seed, examples])
    values: list[Any] = []
    cancelled = _SEARCH_CANCELLED.get()

    def example(value: Any) -> None:
        if cancelled is not None and cancelled.is_set():
            raise SearchCancelledError
        values.append(value)

    try:
        seed(start_seed)(hypothesis_settings(examples)(given(search_strategy)(example)))()
    except Unsatisfiable:
        pass
    if examples < BATCH:
        cached[start_seed, examples] = tuple(values[:examples])
    else:
        collect_cycles()
    return values[:examples]


async def send_batch(exploration: Exploration, values: list[Any], law: Law, show: Callable[[Any], str]) -> None:
    """Sends the values, several concurrently, until one violates. Raises other exceptions. Empties the list."""
    values.reverse()

    async def lane() -> None:
        while values and exploration.smallest is None:
            value = values.pop()
            text = show(value)
            name = hash(text)
            exploration.sent_count += 1
            exploration.outcomes[name] = None
            try:
                await law(value)
            except Violation as violation:
                exploration.outcomes[name] = violation
                exploration.keep(text, violation)

    lanes = [asyncio.ensure_future(lane()) for _ in range(min(_CONCURRENCY, len(values)))]
    try:
        await asyncio.gather(*lanes)
    finally:
        for task in lanes:
            task.cancel()


class _ExampleViolates(Exception):
    """An example violates the law: hypothesis treats errors raised at one place as one error."""


def _shrink(
    exploration: Exploration,
    strategy: Callable[[], SearchStrategy[Any]],
    start_seed: int,
    examples: int,
    law: Law,
    show: Callable[[Any], str],
) -> None:
    """The same search again, without sending the known examples."""
    from hypothesis import given, seed

    def example(value: Any) -> None:
        text = show(value)
        violation = exploration.outcomes.get(hash(text))
        if hash(text) not in exploration.outcomes and exploration.start_example():
            try:
                exploration.step(lambda: law(value), lambda: text)
            except Violation as error:
                violation = error
        if violation is not None:
            raise _ExampleViolates

    seed(start_seed)(hypothesis_settings(examples)(given(strategy())(example)))()


async def run_in_thread(exploration: Exploration, search: Callable[[], None]) -> None:
    """Runs a search to its end; errors of hypothesis about the answers are ignored."""
    context = contextvars.copy_context()
    try:
        await asyncio.get_running_loop().run_in_executor(_SEARCH_POOL, context.run, _run_search, exploration, search)
    finally:
        exploration.error = exploration.error or CancelledError()
    if not isinstance(exploration.error, CancelledError):
        raise exploration.error


def _run_search(exploration: Exploration, search: Callable[[], None]) -> None:
    with _HYPOTHESIS_LOCK:
        from hypothesis.errors import HypothesisException, Unsatisfiable

        try:
            search()
        except (Violation, _ExampleViolates, Unsatisfiable):  # Unsatisfiable: no value, so the check is untested
            pass
        except HypothesisException:
            if not exploration.sent_count:
                raise


async def conclude(
    case: Case, exploration: Exploration, final_check: Callable[[], Awaitable[Any]] | None = None
) -> None:
    """Raises the smallest violation, after the final check.

    A request answered 200 that should be refused needs no final check: it may have used up what the control needs.
    """
    case.note(f"{exploration.sent_count} generated, from seed {case.runtime.settings.seed}")
    decisive = exploration.smallest[1].answers[-1:] if exploration.smallest is not None else ()
    was_accepted = any(answer.ok for answer in decisive)
    if final_check is not None and exploration.sent_count and not was_accepted:
        await final_check()
    if exploration.smallest is not None:
        text, violation = exploration.smallest
        violation.message += f"; the smallest found: {case.runtime.settings.secrets.excerpt(text, _MAX_EXCERPT)}"
        raise violation
