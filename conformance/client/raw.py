"""A request written by hand to a socket, for what no client sends: one that is left before it is answered."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Sequence
from typing import Final, Literal
from urllib.parse import urlsplit

from conformance.client.request import Wire

Moment = Literal["mid-body", "after-last-byte", "mid-answer"]
MOMENTS: Final[Sequence[Moment]] = ("mid-body", "after-last-byte", "mid-answer")


def written(wire: Wire, host: str) -> bytes:
    """The bytes of an HTTP/1.1 request (RFC 9112 section 3)."""
    content = wire.content or b""
    lines = [f"{wire.method} {wire.target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in wire.headers]
    lines += [f"Content-Length: {len(content)}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace") + content


async def abandon(
    origin: str, wire: Wire, moment: Moment, *, tls: ssl.SSLContext | bool = True, timeout_s: float = 10.0
) -> bool:
    """Sends a request and closes the connection at `moment`. Tells whether it came that far."""
    parts = urlsplit(origin)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    context = (tls if isinstance(tls, ssl.SSLContext) else ssl.create_default_context()) if secure else None
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context)
            try:
                raw = written(wire, parts.netloc)
                writer.write(raw[: len(raw) - len(wire.content or b"") // 2 - 1] if moment == "mid-body" else raw)
                await writer.drain()
                if moment == "mid-answer":
                    await reader.read(12)
            finally:
                writer.transport.abort()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
    except (OSError, TimeoutError, ssl.SSLError):
        return False
    return True
