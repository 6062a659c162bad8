"""Negatives that share a control: each sends one defect of the same good request, in turn.

One control after the last of them proves that the request was good throughout: what is refused for another reason than
its defect would refuse the control too. Where that control fails, each of them is sent again with a control of its own,
so that one defect is found in one place.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from conformance.checks.support.signals import Inapplicable, Violation
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer

_LOOK_S: Final = 0.025
_LOOKS: Final = 16
"""Seconds, and times, for which a control waits for the next negative of its operation, which it then proves too."""
_MAX_REFUSALS: Final = 20
_MAX_REFUSALS_OF_SECRETS: Final = 12
"""Refusals of one request at most: a target may lock what is misused often, sooner a code or a ticket than a cart."""
_LONGEST_ROUND_OF_SECRETS_S: Final = 1.5
"""Seconds after which a code or a ticket is proven: it may expire soon."""


@dataclass(slots=True)
class _Round:
    """The negatives between two controls. `proof` is None where they are not proven together."""

    request: Request
    proof: asyncio.Future[Answer | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    refusals: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def is_full(self) -> bool:
        if self.request.operation.auth == "api_key":
            return self.refusals >= _MAX_REFUSALS
        is_old = time.monotonic() - self.began > _LONGEST_ROUND_OF_SECRETS_S
        return is_old or self.refusals >= _MAX_REFUSALS_OF_SECRETS

    @property
    def is_proven(self) -> bool:
        proof = self.proof.result() if self.proof.done() else None
        return proof is not None and proof.ok

    def close(self, proof: Answer | None) -> None:
        if not self.proof.done():
            self.proof.set_result(proof)


class SharedControl:
    """The control that negatives of one operation share."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._queue_length = 0
        self._arrival = asyncio.Event()
        self._round: _Round | None = None

    async def negative(
        self,
        arrange: Callable[[], Awaitable[Request]],
        refuse: Callable[[Request], Awaitable[Answer]],
        prove: Callable[[Request], Awaitable[Answer]],
        is_idle: Callable[[], bool] = lambda: True,
    ) -> tuple[Answer, Answer | None]:
        """The refusal, and the 200 of the control that was sent after it; None where there is none.

        `arrange` provides the good request, `refuse` sends a defect of it, and `prove` the request itself. Raises what
        they raise, but a violation only where the control after it is answered 200. `is_idle`: whether the run sends
        nothing, so that no other negative is to be expected.
        """
        await self._begin_turn()
        try:
            current = self._round = self._round or _Round(await arrange())
            answer = await self._refusal(current, refuse, prove)
            current.refusals += 1
            await self._wait_for_another(current, is_idle)
            if not current.proof.done() and (not self._queue_length or current.is_full):
                await self._prove(current, prove)
        finally:
            self._turn.release()
        return answer, await asyncio.shield(current.proof)

    async def _wait_for_another(self, current: _Round, is_idle: Callable[[], bool]) -> None:
        """Returns when another negative waits for its turn, or after a moment."""
        for _ in range(_LOOKS):
            if self._queue_length or current.proof.done() or current.is_full:
                return
            self._arrival.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._arrival.wait(), _LOOK_S)
            if is_idle():
                return

    async def _begin_turn(self) -> None:
        self._queue_length += 1
        self._arrival.set()
        try:
            await self._turn.acquire()
        except asyncio.CancelledError:
            self._abandon()
            raise
        finally:
            self._queue_length -= 1

    async def _refusal(
        self,
        current: _Round,
        refuse: Callable[[Request], Awaitable[Answer]],
        prove: Callable[[Request], Awaitable[Answer]],
    ) -> Answer:
        try:
            return await refuse(current.request)
        except (Inapplicable, MissingFact):  # nothing was sent
            if current.refusals and not self._queue_length:
                await self._prove(current, prove)
            raise
        except Violation as violation:
            answer = violation.answers[-1]
            if answer.ok:  # it took effect, perhaps
                self._abandon()
                raise
            await self._prove(current, prove)
            if current.is_proven:
                raise
            return answer
        except BaseException:
            self._abandon()
            raise

    async def _prove(self, current: _Round, prove: Callable[[Request], Awaitable[Answer]]) -> None:
        """Ends the round with its control. Raises what `prove` raises; the others are then sent again."""
        try:
            current.close(await prove(current.request))
        finally:
            self._abandon()

    def _abandon(self) -> None:
        """Ends the round, without a proof unless it has one: the next negative arranges another request."""
        if self._round is not None:
            self._round.close(None)
        self._round = None
