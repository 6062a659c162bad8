"""A raw HTTP request on a socket, for what no client library does: closing the connection before the answer."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Sequence
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

from msgspec.structs import replace

from conformance.client.http_pool import absolute_prefix, connect_authority, host_header, proxy_address
from conformance.client.request import Wire

Moment = Literal["mid-body", "after-last-byte", "mid-answer"]
MOMENTS: Final[Sequence[Moment]] = ("mid-body", "after-last-byte", "mid-answer")


def serialize(wire: Wire, host: str) -> bytes:
    """The bytes of an HTTP/1.1 request (RFC 9112 section 3)."""
    content = wire.content or b""
    lines = [f"{wire.method} {wire.target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in wire.headers]
    lines += [f"Content-Length: {len(content)}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace") + content


async def _connect(
    parts: SplitResult, context: ssl.SSLContext | None, proxy: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to an origin, through a CONNECT tunnel where a proxy is used (RFC 9110 section 9.3.6)."""
    port = parts.port or (443 if context else 80)
    if not proxy:
        return await asyncio.open_connection(parts.hostname, port, ssl=context)
    host, proxy_port, outer = proxy_address(proxy)
    reader, writer = await asyncio.open_connection(host, proxy_port, ssl=outer)
    if context is not None:
        authority = connect_authority(str(parts.hostname), port)
        writer.write(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if head.split(b" ")[1:2] != [b"200"]:
            writer.transport.abort()
            raise OSError("the proxy opened no tunnel")
        await writer.start_tls(context, server_hostname=parts.hostname)
    return reader, writer


async def abandon(
    origin: str,
    wire: Wire,
    moment: Moment,
    *,
    tls: ssl.SSLContext | bool = True,
    timeout_s: float = 10.0,
    proxy: str = "",
) -> bool:
    """Sends a request and closes the connection at `moment`. Returns whether that moment was reached."""
    parts = urlsplit(origin)
    secure = parts.scheme == "https"
    context = (tls if isinstance(tls, ssl.SSLContext) else ssl.create_default_context()) if secure else None
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await _connect(parts, context, proxy)
            try:
                if proxy and not secure:
                    wire = replace(wire, target=absolute_prefix(parts) + wire.target)
                raw = serialize(wire, host_header(parts))
                writer.write(raw[: len(raw) - len(wire.content or b"") // 2 - 1] if moment == "mid-body" else raw)
                await writer.drain()
                if moment == "mid-answer":
                    return bool(await reader.read(12))
            finally:
                writer.transport.abort()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
    except (OSError, TimeoutError, ssl.SSLError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return False
    return True
