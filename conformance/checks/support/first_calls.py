"""A call under an idempotency key that several checks share: each sends something else under that key, in turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from conformance.client.request import Request
from conformance.client.response import Answer

if TYPE_CHECKING:
    from conformance.checks.support.case import Case

_MAX_USES: Final = 12
_MAX_AGE_S: Final = 5.0
"""Seconds for which a key is used again at most, or a quarter of the stated retention: it must still be known."""


class FirstCall:
    """The last call of one operation whose key was used by nothing but conflicts."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._answer: Answer | None = None
        self._uses = 0
        self._began = 0.0

    async def repeat(
        self, case: Case, change: Callable[[Request], Awaitable[Request]], purpose: str
    ) -> tuple[Answer, Answer]:
        """The 200 of the call, and the answer to its changed request. Raises what `Case.control` raises."""
        async with self._turn:
            first = await self._known_answer(case)
            repeat = await case.send(await change(first.request), purpose)
            if repeat.status not in (400, 401, 403, 409):  # it may have changed what the key stands for
                self._answer = None
            return first, repeat

    async def _known_answer(self, case: Case) -> Answer:
        idempotency = case.profile.idempotency
        retention_s = idempotency.retention_s if idempotency and idempotency.retention_s is not None else None
        max_age_s = _MAX_AGE_S if retention_s is None else min(_MAX_AGE_S, retention_s / 4)
        if self._answer is None or self._uses >= _MAX_USES or time.monotonic() > self._began + max_age_s:
            self._began, self._uses = time.monotonic(), 0
            self._answer = await case.control(await case.arrange())
        else:
            case.answers.append(self._answer.ref)
        self._uses += 1
        return self._answer
