"""Answers to good requests that several checks judge: each is sent once, by the check that needs it first."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from conformance.client.response import Answer
from conformance.contract import Operation

if TYPE_CHECKING:
    from conformance.checks.support.case import Case


class KnownAnswer:
    """The answer to a read with one credential, for what does not change during a run: who the caller is."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._answer: Answer | None = None

    async def get(self, case: Case, operation: Operation, credential: str) -> Answer:
        """The answer of any status. Raises what `Case.send` raises, and the next check then sends the read again."""
        async with self._turn:
            if self._answer is None:
                request = await case.arrange(operation, credential=credential, prove_control=False)
                self._answer = await case.send(request, f"the key {credential!r}")
            else:
                case.answers.append(self._answer.ref)
            return self._answer
