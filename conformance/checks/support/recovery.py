"""Waiting for limited operations to recover, concurrently where possible.

They are polled together while that finds another recovered one, now or soon. Those that remain are then polled one by
one, with nothing else sent, so that polling does not keep the limit in force. Once the first of them has recovered, the
others are polled together again: most limits end at about the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from conformance.client.pauses import growing_pauses_s

T = TypeVar("T")

_POLL_S = 3.0
_UNSTATED_RECOVERY_S = 2.0
_FINAL_POLLS = 3
_PAUSES_TOGETHER_S = (0.1, 0.2)
"""The pauses after polling all of them together has found none that recovered, before they are polled one by one."""


@dataclass(frozen=True)
class Wait:
    """The wait for a limited operation: polling at growing intervals, then `silence_s` without requests.

    `early_silences_s`: silences before that one, each followed by a poll.
    """

    poll_s: float
    silence_s: float
    early_silences_s: tuple[float, ...] = ()


def wait_for(bound_s: float | None, longest_s: float) -> Wait:
    """The declared bound passes once completely without requests, unless it exceeds the longest wait.

    Without a bound the longest wait passes, in growing silences.
    """
    if bound_s is None:
        *early_silences_s, silence_s = growing_pauses_s(_UNSTATED_RECOVERY_S, longest_s)
        return Wait(_UNSTATED_RECOVERY_S, silence_s, tuple(early_silences_s))
    return Wait(min(bound_s, _POLL_S), min(bound_s, longest_s))


async def settle(
    items: Sequence[T], ask: Callable[[T], Awaitable[None]], is_limited: Callable[[T], bool], wait: Wait
) -> None:
    """Polls until none is limited, or one stayed limited after its wait: the others waited as long, and are polled
    immediately."""
    pending = await _poll_together(items, ask, is_limited, _PAUSES_TOGETHER_S)
    is_patient, is_first = True, True
    while pending:
        item = pending.pop(0)
        for pause in _pauses(wait) if is_patient else (0.05,) * _FINAL_POLLS:
            await asyncio.sleep(pause)
            await ask(item)
            if not is_limited(item):
                break
        is_patient = is_patient and not is_limited(item)
        if is_patient and is_first:
            pending = await _poll_together(pending, ask, is_limited, ())
        is_first = False


async def _poll_together(
    items: Sequence[T], ask: Callable[[T], Awaitable[None]], is_limited: Callable[[T], bool], pauses: Sequence[float]
) -> list[T]:
    """Those still limited when a poll has found no further one that recovered, after each of the pauses too."""
    pending, pauses_left = list(items), list(pauses)
    while pending:
        previous_count = len(pending)
        await asyncio.gather(*(ask(item) for item in pending))
        pending = [item for item in pending if is_limited(item)]
        if pending and len(pending) == previous_count:
            if not pauses_left:
                break
            await asyncio.sleep(pauses_left.pop(0))
    return pending


def _pauses(wait: Wait) -> Iterator[float]:
    """The pauses before each poll. Several at the end, since one answer may be limited by chance or come late."""
    elapsed_s, pause = 0.0, 0.05
    while elapsed_s < wait.poll_s:
        yield pause
        elapsed_s, pause = elapsed_s + pause, min(pause * 1.5, 1.0)
    yield from wait.early_silences_s
    if wait.silence_s:
        yield wait.silence_s
    yield from (0.05,) * _FINAL_POLLS
