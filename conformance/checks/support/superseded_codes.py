"""Authorization codes that end when a newer one of their client is issued, which the interface leaves open (Scopes)."""

from __future__ import annotations

import asyncio
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.signals import OBSTACLES, Inconclusive, Violation
from conformance.client.send_errors import BudgetExhausted

_ATTEMPTS: Final = 3
"""Another check may have got a code in between, so that both are refused."""
_KNOWN: Final = "whether a newer code ends an older one"
_LOCK: Final = "the lock of that question"
"""Both in the memory of a run."""


async def examine_codes(case: Case, violation: Violation) -> Violation | Inconclusive:
    """Inconclusive instead of the refusal of a good exchange, where its code may have ended with a newer one.

    Checks run at the same time, and each gets codes of the same client.
    """
    is_refused = "oauth" in case.operation.words and violation.answers and not violation.answers[-1].ok
    if not is_refused or not await _end_with_newer(case):
        return violation
    message = "a code ends when a newer one of its client is issued: let the source make each for another user"
    return Inconclusive(f"{message}; {violation.message}", *violation.answers, cause="codes")


async def _end_with_newer(case: Case) -> bool:
    """Exchanges the older one of two codes, and the newer one if that is refused. Asked once in a run."""
    lock = case.runtime.memory.setdefault(_LOCK, asyncio.Lock())
    assert isinstance(lock, asyncio.Lock)
    async with lock:
        if _KNOWN not in case.runtime.memory:
            try:
                case.runtime.memory[_KNOWN] = await _ask(case)
            except (Inconclusive, *OBSTACLES, BudgetExhausted):  # that is not an answer to it
                case.runtime.memory[_KNOWN] = False
    return bool(case.runtime.memory[_KNOWN])


async def _ask(case: Case) -> bool:
    for _ in range(_ATTEMPTS):
        older, newer = [await case.runtime.arranger.arrange(case.operation) for _ in range(2)]
        if (await case.runtime.sender.send(older, "the older one of two codes")).ok:
            return False
        if (await case.runtime.sender.send(newer, "the newer one of two codes")).ok:
            return True
    return False
