"""HTTP/1.1 messages on a byte stream: their heads, and their bodies passed on byte by byte while a copy is kept.

Heads are parsed by llhttp (httptools), which refuses what could be read in two ways; their bytes are passed on as they
came. Framing by RFC 9112 section 6.3.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import Final

import httptools

HEAD_LIMIT: Final = 64 * 1024
CAPTURE_LIMIT: Final = 1024 * 1024
"""Bytes of a body that are kept for the judge."""
_BLOCK: Final = 64 * 1024
_HOST: Final = re.compile(rb"(?im)^(host:)[^\r\n]*")
_MAX_CHUNK_LINE: Final = 4096


class WireError(Exception):
    """The bytes are not an HTTP/1.1 message that can be passed on. `status`: of the refusal."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Head:
    """The head of a request or an answer. `length`: of the body; None: until the end of the connection."""

    raw: bytes
    method: str
    target: str
    status: int
    headers: tuple[tuple[str, str], ...]
    version: str
    is_chunked: bool
    length: int | None
    is_upgrade: bool = False

    @property
    def keeps_alive(self) -> bool:
        tokens = {t.strip().lower() for n, v in self.headers if n.lower() == "connection" for t in v.split(",")}
        return "keep-alive" in tokens if self.version == "1.0" else "close" not in tokens

    @property
    def has_body(self) -> bool:
        return self.is_chunked or self.length != 0

    def with_host(self, host: str) -> bytes:
        """The bytes with another Host header, and nothing else changed."""
        return _HOST.sub(rb"\g<1> " + host.encode("ascii"), self.raw, count=1)


class _Events:
    """What llhttp calls."""

    def __init__(self) -> None:
        self.target = b""
        self.headers: list[tuple[str, str]] = []

    def on_url(self, part: bytes) -> None:
        self.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode("latin-1"), value.decode("latin-1")))


async def read_request(reader: asyncio.StreamReader) -> Head | None:
    """The next head; None where the connection ended before one. Raises WireError."""
    raw = await _read_head(reader, 431)
    if raw is None:
        return None
    events = _Events()
    parser = httptools.HttpRequestParser(events)
    is_upgrade = _feed(parser, raw, "the request")
    method = parser.get_method().decode("ascii")
    is_chunked, length = _framing(events.headers)
    return Head(
        raw,
        method,
        events.target.decode("latin-1"),
        0,
        tuple(events.headers),
        parser.get_http_version(),
        is_chunked,
        length or 0,
        is_upgrade or method == "CONNECT",
    )


async def read_answer(reader: asyncio.StreamReader, method: str) -> Head | None:
    """The head of the answer to a request with this method; None where the connection ended. Raises WireError."""
    raw = await _read_head(reader, 502)
    if raw is None:
        return None
    events = _Events()
    parser = httptools.HttpResponseParser(events)
    is_upgrade = _feed(parser, raw, "the target's answer")
    status = parser.get_status_code()
    is_chunked, length = _framing(events.headers)
    if method == "HEAD" or status < 200 or status in (204, 304):
        is_chunked, length = False, 0
    version = parser.get_http_version()
    return Head(raw, method, "", status, tuple(events.headers), version, is_chunked, length, is_upgrade)


async def _read_head(reader: asyncio.StreamReader, status: int) -> bytes | None:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise WireError("the connection ended within a head", status) from None
        return None
    except asyncio.LimitOverrunError:
        raise WireError(f"a head of more than {HEAD_LIMIT:,} bytes", status) from None


def _feed(parser: httptools.HttpRequestParser | httptools.HttpResponseParser, raw: bytes, subject: str) -> bool:
    """Whether the head asks to leave HTTP/1.1."""
    try:
        parser.feed_data(raw)
    except httptools.HttpParserUpgrade:
        return True
    except httptools.HttpParserError as error:
        raise WireError(f"{subject} is not HTTP/1.1: {error}", 400 if "request" in subject else 502) from None
    return False


def _framing(headers: list[tuple[str, str]]) -> tuple[bool, int | None]:
    """Whether the body is chunked, and its length; None where neither is said."""
    length = None
    for name, value in headers:
        lower = name.lower()
        if lower == "transfer-encoding" and value.lower().rstrip().endswith("chunked"):
            return True, None
        if lower == "content-length":
            length = int(value)
    return False, length


@dataclass(slots=True)
class Capture:
    """The beginning of a body, without its framing."""

    limit: int = CAPTURE_LIMIT
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    is_cut: bool = False

    def add(self, data: bytes) -> None:
        room = self.limit - self.size
        if room < len(data):
            self.is_cut = True
            data = data[: max(0, room)]
        if data:
            self.parts.append(data)
            self.size += len(data)

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)


class Output:
    """Where bytes go: at once, or buffer back until `release`."""

    def __init__(self, writer: asyncio.StreamWriter, hold_limit: int = 0) -> None:
        self._writer = writer
        self._hold_limit = hold_limit
        self.buffer = bytearray()

    @property
    def holds(self) -> bool:
        return self._hold_limit > 0

    async def write(self, data: bytes) -> None:
        if self._hold_limit:
            self.buffer += data
            if len(self.buffer) > self._hold_limit:
                await self.release()
            return
        self._writer.write(data)
        if self._writer.transport.get_write_buffer_size() > _BLOCK:
            await self._writer.drain()

    async def release(self) -> None:
        """Sends subject is buffer back, and everything from now on at once."""
        self._hold_limit = 0
        data, self.buffer = bytes(self.buffer), bytearray()
        await self.write(data)


async def pass_body(head: Head, reader: asyncio.StreamReader, output: Output, capture: Capture) -> None:
    """Passes a body on as it comes. Raises IncompleteReadError where it ends early, and WireError."""
    if head.is_chunked:
        await _pass_chunks(reader, output, capture)
    elif head.length is None:
        while data := await reader.read(_BLOCK):
            capture.add(data)
            await output.write(data)
    elif head.length:
        await _pass_bytes(head.length, reader, output, capture)


async def _pass_bytes(count: int, reader: asyncio.StreamReader, output: Output, capture: Capture) -> None:
    while count:
        data = await reader.read(min(count, _BLOCK))
        if not data:
            raise asyncio.IncompleteReadError(b"", count)
        count -= len(data)
        capture.add(data)
        await output.write(data)


async def _pass_chunks(reader: asyncio.StreamReader, output: Output, capture: Capture) -> None:
    while True:
        line = await reader.readuntil(b"\r\n")
        try:
            size = int(line.split(b";", 1)[0].strip(), 16) if len(line) < _MAX_CHUNK_LINE else -1
        except ValueError:
            size = -1
        if size < 0:
            raise WireError("a chunk without a size", 400)
        await output.write(line)
        if not size:
            break
        await _pass_bytes(size, reader, output, capture)
        await output.write(await reader.readexactly(2))
    while True:  # trailers
        line = await reader.readuntil(b"\r\n")
        await output.write(line)
        if line == b"\r\n":
            return
