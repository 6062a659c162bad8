"""Generated inputs: hypothesis draws them in a thread of its own, and the target answers them in the engine's loop.

Bounded in number, drawn from the run's seed, and shrunk: of the inputs that violate, the smallest is told.
"""

from __future__ import annotations

import asyncio
import contextvars
import zlib
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from conformance.checks.case import Case
from conformance.checks.signals import Violated
from conformance.client.recorder import current_check

if TYPE_CHECKING:
    from hypothesis import settings
    from hypothesis.strategies import SearchStrategy

Law = Callable[[Any], Coroutine[Any, Any, None]]
"""Sends what a value says and raises Violated where the answer is wrong."""
_SHRINKING: Final = 25
"""So many examples more may be sent to find a smaller one that violates."""
_SHOWN: Final = 160
_THREADS: Final = ThreadPoolExecutor(8, "explore")
"""Not the loop's own, which resolves names while these wait for answers; kept, since hypothesis takes its time to get
used to a new one."""


class Exploration:
    """What one search has sent and found. `example` is called by hypothesis, in its thread."""

    def __init__(self, law: Law, loop: asyncio.AbstractEventLoop, most: int, show: Callable[[Any], str]) -> None:
        self.sent = 0
        self.ended: BaseException | None = None
        self.smallest: tuple[str, Violated] | None = None
        self._law, self._loop, self._most, self._show = law, loop, most, show

    def example(self, value: Any) -> None:
        """Raises Violated; what else the law raises ends the search, and is kept."""
        allowed = self._most + (_SHRINKING if self.smallest else 0)
        if self.ended is not None or self.sent >= allowed:
            return
        self.sent += 1
        try:
            self.call(self._law(value))
        except Violated as violated:
            self.keep(self._show(value), violated)
            raise
        except BaseException as error:  # noqa: BLE001 - carried to the check, which runs in another thread
            self.ended = error

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of a coroutine that runs in the engine's loop."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except RuntimeError:
            work.close()  # the loop is gone: it never began
            raise

    def keep(self, shown: str, violated: Violated) -> None:
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
) -> None:
    """Sends `examples` generated values; raises Violated with the smallest of those that violate the law.

    `after` is what must hold at the end for anything to be said: the control, proven again.
    """
    found = Exploration(law, asyncio.get_running_loop(), examples, show)

    def search() -> None:
        from hypothesis import given, seed

        seed(seed_of(case))(bounded(examples)(given(strategy())(found.example)))()

    await in_thread(found, search)
    await conclude(case, found, after)


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
    from hypothesis.errors import Flaky, HypothesisException

    try:
        search()
    except Violated:
        pass
    except (HypothesisException, Flaky):
        if not found.sent:
            raise


async def conclude(case: Case, found: Exploration, after: Callable[[], Awaitable[Any]] | None = None) -> None:
    """Raises the smallest violation, once what must hold at the end was seen to."""
    case.note(f"{found.sent} generated, from seed {case.runtime.settings.seed}")
    if after is not None and found.sent:
        await after()
    if found.smallest is not None:
        shown, violated = found.smallest
        violated.message += f"; the smallest found: {shown[:_SHOWN]}"
        raise violated
