"""A target that breaks requests while they are written, or answers with what no client can read and a piece of the key.

A request without a key is answered, so that a run begins; what carries one meets a `Manner`.
"""

from __future__ import annotations

import asyncio
import base64
import html
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_OWN = _HEAD + b"Content-Length: 2\r\n\r\n{}"
_KEY = re.compile(rb"^authorization:\s*(?:Bearer\s+)?(.+?)\r?$", re.IGNORECASE | re.MULTILINE)
_PLAIN_S = 30
Manner = Callable[[bytes, bytes], bytes]
"""What is answered to a request (its bytes) with a key; nothing: the connection is reset."""


def _says(text: str, status: int = 400, **headers: str) -> bytes:
    body = json.dumps({"error": {"code": "bad", "message": text}}).encode()
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} No\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{lines}\r\n"
    return head.encode("latin-1") + body


def _pieces(key: bytes) -> Iterator[str]:
    """The beginning, the middle and the end of a key, as anybody may write them."""
    text = key.decode("latin-1")
    for piece in (text[:12], text[:26], text[5:24], text[-14:]):
        yield from (piece, quote(piece, safe=""), html.escape(piece), json.dumps(piece), piece.encode().hex())
        yield from (base64.b64encode(before + piece.encode()).decode() for before in (b"", b"u", b"u:"))
        yield "".join(f"\\u{ord(char):04x}" for char in piece)


MANNERS: Mapping[str, Manner] = {
    "resets in the midst of a request": lambda _, __: b"",
    "echoes a piece of the key": lambda _, key: _says(" ".join(_pieces(key))),
    "echoes the beginning of the request": lambda asked, _: _says(asked[:300].decode("latin-1")),
    "echoes in headers": lambda _, key: _says(
        "no", X_Echo=quote(key[:30]), WWW_Authenticate=f"Key {key[:20].decode()}"
    ),
    "sends the request back": lambda asked, _: asked,
    "a status line of the key": lambda _, key: b"HTTP/1.1 " + key + b"\r\n\r\n",
    "a header line that is too long": lambda _, key: _HEAD + b"X-Echo: " + key * 3000 + b"\r\n\r\n{}",
    "a header without a colon": lambda _, key: _HEAD + key[:30] + b"\r\n\r\n{}",
    "a length that is a key": lambda _, key: _HEAD + b"Content-Length: " + key + b"\r\n\r\n{}",
    "a chunk that is a key": lambda _, key: _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + key[:40] + b"\r\n{}",
    "an encoding that is a key": lambda _, key: (
        _HEAD + b"Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n" + key[:20]
    ),
    "redirects to nowhere": lambda _, key: _says(
        "no", 302, Location=f"http://[{quote(key[:30])}:99999/{key[:9].decode()}"
    ),
    "a body that breaks off": lambda _, key: _HEAD + b"Content-Length: 9999\r\n\r\n" + key * 9 + key[:20],
    "a body longer than is kept": lambda _, key: _HEAD + b"Connection: close\r\n\r\n" + key * (5_000_000 // len(key)),
}


@contextmanager
def breaking(manner: str) -> Iterator[str]:
    """The address of such a target, or of a proxy: it answers whatever URL is asked for."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    under_way: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        under_way.add(task)
        try:
            while await _served(reader, writer, MANNERS[manner]):
                pass
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # the client has gone
        finally:
            under_way.discard(task)
            writer.transport.abort()

    async def start() -> asyncio.Server:
        return await asyncio.start_server(accept, "127.0.0.1", 0)

    async def stop() -> None:
        server.close()
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(_PLAIN_S)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(_PLAIN_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_PLAIN_S)
        loop.close()


async def _served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, manner: Manner) -> bool:
    """Whether the connection may be used again."""
    asked = await reader.readuntil(b"\r\n\r\n")
    found = _KEY.search(asked)
    if found is None:
        length = re.search(rb"^content-length:\s*(\d+)", asked, re.IGNORECASE | re.MULTILINE)
        await reader.readexactly(int(length[1]) if length else 0)
        writer.write(_OWN)
        await writer.drain()
        return True
    answer = manner(asked, found[1])
    if not answer:
        own: socket.socket = writer.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed by a reset
        return False
    writer.write(answer)
    await writer.drain()
    writer.write_eof()
    await asyncio.wait_for(reader.read(65536), 2)
    return False
