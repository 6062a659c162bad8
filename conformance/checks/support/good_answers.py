"""Answers to good requests that several checks judge: each is sent once, by the check that needs it first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from conformance.checks.support.certainty import is_certain
from conformance.client.response import Answer
from conformance.contract import Operation

if TYPE_CHECKING:
    from conformance.checks.support.case import Case


class KnownAnswer:
    """The answer to one good request, such as a read with one credential: who calls does not change in a run."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._answer: Answer | None = None

    async def get(self, case: Case, operation: Operation, credential: str) -> Answer:
        """The answer of any status. Raises what `Case.send` raises, and the next check then sends the read again."""

        async def send() -> Answer:
            request = await case.arrange(operation, credential=credential, prove_control=False)
            return await case.send(request, f"the key {credential!r}")

        return await self.get_from(case, send)

    async def get_from(self, case: Case, send: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer that `send` of the first check returned. Raises what it raises, and the next check then sends."""
        async with self._turn:
            if self._answer is not None:
                case.answers.append(self._answer.ref)
                return self._answer
            answer = await send()
            if is_certain(case):
                self._answer = answer
            return answer
