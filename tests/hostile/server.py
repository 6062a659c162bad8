"""The hostile target: one process that serves each mode on a port of its own, with the reference behind it.

`python -m tests.hostile.server HOST:PORT` prints one line of JSON: the port of each mode, and that of the control,
which tells what a mode has counted. It ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from functools import partial

from tests.hostile import attacks, connections, framing, harmless  # noqa: F401 - importing them fills the table
from tests.hostile.registry import MODES, Mode
from tests.hostile.wire import Shared, Talk

ELSEWHERE = "127.0.0.2"


async def serve(upstream: tuple[str, int]) -> None:
    strangers = 0

    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal strangers
        strangers += 1
        writer.close()

    witness = await asyncio.start_server(elsewhere, ELSEWHERE, 0)
    url = f"http://{ELSEWHERE}:{_port(witness)}"
    shared = {name: Shared(upstream, url) for name in MODES}
    servers = {
        name: await asyncio.start_server(partial(_one, mode, shared[name]), "127.0.0.1", 0, limit=2**24)
        for name, mode in MODES.items()
    }

    async def tell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = (await reader.readline()).decode().strip()
        writer.write(json.dumps({**shared[name].counts, "elsewhere": strangers}).encode())
        await writer.drain()
        writer.close()

    control = await asyncio.start_server(tell, "127.0.0.1", 0)
    ports = {name: _port(server) for name, server in servers.items()}
    sys.stdout.write(json.dumps({"ports": ports, "control": _port(control)}) + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


def _port(server: asyncio.Server) -> int:
    port: int = server.sockets[0].getsockname()[1]
    return port


async def _one(mode: Mode, shared: Shared, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    shared.counts["connections"] += 1
    with contextlib.suppress(OSError):
        await mode.play(Talk(reader, writer, shared))
    with contextlib.suppress(OSError):
        writer.close()


if __name__ == "__main__":
    host, _, port = sys.argv[1].partition(":")
    asyncio.run(serve((host, int(port))))
