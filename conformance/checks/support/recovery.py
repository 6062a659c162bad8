"""Waiting for limited operations to answer again, all of them together as far as that goes.

They are asked together as long as that finds another one limited no more. One that still is then is asked by itself,
with nothing else sent meanwhile, so that asking does not keep the limit up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

_POLLED_S = 3.0
_LAST_ASKED = 3


@dataclass(frozen=True)
class Wait:
    """How long a limited operation is waited for: asked ever less often, and then left alone for `silence_s`."""

    polled_s: float
    silence_s: float


def wait_for(bound_s: float, longest_s: float) -> Wait:
    """A declared bound passes once entirely with nothing sent, unless that is longer than anybody waits."""
    return Wait(min(bound_s, _POLLED_S), min(bound_s, longest_s))


async def settle(
    some: Sequence[T], ask: Callable[[T], Awaitable[None]], is_limited: Callable[[T], bool], wait: Wait
) -> None:
    """Asks until none is limited, or one was left alone in vain: the others had that time as well, and are asked at
    once."""
    left, before = list(some), len(some) + 1
    while 0 < len(left) < before:
        before = len(left)
        await asyncio.gather(*(ask(one) for one in left))
        left = [one for one in left if is_limited(one)]
    patient = True
    for one in left:
        for pause in _pauses(wait) if patient else (0.05,) * _LAST_ASKED:
            await asyncio.sleep(pause)
            await ask(one)
            if not is_limited(one):
                break
        patient = patient and not is_limited(one)


def _pauses(wait: Wait) -> Iterator[float]:
    """The pauses before each question. One answer may be limited by chance, and a slow one may have been late."""
    passed, pause = 0.0, 0.05
    while passed < wait.polled_s:
        yield pause
        passed, pause = passed + pause, min(pause * 1.5, 1.0)
    if wait.silence_s:
        yield wait.silence_s
    yield from (0.05,) * _LAST_ASKED
