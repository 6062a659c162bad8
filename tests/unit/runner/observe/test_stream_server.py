"""The server of the observing proxy, at the moment at which it ends."""

from __future__ import annotations

import asyncio
import gc
import socket
import warnings

import pytest

from conformance.runner.observe.stream_server import StreamServer


async def _wait_for_client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await reader.read()
    finally:
        writer.close()


async def _end_while_connections_arrive(clients: list[socket.socket], rounds: int) -> None:
    server = StreamServer(_wait_for_client, 2**16)
    await server.start("127.0.0.1", 0)
    address = ("127.0.0.1", server.port)
    clients += [socket.create_connection(address, timeout=5) for _ in range(20)]  # the event loop has seen none yet
    for _ in range(rounds):
        await asyncio.sleep(0)
    await server.close()
    await server.abort()


@pytest.mark.parametrize("rounds", range(6))
def test_no_connection_stays_open(rounds: int) -> None:
    """Whatever the event loop has done with it when the server ends: nothing is left for the collector to close."""
    clients: list[socket.socket] = []
    gc.collect()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        asyncio.run(_end_while_connections_arrive(clients, rounds))
        gc.collect()
    assert [str(warning.message) for warning in found] == []
    for client in clients:
        with client:
            assert _is_at_end(client)


def _is_at_end(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True
