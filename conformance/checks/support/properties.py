"""Generated inputs: hypothesis draws them in a thread, and the target answers them in the engine's loop.

Bounded in number, drawn from the run's seed, and shrunk: of the inputs that violate, the smallest is told. A batch of
them is drawn before any is sent, so that a few can be on their way at once; to shrink, each waits for the answer to the
last.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Violated
from conformance.client.recorder import current_check
from conformance.core.gc_tuning import forget_circles

if TYPE_CHECKING:
    from hypothesis import settings
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
Law = Callable[[Any], Coroutine[Any, Any, None]]
"""Sends what a value says and raises Violated where the answer is wrong."""
_SHRINKING: Final = 25
_SHRINKING_S: Final = 3.0
"""So many examples more may be sent, for so long, to find a smaller one that violates."""
_SHOWN: Final = 160
_AT_ONCE: Final = 4
"""So many examples of one property are on their way together."""
_DRAWER: Final = ThreadPoolExecutor(1, "draw")
_THREADS: Final = ThreadPoolExecutor(8, "explore")
"""Not the loop's own, which resolves names while these wait for answers; kept, since hypothesis takes its time to get
used to a new one."""
BATCH: Final = 25
"""So many examples are drawn, and then sent, at a time: what hypothesis knows of a search grows with it, and so do the
values that wait. Of a property that is tried on fewer they are kept; more would take more room than it takes time to
draw them again."""
_DRAWN: Final[WeakKeyDictionary[SearchStrategy[Any], dict[tuple[int, int], tuple[Any, ...]]]] = WeakKeyDictionary()
"""By strategy, seed and number: what was drawn, as long as the strategy lives. Where many targets are judged with one
seed, those that outlive a run (`strategies`) need not be drawn for each of them. No law changes what it is given."""
_DRAWING: Final = threading.Lock()
"""Held but for the time that an answer takes: hypothesis sets the recursion limit, which CPython's parser, that it
calls too, does not bear in another thread (SystemError in 3.11). It is imported under this lock only, too: of two
threads that begin to import it, one may see a module of it half made."""


class Exploration:
    """What one search has sent and found. hypothesis calls its methods, in a thread of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, most: int) -> None:
        self.sent = 0
        self.violations = 0
        self.ended: BaseException | None = None
        self.smallest: tuple[str, Violated] | None = None
        self.known: dict[int, Violated | None] = {}
        """What became of the examples that were sent before any was shrunk, by the hash of how they are shown."""
        self.most = most
        self._loop = loop
        self._found_at = 0.0

    def begun(self) -> bool:
        """Counts one example; whether it may be sent."""
        if self.ended is not None or self.sent >= self.most + (_SHRINKING if self.smallest else 0):
            return False
        if self.smallest and time.monotonic() > self._found_at + _SHRINKING_S:
            return False
        self.sent += 1
        return True

    def shrink_from_now(self) -> None:
        """Until now there was no time to look for a smaller one."""
        self._found_at = time.monotonic()

    def step(self, work: Callable[[], Coroutine[Any, Any, None]], shown: Callable[[], str]) -> None:
        """Sends what an example asks for. Raises Violated; what else goes wrong ends the search, and is kept."""
        if self.ended is not None:
            return
        coroutine = work()
        _DRAWING.release()
        try:
            asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()
        except Violated as violated:
            self.keep(shown(), violated)
            raise
        except BaseException as error:  # noqa: BLE001 - carried to the check, which runs in another thread
            coroutine.close()  # where the loop is gone it never began
            self.ended = error
        finally:
            _DRAWING.acquire()

    def keep(self, shown: str, violated: Violated) -> None:
        """Counts a violation, and remembers the smallest."""
        self.violations += 1
        if self.smallest is None:
            self._found_at = time.monotonic()
        if self.smallest is None or (len(shown), shown) < (len(self.smallest[0]), self.smallest[0]):
            self.smallest = shown, violated


def seed_of(case: Case) -> int:
    """The seed of a check's examples: of the run's seed and the check's own name, so that one can be run alone."""
    return zlib.crc32(f"{case.runtime.settings.seed}:{current_check.get()}".encode())


def bounded(examples: int, **more: Any) -> settings:
    """hypothesis settings that keep no database and have no clock of their own."""
    from hypothesis import HealthCheck, Phase, Verbosity, settings

    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        **more,
    )


async def explore(
    case: Case,
    strategy: Callable[[], SearchStrategy[Any]],
    law: Law,
    *,
    examples: int,
    show: Callable[[Any], str] = repr,
    after: Callable[[], Awaitable[Any]] | None = None,
    needs: str = "",
) -> None:
    """Sends `examples` generated values; raises Violated with the smallest of those that violate the law.

    `after` is what must hold at the end for anything to be said: the control, proven again. `needs` says what is
    missing where there are no values at all.
    """
    examples = max(1, examples)  # a share of few is one
    found = Exploration(asyncio.get_running_loop(), examples)
    seeded = seed_of(case)
    for begun, number in batches(examples):
        search = strategy, seeded + begun, number
        values = await draw(partial(_drawn, *search))
        case.further(begun or values or not needs, needs)
        exhausted = len(values) < number
        found.known.clear()
        await spread(found, values, law, show)
        if found.smallest is not None:
            await in_thread(found, partial(_shrink, found, *search, law, show))
        if found.smallest is not None or exhausted:
            break
    await conclude(case, found, after)


def batches(examples: int) -> Iterator[tuple[int, int]]:
    """How many there are before each batch, and how many are in it."""
    for begun in range(0, examples, BATCH):
        yield begun, min(BATCH, examples - begun)


async def draw(search: Callable[[], T]) -> T:
    """Runs a search of hypothesis, which sends nothing, in a thread."""

    def locked() -> T:
        with _DRAWING:
            return search()

    return await asyncio.get_running_loop().run_in_executor(_DRAWER, contextvars.copy_context().run, locked)


def _drawn(strategy: Callable[[], SearchStrategy[Any]], seeded: int, examples: int) -> list[Any]:
    """The examples that hypothesis tries as long as all goes well; none where nothing can be drawn."""
    from hypothesis import given, seed
    from hypothesis.errors import Unsatisfiable

    made = strategy()
    known = _DRAWN.setdefault(made, {})
    if (seeded, examples) in known:
        return list(known[seeded, examples])
    values: list[Any] = []

    def example(value: Any) -> None:
        values.append(value)

    try:
        seed(seeded)(bounded(examples)(given(made)(example)))()
    except Unsatisfiable:
        pass
    if examples < BATCH:
        known[seeded, examples] = tuple(values[:examples])
    else:
        forget_circles()
    return values[:examples]


async def spread(found: Exploration, values: list[Any], law: Law, show: Callable[[Any], str]) -> None:
    """Sends what was drawn, a few at once, until one violates. Raises what else goes wrong. Takes them off the list."""
    values.reverse()

    async def lane() -> None:
        while values and found.smallest is None:
            value = values.pop()
            shown = show(value)
            name = hash(shown)
            found.sent += 1
            found.known[name] = None
            try:
                await law(value)
            except Violated as violated:
                found.known[name] = violated
                found.keep(shown, violated)

    lanes = [asyncio.ensure_future(lane()) for _ in range(min(_AT_ONCE, len(values)))]
    try:
        await asyncio.gather(*lanes)
    finally:
        for one in lanes:
            one.cancel()


class _Caught(Exception):
    """An example violates: hypothesis takes errors from one place for one error, wherever they came about."""


def _shrink(
    found: Exploration,
    strategy: Callable[[], SearchStrategy[Any]],
    seeded: int,
    examples: int,
    law: Law,
    show: Callable[[Any], str],
) -> None:
    """The same search again, whose first examples need not be sent any more."""
    from hypothesis import given, seed

    def example(value: Any) -> None:
        shown = show(value)
        violated = found.known.get(hash(shown))
        if hash(shown) not in found.known and found.begun():
            try:
                found.step(lambda: law(value), lambda: shown)
            except Violated as seen:
                violated = seen
        if violated is not None:
            raise _Caught

    seed(seeded)(bounded(examples)(given(strategy())(example)))()


async def in_thread(found: Exploration, search: Callable[[], None]) -> None:
    """Runs a search to its end; hypothesis' own complaints about what it was answered are none of ours."""
    context = contextvars.copy_context()
    try:
        await asyncio.get_running_loop().run_in_executor(_THREADS, context.run, _quietly, found, search)
    finally:
        found.ended = found.ended or CancelledError()
    if not isinstance(found.ended, CancelledError):
        raise found.ended


def _quietly(found: Exploration, search: Callable[[], None]) -> None:
    with _DRAWING:
        from hypothesis.errors import HypothesisException, Unsatisfiable

        try:
            search()
        except (Violated, _Caught, Unsatisfiable):  # the last: nothing could be drawn, which is untested
            pass
        except HypothesisException:
            if not found.sent:
                raise


async def conclude(case: Case, found: Exploration, after: Callable[[], Awaitable[Any]] | None = None) -> None:
    """Raises the smallest violation, once what must hold at the end was seen to.

    What was answered 200 and ought not to be has no need of that: it may have used up what the control rests on.
    """
    case.note(f"{found.sent} generated, from seed {case.runtime.settings.seed}")
    decisive = found.smallest[1].answers[-1:] if found.smallest is not None else ()
    served = any(answer.ok for answer in decisive)
    if after is not None and found.sent and not served:
        await after()
    if found.smallest is not None:
        shown, violated = found.smallest
        violated.message += f"; the smallest found: {case.runtime.settings.secrets.excerpt(shown, _SHOWN)}"
        raise violated
