"""Bounds the memory of large answers: the target must not decide how much memory a run takes."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from typing import Final

from conformance.client.response import Answer
from conformance.core import strict_json as strictjson

MAX_BYTES: Final = 64 * 1024 * 1024
PATIENCE_S: Final = 2.0
_SMALL: Final = 64 * 1024
"""Smaller answers are not counted."""
_BYTES_PER_VALUE: Final = 100
"""Memory of one parsed value in bytes: an empty object takes 64, a member of one about as much again."""
_POLL_S: Final = 0.02


class MemoryBudget:
    """Counts large answers while they are referenced. Lives in one event loop."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._weights: dict[int, int] = {}
        """Entries are popped by the thread that drops an answer; one operation, so that no lock is needed."""

    async def admit(self, answer: Answer) -> bool:
        """Reserves memory for as long as the answer lives; waits for it if necessary. False where none was free in
        time."""
        weight = _weight(answer.body)
        if weight and not self._fits(weight):
            gc.collect(1)  # the traceback of a failed check keeps its answer alive in a young reference cycle
        until = time.monotonic() + PATIENCE_S
        while weight and not self._fits(weight):
            if time.monotonic() > until:
                return False
            await asyncio.sleep(_POLL_S)
        if weight:
            self._weights[id(answer)] = weight
            weakref.finalize(answer, self._weights.pop, id(answer), None).atexit = False
        return True

    def _fits(self, weight: int) -> bool:
        in_use = sum(tuple(self._weights.values()))
        return not in_use or in_use + weight <= self._max_bytes


def _weight(body: bytes) -> int:
    """An upper estimate: the body, its texts and its values. A text takes four bytes a character if one of its
    characters needs four."""
    if len(body) < _SMALL:
        return 0
    texts = len(body) * (1 if body.isascii() and b"\\u" not in body else 4)
    return len(body) + texts + _BYTES_PER_VALUE * min(strictjson.count_parts(body), strictjson.MAX_PARTS)
