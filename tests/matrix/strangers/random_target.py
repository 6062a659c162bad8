"""A target, and a test API, that answers at random: JSON of any make, none at all, any status, or nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_STATUSES: Final = (200,) * 14 + (400, 401, 403, 404, 409, 429, 409, 204, 201, 302, 500, 503, 418, 999)
_NAMES: Final = (
    "id",
    "code",
    "ticket",
    "slug",
    "version",
    "count",
    "items",
    "url",
    "accessToken",
    "tokenType",
    "é",
    "\ud800",
)
_LEAVES: Final = (
    "x", "\udc80", "http://127.0.0.1:9/x?y", "+00Ti3+p/w==", "a.b.c", "eyJhIjoxfQ.eyJhIjoxfQ.x", 0, 1, 2, -1, 1e308,
    10**400, 0.5, None, True, "", "\x00", "%zz", "{cart.id}", "ä" * 3000,
)  # fmt: skip
_RAW: Final = (b"", b"{", b"[" * 2000, b"\xff\xfe", b"NaN", b'{"data":', b"null", b'{"data":{}}x', b"\xef\xbb\xbf{}")
_HEADERS: Final = (
    "WWW-Authenticate: Bearer realm=\"x\"", "Retry-After: 0", "Retry-After: soon", "DPoP-Nonce: n1",
    "X-Token: abcdefghijkl", "Cache-Control: no-store", "X-Odd: \xe9\xff", "Set-Cookie: a=b",
)  # fmt: skip


class Answers:
    """One source of answers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def next(self) -> bytes:
        """The bytes of an answer; nothing where the connection is closed without one."""
        draw = self._random.random()
        if draw < 0.01:
            return b""
        body = self._random.choice(_RAW) if draw < 0.06 else json.dumps(self._object()).encode()
        status = self._random.choice(_STATUSES)
        media = self._random.choice(("application/json",) * 6 + ("text/html", "application/problem+json", ""))
        lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", f"Content-Type: {media}"]
        lines += [self._random.choice(_HEADERS) for _ in range(self._random.choice((0, 0, 1, 2)))]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body

    def _object(self) -> Any:
        """Often the envelope, with members of the names that a profile may look for."""
        if self._random.random() < 0.1:
            return self._value(0)
        data = self._value(0) if self._random.random() < 0.3 else self._members(0)
        return {**self._members(2), "data": data}

    def _members(self, depth: int) -> dict[str, Any]:
        return {name: self._value(depth + 1) for name in self._random.sample(_NAMES, 5)}

    def _value(self, depth: int) -> Any:
        draw = self._random.random()
        if depth < 3 and draw < 0.15:
            return self._members(depth)
        if depth < 3 and draw < 0.3:
            return [self._value(depth + 1) for _ in range(self._random.randint(0, 3))]
        return self._random.choice(_LEAVES)


@contextmanager
def answering(seed: int) -> Iterator[str]:
    """The URL of such a target, in a thread of its own."""
    ready, answers = threading.Event(), Answers(seed)
    told: list[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError, ValueError)
        with contextlib.suppress(*ends):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length or b"0"))
                answer = answers.next()
                writer.write(answer)
                await writer.drain()
                if not answer:
                    break
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=2**24)
        over = asyncio.Event()
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        told.append((url, asyncio.get_running_loop(), over))
        ready.set()
        await over.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait(10)
    url, loop, over = told[0]
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
