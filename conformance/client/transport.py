"""Two ways to send a request, and one bounded way to read the answer.

The fast one (aiohttp) sends ordinary requests; it would rewrite unusual ones. The exact one (httpcore, one connection a
lane, below httpx's client) sends the same bytes. Neither keeps cookies, follows redirects, repeats a request or reads
proxies from the environment.
"""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
import time
import zlib
from collections.abc import AsyncIterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit

import aiohttp
import httpcore  # noqa: F401 - before the first client imports it: other threads import the same modules
import httpx
from multidict import CIMultiDict
from yarl import URL

from conformance.client.raw_socket import Moment, abandon
from conformance.client.request import Wire
from conformance.core import strict_json as strictjson
from conformance.profile.model import Tls

MAX_BODY: Final = 4 * 1024 * 1024
USER_AGENT: Final = "commerce-conformance"
_OWN_HEADERS: Final = (("User-Agent", USER_AGENT), ("Accept-Encoding", "gzip"))
_NO_TLS: Final = Tls()
_HEADER_BYTES: Final = 64 * 1024
_MAX_HEADERS: Final = 4096
_KEEP_S: Final = 4.0
"""How long an idle connection is kept: less than servers keep it, so that it is not closed while in use."""


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """The answer: `status` None and `trouble` set where it is incomplete."""

    status: int | None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    truncated: bool = False
    trouble: str = ""
    duration_s: float = 0.0


_RESOURCE_ERRORS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_MAX_CHAINED_ERRORS: Final = 50
"""Maximum number of chained exceptions that are examined."""


class Transport:
    """Sends wires to one base URL. Use as an async context manager."""

    def __init__(self, base_url: str, *, tls: Tls = _NO_TLS, timeout_s: float = 10.0, proxy: str = "") -> None:
        parts = urlsplit(base_url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.prefix = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
        self._verify = ssl_context(tls) if parts.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._timeout_s = timeout_s
        self._proxy = proxy or None
        self._target_prefix = self.origin if proxy and parts.scheme == "http" else ""
        """The prefix of a request target for a proxy that forwards it (RFC 9112 section 3.2.2)."""
        self._stack = AsyncExitStack()
        self._lanes: list[httpx.AsyncHTTPTransport] = []

    async def __aenter__(self) -> Transport:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._verify, keepalive_timeout=_KEEP_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Content-Type", "Accept", "Accept-Encoding"),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
            max_headers=_MAX_HEADERS,
        )
        # aiohttp repeats a GET or DELETE when a kept connection was closed, and has no public option for it; each
        # request that reaches a target must be recorded
        session._retry_connection = False
        await self._stack.enter_async_context(session)
        self._fast = session
        return self

    async def __aexit__(self, *_: object) -> None:
        for lane in self._lanes:
            await lane.aclose()
        await self._stack.aclose()

    async def send(self, wire: Wire) -> RawAnswer:
        """One request, and its answer up to MAX_BODY bytes within the timeout. No behaviour of a target raises.

        Raises RuntimeError for a wire that no client can write, and where this machine lacks resources to send it.
        """
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout_s):
                raw = await (self._send_exact(wire) if wire.exact else self._send_fast(wire))
        except TimeoutError:
            raw = RawAnswer(None, trouble=f"no complete answer within {self._timeout_s:g} s")
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol) as error:
            raise RuntimeError(f"the client cannot write {wire.method} {wire.target}: {error}") from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, aiohttp.ClientError, OSError) as error:
            if shortage := _resource_shortage(error):
                raise RuntimeError(f"this machine cannot open a connection: {shortage}") from error
            raw = RawAnswer(None, trouble=_describe(error))
        except (ValueError, zlib.error) as error:
            raw = RawAnswer(None, trouble=f"the answer cannot be read: {_describe(error)}")
        return RawAnswer(raw.status, raw.headers, raw.body, raw.truncated, raw.trouble, time.perf_counter() - started)

    async def abandon(self, wire: Wire, moment: Moment) -> bool:
        """Sends a request and abandons it at `moment`; returns whether it was reached."""
        return await abandon(
            self.origin, wire, moment, tls=self._verify, timeout_s=self._timeout_s, proxy=self._proxy or ""
        )

    async def _send_exact(self, wire: Wire) -> RawAnswer:
        """On a separate lane, which is reused only after success."""
        lane = self._lanes.pop() if self._lanes else self._lane()
        try:
            raw = await _converse(lane, self.origin, wire, self._target_prefix)
        except BaseException:
            await lane.aclose()
            raise
        self._lanes.append(lane)
        return raw

    def _lane(self) -> httpx.AsyncHTTPTransport:
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEP_S)
        return httpx.AsyncHTTPTransport(verify=self._verify, limits=limits, trust_env=False, proxy=self._proxy)

    async def _send_fast(self, wire: Wire) -> RawAnswer:
        headers = CIMultiDict((*_OWN_HEADERS, *wire.headers))
        if wire.content == b"":
            headers["Content-Length"] = "0"  # an empty body is a body, on DELETE too
        url = URL(self.origin + wire.target, encoded=True)
        async with self._fast.request(
            wire.method, url, headers=headers, data=wire.content, allow_redirects=False, proxy=self._proxy
        ) as response:
            body, truncated = await _read(response.headers.get("Content-Encoding", ""), response.content.iter_any())
            answer_headers = tuple((_text(name), _text(value)) for name, value in response.raw_headers)
            return RawAnswer(response.status, answer_headers, body, truncated)


async def _converse(transport: httpx.AsyncBaseTransport, origin: str, wire: Wire, target_prefix: str) -> RawAnswer:
    request = httpx.Request(
        wire.method,
        origin + "/",
        headers=[_encode_header(header) for header in (*_OWN_HEADERS, *wire.headers)],
        content=wire.content,
        extensions={"target": (target_prefix + wire.target).encode("latin-1", "replace")},
    )
    if wire.content == b"":
        request.headers["Content-Length"] = "0"
    response = await transport.handle_async_request(request)
    try:
        body, truncated = await _read(response.headers.get("content-encoding", ""), response.aiter_raw())
    finally:
        await response.aclose()
    headers = tuple((_text(name), _text(value)) for name, value in response.headers.raw)
    return RawAnswer(response.status_code, headers, body, truncated)


def _text(raw: bytes) -> str:
    return raw.decode("latin-1")


def _encode_header(header: tuple[str, str]) -> tuple[bytes, bytes]:
    """Encoded as latin-1, or as UTF-8 where that is impossible."""
    name, value = header
    try:
        return name.encode("ascii"), value.encode("latin-1")
    except UnicodeEncodeError:
        return name.encode(), value.encode()


async def _read(encoding: str, chunks: AsyncIterable[bytes]) -> tuple[bytes, bool]:
    """The decoded body, at most MAX_BODY bytes of it, and whether it was truncated."""
    encoding = encoding.strip().lower()
    inflater = Inflater() if encoding in ("gzip", "x-gzip", "deflate") else None
    body = bytearray()
    async for chunk in chunks:
        room = MAX_BODY - len(body) + 1
        body += inflater.feed(chunk, room) if inflater else chunk[:room]
        if len(body) > MAX_BODY:
            return bytes(body[:MAX_BODY]), True
    if inflater is not None and not inflater.complete:
        raise ValueError(f"its {encoding} stream ends too early")
    return bytes(body), False


class Inflater:
    """gzip (any number of members, RFC 1952 section 2.2) or deflate, with bounded output."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=47)
        self._started = False

    @property
    def complete(self) -> bool:
        return self._stream.eof or not self._started

    def feed(self, chunk: bytes, room: int) -> bytes:
        """Inflates a chunk; output beyond `room` bytes is discarded. Raises zlib.error."""
        output = b""
        while chunk and len(output) < room:
            if self._stream.eof:
                if not chunk.startswith(b"\x1f"):
                    break  # padding after the last member
                self._stream = zlib.decompressobj(wbits=47)
            self._started = True
            output += self._stream.decompress(chunk, room - len(output))
            chunk = self._stream.unused_data
        return output


def ssl_context(tls: Tls) -> ssl.SSLContext:
    """Created once: reading the certificate store takes longer than a request."""
    context = ssl.create_default_context(cafile=str(tls.ca_file) if tls.ca_file else None)
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _resource_shortage(error: BaseException) -> str:
    """The resource that this machine lacks, by any exception of the chain; empty for other errors."""
    pending = [error]
    for _ in range(_MAX_CHAINED_ERRORS):
        if not pending:
            break
        current = pending.pop()
        if isinstance(current, OSError) and current.errno in _RESOURCE_ERRORS:
            return os.strerror(current.errno)
        chained = (current.__cause__, current.__context__, *getattr(current, "exceptions", ()))
        pending += [other for other in chained if isinstance(other, BaseException)]
    return ""


def _describe(error: BaseException) -> str:
    """The error of any library as text; it is truncated only after redaction."""
    text = str(error) or type(error).__name__
    cause = error.__cause__ or error.__context__
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)) and "onnect" not in text:
        text = f"cannot connect: {text}"
    if not str(error) and cause is not None:
        text = f"{text} ({cause})"
    return str(strictjson.replace_surrogates(text))
