"""HTTP/1.1 by hand, for targets that break it: what arrived, what the reference answers to it, and bytes back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

_ID = re.compile(r"(?<=/)[^/]*\d[^/]*(?=/|$)")


@dataclass(frozen=True)
class Arrived:
    """One request as it stood on the wire."""

    head: bytes
    body: bytes

    @property
    def raw(self) -> bytes:
        return self.head + self.body

    @property
    def shape(self) -> str:
        """Method and path, with ids left out: about what an operation is."""
        method, _, rest = self.head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
        return f"{method} {_ID.sub('#', rest.split(' ')[0].split('?')[0])}"

    def header(self, name: str) -> str:
        found = re.search(rf"(?im)^{name}:[ \t]*(.*?)\r?$", self.head.decode("latin-1"))
        return found.group(1) if found else ""


@dataclass(frozen=True)
class Answered:
    """A whole answer that goes out as it stands here; framing by Content-Length unless headers say otherwise."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    body: bytes = b'{"data":{}}'
    reason: str = "OK"

    def but(self, **changes: Any) -> Answered:
        return replace(self, **changes)

    def with_header(self, *more: tuple[str, str]) -> Answered:
        return replace(self, headers=(*self.headers, *more))

    def with_value(self, change: Callable[[Any], Any]) -> Answered:
        """The same with its JSON value changed; `change` may give bytes, which are taken as they are."""
        changed = change(json.loads(self.body or b"null"))
        return replace(self, body=changed if isinstance(changed, bytes) else json.dumps(changed).encode())

    def head(self, *framing: str) -> bytes:
        lines = [f"HTTP/1.1 {self.status} {self.reason}", *(f"{name}: {value}" for name, value in self.headers)]
        return "\r\n".join([*lines, *framing, "", ""]).encode("latin-1", "replace")

    @property
    def raw(self) -> bytes:
        return self.head(f"Content-Length: {len(self.body)}") + self.body


@dataclass
class Shared:
    """What all connections of one mode know of each other, and what the tests ask for afterwards."""

    upstream: tuple[str, int]
    elsewhere: str
    """A URL on another host, which nobody must ever ask for anything."""
    counts: Counter[str] = field(default_factory=Counter)
    idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = field(default_factory=list)


class Talk:
    """One connection, seen from the target's side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, shared: Shared) -> None:
        self._reader, self._writer, self.shared = reader, writer, shared
        self.answers = 0

    async def request(self) -> Arrived | None:
        """The next request, whole; None where the other side is gone."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
            if Arrived(head, b"").header("Transfer-Encoding"):
                body = await self._chunks()
            else:
                body = await self._reader.readexactly(int(Arrived(head, b"").header("Content-Length") or 0))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
            return None
        arrived = Arrived(head, body)
        self.shared.counts["requests"] += 1
        replaces_key = b"/open/" in head.partition(b"\r\n")[0] and not arrived.header(
            "Authorization"
        )  # AUTH-2 asks that
        self.shared.counts["cookies"] += "session=1" in arrived.header("Cookie") and not replaces_key
        return arrived

    async def _chunks(self) -> bytes:
        """A body in chunks, as it was sent (RFC 9112, section 7.1)."""
        body, size = b"", 1
        while size:
            line = await self._reader.readline()
            size = int(line.partition(b";")[0], 16)
            body += line + await self._reader.readexactly(size + 2)
        return body

    async def part(self) -> None:
        """A few bytes of a request, the rest of which is never read."""
        await self._reader.read(10)

    async def write(self, raw: bytes) -> None:
        self._writer.write(raw)
        await self._writer.drain()

    async def trickle(self, raw: bytes, pause_s: float = 1.0) -> None:
        """A byte at a time."""
        for byte in raw:
            await self.write(bytes([byte]))
            await asyncio.sleep(pause_s)

    async def flood(self, piece: bytes, most: int = 1 << 40) -> None:
        """So many bytes, as fast as they are taken."""
        while most > 0:
            await self.write(piece[:most])
            most -= len(piece)

    def reset(self) -> None:
        """The other side gets a RST, whatever it was doing."""
        bare: socket.socket = self._writer.get_extra_info("socket")
        with contextlib.suppress(OSError):
            bare.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def reference(self, arrived: Arrived) -> Answered:
        """What the reference answers to the very bytes that arrived."""
        for _ in range(2):  # a kept connection may have been closed meanwhile
            kept = bool(self.shared.idle)
            reader, writer = (
                self.shared.idle.pop() if kept else await asyncio.open_connection(*self.shared.upstream, limit=2**24)
            )
            try:
                writer.write(arrived.raw)
                answered, stays = await _answer(reader)
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.transport.abort()
                if not kept:
                    break
                continue
            if stays:
                self.shared.idle.append((reader, writer))
            else:
                writer.transport.abort()
            return answered
        return Answered(502, body=b'{"error":"the reference is gone"}', reason="Bad Gateway")


async def _answer(reader: asyncio.StreamReader) -> tuple[Answered, bool]:
    first = "HTTP/1.1 100"
    while first[9:11] == "10":  # an interim answer: another one follows
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
    pairs = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    known = {name.lower(): value for name, value in pairs}
    if known.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    else:
        body = await reader.readexactly(int(known.get("content-length", "0")))
    _, status, reason = f"{first} ".split(" ", 2)
    framing = ("content-length", "transfer-encoding", "connection")
    shown = tuple(pair for pair in pairs if pair[0].lower() not in framing)
    return Answered(int(status), shown, body, reason.strip() or "X"), known.get("connection", "").lower() != "close"


async def body(talk: Talk, answered: Answered, content: bytes, *headers: tuple[str, str]) -> None:
    await talk.write(answered.but(body=content).with_header(*headers).raw)
