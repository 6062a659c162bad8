"""How much of large answers is held at once: what a target sends must not decide how much memory a run takes."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from typing import Final

from conformance.client.response import Answer
from conformance.core import strict_json as strictjson

MOST: Final = 64 * 1024 * 1024
PATIENCE_S: Final = 2.0
_SMALL: Final = 64 * 1024
"""A smaller answer takes no room worth counting."""
_EACH_VALUE: Final = 100
"""Bytes that a value takes once it is parsed: an empty object 64, a member of one about as much again."""
_LOOK_EVERY_S: Final = 0.02


class Room:
    """Counts large answers for as long as anybody holds them. Lives in one event loop."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._held: dict[int, int] = {}
        """Popped by whichever thread drops an answer; one operation, so that no lock is needed."""

    async def admit(self, answer: Answer) -> bool:
        """Waits for room, and takes it for as long as the answer lives. False where there was none in time."""
        weight = _weight(answer.body)
        if weight and not self._fits(weight):
            gc.collect(1)  # an answer in the traceback of a check that failed is held by a circle, and a young one
        until = time.monotonic() + PATIENCE_S
        while weight and not self._fits(weight):
            if time.monotonic() > until:
                return False
            await asyncio.sleep(_LOOK_EVERY_S)
        if weight:
            self._held[id(answer)] = weight
            weakref.finalize(answer, self._held.pop, id(answer), None).atexit = False
        return True

    def _fits(self, weight: int) -> bool:
        held = sum(tuple(self._held.values()))
        return not held or held + weight <= self._most


def _weight(body: bytes) -> int:
    """An estimate, rather too high: the body, its texts, and its values. A text takes four bytes for each character
    where one of them needs them."""
    if len(body) < _SMALL:
        return 0
    texts = len(body) * (1 if body.isascii() and b"\\u" not in body else 4)
    return len(body) + texts + _EACH_VALUE * min(strictjson.parts(body), strictjson.MAX_PARTS)
