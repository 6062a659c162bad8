"""A proxy that passes HTTP/1.1 on byte by byte, in a thread of its own, and does to it what a test asks for."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from conformance.runner.observe.stream_server import StreamServer
from tests.support.values import replace

TIMEOUT_S = 30


@dataclass(frozen=True)
class Message:
    """A request or an answer: its first line, its headers and its body, each as they stood on the wire."""

    first: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @classmethod
    def of(cls, status: int, value: Any, *headers: tuple[str, str], reason: str = "Said") -> Message:
        """A well-formed answer with a JSON body."""
        told = (("Content-Type", "application/json"), *headers)
        pairs = tuple((name.encode("latin-1"), text.encode("latin-1")) for name, text in told)
        first = f"HTTP/1.1 {status} {reason}".encode("latin-1")
        return cls(first, pairs, json.dumps(value).encode())

    def all(self, name: str) -> list[str]:
        wanted = name.lower().encode()
        return [value.decode("latin-1") for known, value in self.headers if known.lower() == wanted]

    @property
    def method(self) -> str:
        return self.first.split(b" ")[0].decode("latin-1")

    @property
    def target(self) -> str:
        return self.first.split(b" ")[1].decode("latin-1")

    @property
    def status(self) -> int:
        return int(self.first.split(b" ")[1])

    @property
    def json(self) -> Any:
        """The body's value, or None where it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def with_headers(self, *headers: tuple[str, str]) -> Message:
        pairs = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers)
        return replace(self, headers=(*self.headers, *pairs))

    def written(self) -> bytes:
        """With a Content-Length of its own, in place of the framing that it came with."""
        kept = [pair for pair in self.headers if pair[0].lower() not in (b"content-length", b"transfer-encoding")]
        framed = self.body or self.first.startswith(b"HTTP/") or len(kept) < len(self.headers)
        kept += [(b"Content-Length", str(len(self.body)).encode())] if framed else []
        return b"\r\n".join([self.first, *(b": ".join(pair) for pair in kept), b"", self.body])


Forward = Callable[[Message], Awaitable[Message]]
Behaviour = Callable[[Message, Forward, int], Awaitable[Message | None]]
"""Gets the request, a way to the service behind, and the connection's number. None drops the connection."""


async def through(asked: Message, forward: Forward, _: int) -> Message | None:
    """Changes nothing."""
    return await forward(asked)


async def read(reader: asyncio.StreamReader, *, answer_to: str = "") -> Message:
    """One message. `answer_to` is the method of the request that it answers."""
    first = b"HTTP/1.1 100"
    while first.startswith(b"HTTP/1.1 10"):  # an interim answer: another one follows
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")[:-2]
    headers = tuple((name, value.strip()) for name, _, value in (line.partition(b":") for line in lines))
    told = {name.lower(): value for name, value in headers}
    if told.get(b"transfer-encoding", b"").lower() == b"chunked":
        body = b""
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readuntil(b"\r\n")
        return Message(first, headers, body)
    return Message(first, headers, await reader.readexactly(int(told.get(b"content-length", 0))))


@dataclass
class Proxy:
    """`with Proxy(url, behaviour) as proxy:`; `proxy.url` is its own address, with the path of the other's."""

    upstream: str
    behaviour: Behaviour = through
    keep_s: float | None = None
    """Seconds after the first answer at which a connection is closed without notice; None: it is kept."""
    url: str = ""
    requests: int = 0
    connections: int = 0
    dropped: int = 0
    statuses: dict[int, int] = field(default_factory=dict)
    in_flight: int = 0
    most_in_flight: int = 0

    def __enter__(self) -> Proxy:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(TIMEOUT_S)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(TIMEOUT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(TIMEOUT_S)
        self._loop.close()

    async def _start(self) -> None:
        self._server = StreamServer(self._accept, 2**24)
        await self._server.start("127.0.0.1", 0)
        parts = urlsplit(self.upstream)
        self._behind = (parts.hostname, parts.port)
        self.url = f"http://127.0.0.1:{self._server.port}{parts.path}"

    async def _stop(self) -> None:
        await self._server.close()
        await self._server.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        behind: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        try:
            await self._serve(reader, writer, behind, self.connections)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError, ValueError):
            pass  # whoever asked has gone, or speaks no HTTP
        finally:
            writer.transport.abort()
            for _, upstream in behind:
                upstream.transport.abort()

    async def _serve(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        behind: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]],
        number: int,
    ) -> None:
        async def forward(asked: Message) -> Message:
            if not behind:
                behind.append(await asyncio.open_connection(*self._behind, limit=2**24))
            from_service, to_service = behind[0]
            to_service.write(asked.written())
            answer = await read(from_service, answer_to=asked.method)
            if "close" in ",".join(answer.all("Connection")).lower():
                to_service.transport.abort()
                behind.clear()
            return answer

        while True:
            asked = await read(reader)
            self.requests += 1
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            try:
                answer = await self.behaviour(asked, forward, number)
            finally:
                self.in_flight -= 1
            if answer is None:
                self.dropped += 1
                return
            self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
            writer.write(answer.written())
            await writer.drain()
            if self.keep_s is not None:
                await asyncio.sleep(self.keep_s)
                return
            if "close" in ",".join(answer.all("Connection") + asked.all("Connection")).lower():
                return
