"""Two ways to put a request on the wire, and one bounded way to read the answer.

The fast transport (aiohttp below httpx) carries ordinary requests; it rewrites unusual ones. The exact one (httpcore
below httpx, one client a lane) sends the very bytes. No cookies, no redirects, no proxies from the environment.
"""

from __future__ import annotations

import asyncio
import ssl
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from conformance.client.raw import Moment, abandon
from conformance.client.request import Wire
from conformance.profile.model import Tls

MAX_BODY: Final = 4 * 1024 * 1024
USER_AGENT: Final = "commerce-conformance"
_HEADER_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Raw:
    """What was read: `status` None and `trouble` set where no whole answer came."""

    status: int | None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    truncated: bool = False
    trouble: str = ""
    duration_s: float = 0.0


class Transport:
    """Sends wires to one base URL. Use as an async context manager."""

    def __init__(self, base_url: str, *, tls: Tls = Tls(), timeout_s: float = 10.0, connections: int = 32) -> None:
        parts = urlsplit(base_url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.prefix = parts.path.rstrip("/")
        self._verify = _verification(tls)
        self._timeout_s = timeout_s
        self._connections = connections
        self._stack = AsyncExitStack()
        self._lanes: list[httpx.AsyncClient] = []

    async def __aenter__(self) -> Transport:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._verify, keepalive_timeout=4),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Content-Type", "Accept", "Accept-Encoding"),
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
        )
        await self._stack.enter_async_context(session)
        self._fast = self._client(AiohttpTransport(client=session, verify=self._verify))
        await self._stack.enter_async_context(self._fast)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _client(self, transport: httpx.AsyncBaseTransport) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=transport,
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            timeout=self._timeout_s,
            follow_redirects=False,
            trust_env=False,
        )

    @asynccontextmanager
    async def _lane(self, exact: bool) -> AsyncIterator[httpx.AsyncClient]:
        if not exact:
            yield self._fast
            return
        if self._lanes:
            client = self._lanes.pop()
        else:
            limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=4)
            client = self._client(httpx.AsyncHTTPTransport(verify=self._verify, limits=limits, trust_env=False))
            await self._stack.enter_async_context(client)
        try:
            yield client
        finally:
            self._lanes.append(client)

    async def send(self, wire: Wire) -> Raw:
        """One request, and its answer up to MAX_BODY bytes within the time-out. Never raises for what a target does."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout_s), self._lane(wire.exact) as client:
                raw = await self._converse(client, wire)
        except TimeoutError:
            raw = Raw(None, trouble=f"no whole answer within {self._timeout_s:g} s")
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol) as error:
            raise RuntimeError(f"the client cannot write {wire.method} {wire.target[:100]}: {error}") from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, aiohttp.ClientError, OSError) as error:
            raw = Raw(None, trouble=_describe(error))
        except (ValueError, zlib.error) as error:
            raw = Raw(None, trouble=f"the answer cannot be read: {_describe(error)}")
        return Raw(raw.status, raw.headers, raw.body, raw.truncated, raw.trouble, time.perf_counter() - started)

    async def abandon(self, wire: Wire, moment: Moment) -> bool:
        """Sends a request and leaves it at `moment`; tells whether it came that far."""
        return await abandon(self.origin, wire, moment, tls=self._verify, timeout_s=self._timeout_s)

    async def _converse(self, client: httpx.AsyncClient, wire: Wire) -> Raw:
        headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in wire.headers]
        url = self.origin + ("/" if wire.exact else wire.target)
        extensions = {"target": wire.target.encode("latin-1", "replace")} if wire.exact else {}
        request = client.build_request(wire.method, url, headers=headers, content=wire.content, extensions=extensions)
        response = await client.send(request, stream=True)
        try:
            body, truncated = await _read(response)
        finally:
            await response.aclose()
        shown = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw)
        return Raw(response.status_code, shown, body, truncated)


async def _read(response: httpx.Response) -> tuple[bytes, bool]:
    """The decoded body, at most MAX_BODY bytes of it, however far it would inflate."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    inflate = zlib.decompressobj(wbits=47) if encoding in ("gzip", "x-gzip", "deflate") else None
    body = bytearray()
    async for chunk in response.aiter_raw():
        room = MAX_BODY - len(body) + 1
        body += inflate.decompress(chunk, room) if inflate else chunk[:room]
        if len(body) > MAX_BODY:
            return bytes(body[:MAX_BODY]), True
    return bytes(body), False


def _verification(tls: Tls) -> ssl.SSLContext | bool:
    if not tls.verify:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    return ssl.create_default_context(cafile=str(tls.ca_file)) if tls.ca_file else True


def _describe(error: BaseException) -> str:
    """What went wrong in a reader's words, whatever library said it."""
    text = str(error) or type(error).__name__
    cause = error.__cause__ or error.__context__
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)) and "onnect" not in text:
        text = f"cannot connect: {text}"
    if not str(error) and cause is not None:
        text = f"{text} ({cause})"
    return text[:300]
