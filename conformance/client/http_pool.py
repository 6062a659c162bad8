"""Connections to each origin, kept while they are used: directly, through a proxy, or through its tunnel."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import re
import ssl
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from conformance.client.http_connection import Headers, HttpConnection, Response, serialize

_KEEP_S: Final = 4.0
"""How long an idle connection is kept: less than servers keep it, so that it is not closed while in use."""
_DISTRUST_S: Final = 2.0
"""How long no kept connection is used after one was closed while in use: a server may close them at any time
(RFC 9112 section 9.5), and closes others then, too."""

_SMALL: Final = 16 * 1024
"""Bytes: more content may be refused before it was read."""
_HAPPY_EYEBALLS_S: Final = 0.25
"""The delay between the attempts to connect to the addresses of a name (RFC 8305 section 5)."""
_CONNECT_S: Final = 30.0
_MAX_BODY: Final = 4 * 1024 * 1024
"""Of an answer of a test API: its ids become parts of requests."""
_NOT_VISIBLE: Final = re.compile(r"[^!-~]+")


def proxy_address(proxy: str) -> tuple[str, int, ssl.SSLContext | None]:
    """(host, port, TLS) of the connection to a proxy."""
    via = urlsplit(proxy)
    tls = ssl.create_default_context() if via.scheme == "https" else None
    return str(via.hostname), via.port or (443 if tls else 80), tls


@dataclass
class OneConnection:
    """What `HttpPool.one_connection` gives: the connection of the requests of a context."""

    pool: HttpPool
    connection: HttpConnection | None = None
    lasted: bool = True
    """Whether no request needed a new connection but the first."""


_one_connection: ContextVar[OneConnection | None] = ContextVar("one_connection", default=None)


class HttpPool:
    """Sends requests to one origin, each on a connection that no other request uses meanwhile.

    `tls`: needed for https.
    """

    keeps_refused = True
    """Whether a connection is kept after a request whose content was refused. A server that answers before it has read
    the content must close the connection (RFC 9112 section 9.3); else the content is read as the next request."""

    def __init__(self, origin: str, max_body: int, *, tls: ssl.SSLContext | None = None, proxy: str = "") -> None:
        self._parts = urlsplit(origin)
        self._host = host_header(self._parts)
        self._tls = tls if self._parts.scheme == "https" else None
        self._proxy = proxy
        self._target_prefix = absolute_prefix(self._parts) if proxy and self._tls is None else ""
        self._max_body = max_body
        self._idle: deque[HttpConnection] = deque()
        self._open: set[HttpConnection] = set()
        self._distrusted_until = 0.0

    @contextlib.contextmanager
    def one_connection(self) -> Iterator[OneConnection]:
        """The requests of this context, one after another, use a connection of their own as long as the server keeps
        it. Those of other pools do not: they go to another origin."""
        place = OneConnection(self)
        token = _one_connection.set(place)
        try:
            yield place
        finally:
            _one_connection.reset(token)
            if place.connection is not None:
                place.connection.abort()

    async def request(
        self,
        method: str,
        target: str,
        headers: Headers,
        content: bytes | None,
        timeout_s: float,
        *,
        fresh: bool = False,
    ) -> Response:
        """Sends one request, once; `fresh`: on a connection that no request was sent on before.

        Raises OSError (TimeoutError among them), MalformedAnswer or MalformedRequest.
        """
        raw = serialize(method, self._target_prefix + target, self._host, headers, content)
        loop = asyncio.get_running_loop()
        now = loop.time()
        until = now + timeout_s
        place = self._place
        connection = None if fresh else self._take(max(now - _KEEP_S, self._distrusted_until), place)
        is_kept = connection is not None
        if connection is None:
            async with asyncio.timeout_at(until):
                connection = await self.connect()
        self._open.add(connection)
        try:
            response = await connection.exchange(method, raw, until - loop.time())
        finally:
            self._open.discard(connection)
            if is_kept and connection.is_lost_unanswered:
                self._distrusted_until = loop.time() + _DISTRUST_S
        connection.idle_since = loop.time()
        if place is not None:
            place.lasted = place.lasted and (is_kept or place.connection is None)
            place.connection = connection
        elif connection.is_reusable and self._is_read(content, response):
            self._idle.append(connection)
        else:
            connection.abort()
        return response

    @property
    def _place(self) -> OneConnection | None:
        """The place of the connection of this context; None where its requests share the kept ones."""
        place = _one_connection.get()
        return place if place is not None and place.pool is self else None

    def _is_read(self, content: bytes | None, response: Response) -> bool:
        """Whether the server can be trusted to have read the content: there is none, or it was not refused."""
        return not content or response.status < 400 or (self.keeps_refused and len(content) <= _SMALL)

    def _take(self, oldest: float, place: OneConnection | None) -> HttpConnection | None:
        """The connection that is idle longest; those that are idle since before `oldest` are closed.

        All connections are used in turn: of several processes behind one address, a repeated call reaches another one.
        """
        if place is not None:
            return place.connection if place.connection is not None and place.connection.is_reusable else None
        while self._idle:
            connection = self._idle.popleft()
            if connection.is_reusable and connection.idle_since > oldest:
                return connection
            connection.abort()
        return None

    async def get_status(self, connection: HttpConnection, target: str, headers: Headers, timeout_s: float) -> int:
        """The status of a GET on a connection of its own, which is closed before the body. Raises like `request`."""
        raw = serialize("GET", self._target_prefix + target, self._host, headers, None)
        try:
            return (await connection.exchange("HEAD", raw, timeout_s)).status  # an answer to HEAD ends with its headers
        finally:
            connection.abort()

    async def connect(self) -> HttpConnection:
        """A new connection, through the proxy if there is one. Raises OSError."""
        host, port = str(self._parts.hostname), self._parts.port or (443 if self._tls else 80)
        if not self._proxy:
            return await self._open_connection(host, port, self._tls)
        outer = await self._open_connection(*proxy_address(self._proxy))
        return await self._tunnel(outer, host, port) if self._tls else outer

    async def _open_connection(self, host: str, port: int, tls: ssl.SSLContext | None) -> HttpConnection:
        connection = HttpConnection(self._max_body)
        loop = asyncio.get_running_loop()
        delay_s = None if _is_address(host) else _HAPPY_EYEBALLS_S
        await loop.create_connection(lambda: connection, host, port, ssl=tls, happy_eyeballs_delay=delay_s)
        return connection

    async def _tunnel(self, outer: HttpConnection, host: str, port: int) -> HttpConnection:
        """TLS within a tunnel of the proxy (RFC 9110 section 9.3.6)."""
        assert self._tls is not None and outer.transport is not None
        authority = connect_authority(host, port)
        try:
            response = await outer.exchange("CONNECT", serialize("CONNECT", authority, authority, (), None), _CONNECT_S)
            if not 200 <= response.status < 300:
                raise OSError(f"the proxy answered {response.status} and opened no tunnel")
            connection, loop = HttpConnection(self._max_body), asyncio.get_running_loop()
            connection.transport = await loop.start_tls(outer.transport, connection, self._tls, server_hostname=host)
        except BaseException:
            outer.abort()
            raise
        return connection

    async def aclose(self) -> None:
        for connection in (*self._idle, *self._open):
            connection.abort()
        self._idle.clear()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)  # the transports close in the next round of the event loop


class HttpClient:
    """Sends requests to any URL, for test APIs. Close it at the end."""

    def __init__(self) -> None:
        self._pools: dict[str, HttpPool] = {}

    async def request(
        self, method: str, url: str, headers: Headers, content: bytes | None, timeout_s: float
    ) -> Response:
        """Raises like `HttpPool.request`. Percent-escapes are sent unchanged, what is not visible ASCII is encoded."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"no HTTP URL: {url}")
        origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        if origin not in self._pools:
            tls = ssl.create_default_context() if parts.scheme == "https" else None
            self._pools[origin] = HttpPool(origin, _MAX_BODY, tls=tls)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        target = _NOT_VISIBLE.sub(lambda match: quote(match[0]), target)
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers = (*headers, ("Authorization", f"Basic {base64.b64encode(user.encode()).decode()}"))
        return await self._pools[origin].request(method, target, headers, content, timeout_s)

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()


def _is_address(host: str) -> bool:
    """Whether the host is not a name: then there is one attempt to connect, which leaves no socket when cancelled."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def connect_authority(host: str, port: int) -> str:
    """The target of CONNECT (RFC 9112 section 3.2.3): an IPv6 address in brackets, and A-labels only."""
    return f"{_a_labels(f'[{host}]' if ':' in host else host)}:{port}"


def host_header(parts: SplitResult) -> str:
    """The value of Host for a URL (RFC 9110 section 7.2): without a default port, and with A-labels only."""
    host = parts.netloc.rpartition("@")[2]
    if parts.port == {"http": 80, "https": 443}.get(parts.scheme):
        host = host.rpartition(":")[0]
    return _a_labels(host)


def absolute_prefix(parts: SplitResult) -> str:
    """What stands before the path where a proxy forwards the request (RFC 9112 section 3.2.2)."""
    return f"{parts.scheme}://{host_header(parts)}"


def _a_labels(host: str) -> str:
    """An internationalized name as DNS and HTTP carry it (RFC 5890 section 2.3.2.1)."""
    return host if host.isascii() else host.encode("idna").decode()
