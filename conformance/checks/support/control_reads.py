"""Controls of reads that another check sends anyway: a 200 to the same read, sent after a defect, proves it again."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Final

from conformance.client.request import Request
from conformance.client.response import Answer

if TYPE_CHECKING:
    from conformance.checks.support.case import Case

_WAIT_S: Final = 1.0
"""Seconds for which a control waits for the read of another check before it is sent."""
_LOOKS: Final = 20
"""In that time it looks as many times whether the run sends anything. At the end of a run nothing else is sent."""
_MOST_IDLE_LOOKS: Final = 2


class ControlReads:
    """The controls of reads that wait for the same read of another check."""

    def __init__(self) -> None:
        self._pending: dict[Hashable, dict[asyncio.Future[Answer], float]] = defaultdict(dict)
        """By what is read: those that wait, and since when in the seconds of the run."""

    def note(self, answer: Answer) -> None:
        """Ends the waiting of the controls that an answer proves."""
        if answer.ok and self._pending:
            for future, since_s in self._pending.get(_identity(answer.request), {}).items():
                if answer.at >= since_s and not future.done():
                    future.set_result(answer)

    async def wait(self, request: Request, since_s: float, is_idle: Callable[[], bool]) -> Answer | None:
        """The 200 to the same read, sent after these seconds of the run; None where there is none soon.

        `is_idle`: whether nothing is under way. It is not waited for long then.
        """
        future = asyncio.get_running_loop().create_future()
        identity = _identity(request)
        self._pending[identity][future] = since_s
        try:
            idle_looks = 0
            for _ in range(_LOOKS):
                await asyncio.wait([future], timeout=_WAIT_S / _LOOKS)
                idle_looks = idle_looks + 1 if is_idle() else 0
                if future.done() or idle_looks == _MOST_IDLE_LOOKS:
                    break
            return future.result() if future.done() else None
        finally:
            del self._pending[identity][future]
            if not self._pending[identity]:
                del self._pending[identity]


def _identity(request: Request) -> Hashable:
    """What two requests for the same read have in common: all that is sent."""
    wire = request.wire("")
    return wire.method, wire.target, wire.headers, wire.content, request.is_minimal


def idle_watch(case: Case) -> Callable[[], bool]:
    """Returns a function: whether the run has sent nothing since it was called before, or ends at its first failure.

    A run with a rate is never idle: there, a request that waits for its turn is dearer than a wait.
    """
    sender, seen = case.runtime.sender, -1

    def is_idle() -> bool:
        nonlocal seen
        before, seen = seen, sender.requests
        has_rate = case.profile.limits.rate or sender.adaptive_pacer.rate
        return case.runtime.settings.fail_fast or not (has_rate or sender.limiter.in_flight or seen != before)

    return is_idle


async def control_again(case: Case, control: Request) -> Answer:
    """The answer to a control with a new key; of a read, also that to another check's, sent from now on.

    A run that ends at its first failure does not wait for one. Raises what `Case.send` raises.
    """
    runtime = case.runtime
    if control.operation.is_read and not runtime.settings.fail_fast:
        answer = await runtime.control_reads.wait(control, runtime.sender.elapsed_s, idle_watch(case))
        if answer is not None:
            case.answers.append(answer.ref)
            return answer
    return await case.send(control.with_fresh_key(), "control again")
