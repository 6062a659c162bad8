"""A call under an idempotency key that several checks share: each sends something else under that key, in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from conformance.client.request import Request
from conformance.client.response import Answer

if TYPE_CHECKING:
    from conformance.checks.support.case import Case

_MAX_USES: Final = 12


class FirstCall:
    """The last call of one operation whose key was used by nothing but conflicts."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._answer: Answer | None = None
        self._uses = 0

    async def repeat(
        self, case: Case, change: Callable[[Request], Awaitable[Request]], purpose: str
    ) -> tuple[Answer, Answer]:
        """The 200 of the call, and the answer to its changed request. Raises what `Case.control` raises."""
        async with self._turn:
            first = await self._known_answer(case)
            known = replace(first.request, arranged_at=None)  # its key, not the age of its code or ticket, is the point
            repeat = await case.send(await change(known), purpose)
            if repeat.status not in (400, 401, 403, 409):  # it may have changed what the key stands for
                self._answer = None
            return first, repeat

    async def _known_answer(self, case: Case) -> Answer:
        now_s = case.runtime.sender.elapsed_s
        if self._answer is None or self._uses >= _MAX_USES or now_s > self._answer.at + case.key_age_s:
            self._answer, self._uses = None, 0
            self._answer = await case.first_call()
        else:
            case.answers.append(self._answer.ref)
        self._uses += 1
        return self._answer
