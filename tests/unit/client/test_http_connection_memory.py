"""A connection lets go of an answer once it was given: hostile ones are large, and connections refer to themselves."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from conformance.client.http_connection import HttpConnection, MalformedAnswer, serialize

LARGE = b"x" * 1_000_000
ENDINGS = {
    "closed": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n" + LARGE,
    "kept": b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + LARGE,
    "too long": b"HTTP/1.1 200 OK\r\n\r\n" + 3 * LARGE,
    "malformed": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nF4240\r\n" + LARGE + b"no chunk",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_answer_does_not_stay_with_its_connection(ending: str) -> None:
    """Whether the connection is used again, closed, or broken."""

    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ENDINGS[ending])
        if ending != "kept":
            with contextlib.suppress(OSError):  # the client has read enough
                await writer.drain()
            writer.close()

    async def exchange() -> HttpConnection:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            connection = HttpConnection(2_000_000)
            port = server.sockets[0].getsockname()[1]
            await asyncio.get_running_loop().create_connection(lambda: connection, "127.0.0.1", port)
            request = serialize("GET", "/", "localhost", (), None)
            if ending == "malformed":
                with pytest.raises(MalformedAnswer):
                    await connection.exchange("GET", request, 10)
            else:
                assert (await connection.exchange("GET", request, 10)).body[:1] == b"x"
            connection.abort()
            for writer in writers:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
            return connection

    connection = asyncio.run(exchange())
    assert len(connection._body) == 0 and connection._answer is None
