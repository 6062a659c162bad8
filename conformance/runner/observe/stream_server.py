"""A TCP server that leaves no connection open at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_ROUNDS_TO_ACCEPT: Final = 4
"""Rounds of the event loop from the system's accept to the first call for that connection, and one more."""


class StreamServer:
    """`await start()`, then `await close()`, then `await abort()`.

    `asyncio.start_server` alone leaves a connection open where its task is cancelled before it starts, or where the
    server is closed while the connection is being accepted.
    """

    def __init__(self, serve: Serve, limit: int) -> None:
        """`serve` is awaited for each connection, and closes it; `limit` is the reader's, in bytes."""
        self._serve = serve
        self._limit = limit
        self._writers: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self, host: str, port: int) -> None:
        """Listens; port 0 takes a free one. Raises OSError where that is impossible."""
        self._server = await asyncio.start_server(self._accept, host, port, limit=self._limit, backlog=1024)

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Listens no longer. Connections go on."""
        for listening in self._server.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        for _ in range(_ROUNDS_TO_ACCEPT):
            await asyncio.sleep(0)
        self._server.close()

    async def abort(self, patience_s: float = 0.0) -> None:
        """Ends every connection. What serves one sees that, and is cancelled after `patience_s` seconds."""
        for writer in self._writers.values():
            writer.transport.abort()
        if self._writers:
            await asyncio.wait(self._writers, timeout=patience_s)
        tasks = list(self._writers)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports close in the next round

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._run(reader, writer))
        self._writers[task] = writer
        task.add_done_callback(self._writers.pop)

    async def _run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._serve(reader, writer)
