"""A scripted HTTP target on loopback: it keeps each request as it arrived, byte for byte."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from conformance.runner.observe.stream_server import StreamServer


@dataclass(frozen=True)
class Arrived:
    """One request as it stood on the wire. `connection` numbers the TCP connections."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    head: bytes
    connection: int

    def all(self, name: str) -> list[str]:
        return [value for known, value in self.headers if known.lower() == name.lower()]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Script = Callable[..., Any]
"""Gets the Arrived, and the StreamWriter where it takes two; gives bytes to send, or None to hang up."""


def reply(status: int = 200, value: Any = None, *, body: bytes | None = None, **headers: str) -> bytes:
    """A well-formed answer with a JSON value or a raw body; `_` in a header's name stands for `-`."""
    content = body if body is not None else json.dumps({"data": {}} if value is None else value).encode()
    told = {"Content-Type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {text}" for name, text in told.items())]
    lines.append(f"Content-Length: {len(content)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + content


@dataclass
class ScriptedTarget:
    """`async with ScriptedTarget(script) as target:`; `target.arrived` is everything that came."""

    script: Script = lambda arrived: reply()
    arrived: list[Arrived] = field(default_factory=list)
    connections: int = 0
    url: str = ""
    in_flight: int = 0
    most_in_flight: int = 0

    async def __aenter__(self) -> ScriptedTarget:
        self._server = StreamServer(self._accept, 2**24)
        await self._server.start("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()
        await self._server.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._serve(reader, writer, self.connections)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        while True:
            arrived = await self._read(reader, connection)
            self.arrived.append(arrived)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            try:
                arguments = (arrived, writer)[: len(inspect.signature(self.script).parameters)]
                answer = self.script(*arguments)
                if isinstance(answer, Awaitable):
                    answer = await answer
            finally:
                self.in_flight -= 1
            if answer is None:
                return
            writer.write(answer)
            await writer.drain()

    async def _read(self, reader: asyncio.StreamReader, connection: int) -> Arrived:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        pairs = tuple((name, value) for name, _, value in (line.partition(": ") for line in lines))
        method, target, _ = first.split(" ", 2)
        length = next((int(value) for name, value in pairs if name.lower() == "content-length"), 0)
        body = await reader.readexactly(length)
        return Arrived(method, target, pairs, body, head, connection)
