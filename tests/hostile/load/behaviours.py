"""How a target behaves under load, each as a behaviour of a proxy before the reference service."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from itertools import count

from tests.support.proxy import Behaviour, Forward, Message

_LIMITED = {"error": {"code": "rate_limited", "message": "too many requests"}, "requestId": "req_load"}


_numbers = count(1)


def limited(*headers: tuple[str, str]) -> Message:
    """A 429 with the header that the reference's profile names for every answer (ANS-1)."""
    named = ("X-Request-Id", f"req_load_{next(_numbers)}")
    return Message.of(429, _LIMITED, named, *headers, reason="Too Many Requests")


def slow(seconds: float) -> Behaviour:
    """Every answer takes so long."""

    async def behave(asked: Message, forward: Forward, _: int) -> Message | None:
        await asyncio.sleep(seconds)
        return await forward(asked)

    return behave


def by_chance(share: float, *headers: tuple[str, str], seed: int = 1) -> Behaviour:
    """So many of all requests are answered 429, whatever they are."""
    dice = random.Random(seed)

    async def behave(asked: Message, forward: Forward, _: int) -> Message | None:
        return limited(*headers) if dice.random() < share else await forward(asked)

    return behave


def at_most(most: int, seconds: float = 1.0, *, refused_too: bool = False) -> Behaviour:
    """So many requests in any such time, from whomever; the others are answered 429, without Retry-After.

    `refused_too`: those count as well, so that asking keeps the limit up.
    """
    counted: deque[float] = deque()

    async def behave(asked: Message, forward: Forward, _: int) -> Message | None:
        now = time.monotonic()
        while counted and now - counted[0] >= seconds:
            counted.popleft()
        full = len(counted) >= most
        if refused_too or not full:
            counted.append(now)
        return limited() if full else await forward(asked)

    return behave


def dropping(*, after_the_effect: bool) -> Behaviour:
    """Every other connection is dropped: before its request was looked at, or when it was carried out.

    The others serve one request each, so that every request meets it.
    """

    async def behave(asked: Message, forward: Forward, connection: int) -> Message | None:
        if connection % 2:
            return (await forward(asked)).with_headers(("Connection", "close"))
        if after_the_effect:
            await forward(asked)
        return None

    return behave


def never_again(after: int, *headers: tuple[str, str]) -> Behaviour:
    """From some request on everything is answered 429."""
    seen = count(1)

    async def behave(asked: Message, forward: Forward, _: int) -> Message | None:
        return limited(*headers) if next(seen) > after else await forward(asked)

    return behave
