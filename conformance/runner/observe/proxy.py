"""A reverse proxy to the target that passes bytes on as they came, and hands every exchange to the judge.

Each client's connection has one of its own to the target, so that keep-alive, streaming and the end of a connection
look as they do without a proxy. Only the Host header differs.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import ssl
import time
from collections import deque
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from conformance.client.traffic.observation import Observation
from conformance.core.model import Exchange, Finding
from conformance.core.outcomes import Level
from conformance.runner.observe.stream_server import StreamServer
from conformance.runner.observe.wire import (
    HEAD_LIMIT,
    Capture,
    Head,
    Output,
    WireError,
    pass_body,
    read_answer,
    read_request,
)

MAX_CONNECTIONS: Final = 512
_SPARE_FILES: Final = 64
_IDLE_S: Final = 75.0
"""A connection without a request is closed after this time, as most servers do."""
_CLIENT_S: Final = 30.0
"""A request that does not go on is given up after this time."""
_TARGET_S: Final = 600.0
"""An answer that does not come, or go on, is given up after this time: longer than clients wait."""
_SWEEP_S: Final = 1.0
_CONNECT_S: Final = 10.0
_INTERIM_LIMIT: Final = 1024 * 1024
_MAX_WAITING: Final = 2_000
_MAX_WAITING_BYTES: Final = 64 * 1024 * 1024
"""Exchanges that wait for the judge, and the size of their bodies; then clients wait too."""
_HOLD_LIMIT: Final = 8 * 1024 * 1024
_LONGEST_TEXT: Final = 300

Record = Callable[[Observation], Exchange | None]
_CONNECTION_ERRORS: Final = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ssl.SSLError)


class Proxy:
    """`await start()`, then `await stop()`. `problem` is set where the judge could not go on."""

    def __init__(
        self, base_url: str, record: Record, *, tls: ssl.SSLContext | None = None, strict: bool = False
    ) -> None:
        parts = urlsplit(base_url)
        self.host, self.port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.netloc = parts.netloc
        self.prefix = parts.path.rstrip("/")
        self.tls = tls if parts.scheme == "https" else None
        self.strict = strict
        self.refused = 0
        self.problem: Exception | None = None
        self.ended = asyncio.Event()
        self.max_connections = max(1, min(MAX_CONNECTIONS, (_open_files() - _SPARE_FILES) // 2))
        self._record = record
        self._connections: set[_Connection] = set()
        self._queue: deque[Observation] = deque()
        self._queued_bytes = 0
        self._has_work, self._has_room = asyncio.Event(), asyncio.Event()
        self._has_room.set()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, host: str, port: int) -> None:
        """Raises like `StreamServer.start`."""
        self._server = StreamServer(self._accept, HEAD_LIMIT)
        await self._server.start(host, port)
        self._tasks = [asyncio.create_task(self._judge_all()), asyncio.create_task(self._sweep())]

    @property
    def port_in_use(self) -> int:
        return self._server.port

    async def stop(self, grace_s: float = 2.0) -> None:
        """Accepts nothing more, lets exchanges in progress end, and judges what waits."""
        await self._server.close()
        deadline = time.monotonic() + grace_s
        while any(c.is_busy for c in self._connections) and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # a connection may have a next exchange, which no event announces
        for connection in list(self._connections):
            connection.abort()
        await self._server.abort(patience_s=0.2)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        while self._queue and self.problem is None:
            self._judge_next()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= self.max_connections:
            self.refused += 1
            text = f"the proxy has {self.max_connections} connections, and takes no further one now"
            with contextlib.suppress(*_CONNECTION_ERRORS, TimeoutError):
                writer.write(refusal(503, "proxy_full", text))
                writer.write_eof()
                await asyncio.wait_for(reader.read(HEAD_LIMIT), 1)  # closed with unread bytes, the answer is lost
            writer.close()
            return
        connection = _Connection(self, reader, writer)
        self._connections.add(connection)
        try:
            await connection.serve()
        except (*_CONNECTION_ERRORS, asyncio.CancelledError):
            pass  # the client or the target has gone
        finally:
            self._connections.discard(connection)
            connection.close()

    def judge(self, observation: Observation) -> Exchange | None:
        """Judges one exchange now; None where it is left out, or where the journal cannot be written."""
        try:
            return self._record(observation)
        except Exception as problem:  # noqa: BLE001 - it ends the run, whose reports name it
            self.problem = self.problem or problem
            self.ended.set()
            return None

    async def hand_over(self, observation: Observation) -> None:
        """Judges an exchange soon; waits where too many are waiting."""
        self._queue.append(observation)
        self._queued_bytes += _size(observation)
        self._has_work.set()
        if len(self._queue) > _MAX_WAITING or self._queued_bytes > _MAX_WAITING_BYTES:
            self._has_room.clear()
            await self._has_room.wait()

    def wait_until_judged(self, patience_s: float = 5.0) -> None:
        """Waits, in another thread than the proxy's, until every exchange that has ended is judged."""
        deadline = time.monotonic() + patience_s
        while (self._queue or any(c.is_busy for c in list(self._connections))) and time.monotonic() < deadline:
            time.sleep(0.002)

    async def _judge_all(self) -> None:
        while True:
            await self._has_work.wait()
            while self._queue:
                self._judge_next()
                await asyncio.sleep(0)
            self._has_work.clear()

    def _judge_next(self) -> None:
        self.judge(self._queue[0])
        self._queued_bytes -= _size(self._queue.popleft())
        if len(self._queue) < _MAX_WAITING // 2 and self._queued_bytes < _MAX_WAITING_BYTES // 2:
            self._has_room.set()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_S)
            now = time.monotonic()
            for connection in list(self._connections):
                if now - connection.active_at > connection.patience_s:
                    connection.abort()


def _size(observation: Observation) -> int:
    return len(observation.body or b"") + len(observation.request_body or b"")


class _Connection:
    """One client's connection, with its own to the target."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy, self._reader, self._writer = proxy, reader, writer
        self._upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.active_at = time.monotonic()
        self.patience_s = _IDLE_S
        self.is_busy = False

    def abort(self) -> None:
        for writer in (self._writer, self._upstream[1] if self._upstream else None):
            if writer is not None:
                writer.transport.abort()

    def close(self) -> None:
        """Sends what was written, then closes both sides."""
        self._writer.close()
        if self._upstream:
            self._upstream[1].transport.abort()

    def _expect(self, patience_s: float) -> None:
        self.active_at, self.patience_s = time.monotonic(), patience_s

    async def serve(self) -> None:
        while True:
            self._expect(_IDLE_S)
            try:
                head = await read_request(self._reader)
                if head is None:
                    return
                self.is_busy = True
                if not await self._exchange(head):
                    return
            except WireError as error:
                await self._refuse(error.status, "not_forwarded", str(error))
                return
            finally:
                self.is_busy = False

    async def _refuse(self, status: int, code: str, text: str, findings: tuple[Finding, ...] = ()) -> None:
        self._writer.write(refusal(status, code, text, findings))
        await self._writer.drain()

    async def _exchange(self, request: Head) -> bool:
        """Whether the connection goes on."""
        if problem := _unforwardable(request):
            await self._refuse(501, "not_forwarded", problem)
            return False
        exchange = _Exchange(self._proxy.origin, request)
        self._expect(_CLIENT_S)
        if self._upstream is not None and self._upstream[0].at_eof():
            self._upstream[1].transport.abort()
            self._upstream = None
        try:
            self._upstream = self._upstream or await self._connect()
        except (*_CONNECTION_ERRORS, TimeoutError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            await self._proxy.hand_over(exchange.observation(trouble=f"no connection: {reason}"))
            text = f"the target {self._proxy.origin} cannot be reached: {reason}"
            await self._refuse(502, "target_gone", text)
            return False
        pump = await self._send(request, exchange)
        try:
            return await self._answer(request, exchange, pump)
        finally:
            if pump is not None and not pump.done():
                pump.cancel()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        connecting = asyncio.open_connection(self._proxy.host, self._proxy.port, ssl=self._proxy.tls, limit=HEAD_LIMIT)
        return await asyncio.wait_for(connecting, _CONNECT_S)

    async def _send(self, request: Head, exchange: _Exchange) -> asyncio.Task[None] | None:
        """Sends the request; its body in a task, since the target may answer before it has all of it."""
        assert self._upstream is not None
        writer = self._upstream[1]
        writer.write(request.with_host(self._proxy.netloc))
        if not request.has_body:
            self._expect(_TARGET_S)
            return None
        return asyncio.create_task(self._pump(request, writer, exchange))

    async def _pump(self, request: Head, writer: asyncio.StreamWriter, exchange: _Exchange) -> None:
        try:
            await pass_body(request, self._reader, Output(writer), exchange.sent)
            await writer.drain()
            self._expect(_TARGET_S)
        except (*_CONNECTION_ERRORS, WireError):
            exchange.is_abandoned = True
            writer.transport.abort()

    async def _answer(self, request: Head, exchange: _Exchange, pump: asyncio.Task[None] | None) -> bool:
        assert self._upstream is not None
        output = Output(self._writer, _HOLD_LIMIT if self._proxy.strict else 0)
        head, trouble = None, ""
        try:
            head = await self._final_head(request.method, self._upstream[0])
            if head is not None:
                await output.write(head.raw)
                await pass_body(head, self._upstream[0], output, exchange.received)
                exchange.is_whole = True
        except _CONNECTION_ERRORS as error:
            trouble = f"the connection was lost: {getattr(error, 'strerror', None) or type(error).__name__}"
        except WireError as error:
            trouble = str(error)
        return await self._conclude(request, head, exchange, output, trouble, pump)

    async def _final_head(self, method: str, upstream: asyncio.StreamReader) -> Head | None:
        """The head of the answer, after those of interim answers, which are passed on; None where there is none."""
        interim_bytes = 0
        while (head := await read_answer(upstream, method)) is not None and head.status < 200:
            if head.status == 101:
                raise WireError("the target switched protocols, which is not forwarded", 502)
            interim_bytes += len(head.raw)
            if interim_bytes > _INTERIM_LIMIT:
                raise WireError(f"interim answers of more than {_INTERIM_LIMIT:,} bytes", 502)
            self._writer.write(head.raw)
            await self._writer.drain()
        return head

    async def _conclude(
        self,
        request: Head,
        head: Head | None,
        exchange: _Exchange,
        output: Output,
        trouble: str,
        pump: asyncio.Task[None] | None,
    ) -> bool:
        """Hands the exchange over, and says whether the connection goes on."""
        is_sent = pump is None or pump.done()
        exchange.is_sent = is_sent
        observation = exchange.observation(
            head, trouble or ("" if head else "the connection was closed without an answer")
        )
        if output.holds and head is not None and exchange.is_whole:
            judged = self._proxy.judge(observation)
            broken = tuple(
                f
                for f in (judged.findings if judged else ())
                if f.level is Level.REQUIRED and f.code not in _NOT_BROKEN
            )
            if broken:
                await self._refuse(502, "target_broke_requirement", broken[0].message, broken)
                return False
            await output.release()
        else:
            if output.holds:
                await output.release()
            if not exchange.is_abandoned:
                await self._proxy.hand_over(observation)
        if head is None or not exchange.is_whole:
            self.abort()  # the client sees what the target did
            return False
        goes_on = is_sent and request.keeps_alive and head.keeps_alive and (head.is_chunked or head.length is not None)
        if not goes_on:
            await self._writer.drain()
        return goes_on


class _Exchange:
    """One exchange while it goes through."""

    def __init__(self, origin: str, request: Head) -> None:
        self._origin = origin
        self._request = request
        self.started = time.time()
        self._started_monotonic = time.monotonic()
        self.sent, self.received = Capture(), Capture()
        self.is_whole = False
        self.is_sent = True
        self.is_abandoned = False

    def observation(self, answer: Head | None = None, trouble: str = "") -> Observation:
        request = self._request
        has_body = request.has_body or any(name.lower() == "content-length" for name, _ in request.headers)
        return Observation(
            method=request.method,
            url=self._origin + request.target.partition("#")[0],
            request_headers=request.headers,
            request_body=self.sent.body if has_body else None,
            status=answer.status if answer else None,
            headers=answer.headers if answer else (),
            body=self.received.body if answer else b"",
            started=self.started,
            duration_s=time.monotonic() - self._started_monotonic,
            trouble=trouble,
            request_cut=self.sent.is_cut or not self.is_sent,
            cut=self.received.is_cut or not self.is_whole,
        )


_NOT_BROKEN: Final = ("shape", "too-long")
_REASONS: Final = {
    400: "Bad Request",
    431: "Request Header Fields Too Large",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


def refusal(status: int, code: str, message: str, findings: tuple[Finding, ...] = ()) -> bytes:
    """An answer of the proxy itself, as JSON that says so."""
    error = {"code": code, "message": f"conformance proxy: {message[:_LONGEST_TEXT]}"}
    listed = [{"requirement": f.requirement, "message": f.message[:_LONGEST_TEXT]} for f in findings]
    body = json.dumps({"error": {**error, **({"findings": listed} if listed else {})}}).encode()
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode("ascii") + b"Connection: close\r\n\r\n" + body


def _unforwardable(request: Head) -> str:
    """Why a request is not forwarded; empty where it is."""
    if request.is_upgrade or request.method == "PRI":
        return "upgrades and tunnels (WebSocket, HTTP/2, CONNECT) are not forwarded"
    if not request.target.startswith("/"):
        return "this is a reverse proxy: use its address in place of the base URL, not as HTTP_PROXY"
    return ""


def _open_files() -> int:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS * 4 if limit == resource.RLIM_INFINITY else limit
