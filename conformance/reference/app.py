"""The public app: receives a request, runs it through the target's policy, sends the reply. A plain ASGI application,
for speed.

Operations without a database run in the event loop, which costs half as much; all others in a thread pool, so that
requests overlap.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from conformance.reference import pipeline
from conformance.reference.call import Call, Reply, Request
from conformance.reference.hub import Hub, Target

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

THREADS = 32
CHUNK = 64


class PublicApp:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="reference")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        raw_path = scope.get("raw_path") or scope["path"].encode()
        target, path = self._hub.find(raw_path)
        body = await _read_body(
            receive, target.policy.reading.max_bytes, takes_part=target.policy.transport.takes_part_of_body
        )
        if body is None:
            return
        call = target.call(_request(scope, target, path, body))
        transport = target.policy.transport
        if transport.latency_s and target.limiter.count_call() % transport.latency_every == 0:
            await asyncio.sleep(transport.latency_s)
        reply = await _run_steps(pipeline.reply(call), None if target.needs_no_thread(call) else self._pool)
        if target.store.outbox:
            target.store.outbox = False
            self._hub.courier.wake(target.store)
        await _send(send, call, reply)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _run_steps(steps: Generator[float, None, Reply], pool: ThreadPoolExecutor | None) -> Reply:
    """Runs a call step by step, in the event loop or in threads; waits block neither."""
    while True:
        step = _step(steps) if pool is None else await asyncio.get_running_loop().run_in_executor(pool, _step, steps)
        if isinstance(step, Reply):
            return step
        await asyncio.sleep(step)


def _step(steps: Generator[float, None, Reply]) -> float | Reply:
    """The seconds to wait before the next step, or the reply of the last one."""
    try:
        return next(steps)
    except StopIteration as end:
        return cast(Reply, end.value)


def _request(scope: Scope, target: Target, path: bytes, body: bytes) -> Request:
    peer = scope["client"][1] if scope.get("client") else 0
    headers = tuple((bytes(name), bytes(value)) for name, value in scope["headers"])
    return Request(
        scope["method"], path, headers, body, scope["query_string"], target.prefix, scope.get("scheme", "http"), peer
    )


async def _read_body(receive: Receive, limit: int, *, takes_part: bool) -> bytes | None:
    """The whole body, or enough of it to see that it is too large.

    Where the client disconnected, the part that came, if that is taken, or None.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"".join(parts) if takes_part else None
        part = message.get("body", b"")
        size += len(part)
        if size <= limit + 1 + len(part):
            parts.append(part)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


async def _send(send: Send, call: Call, reply: Reply) -> None:
    transport = call.policy.transport
    is_gzip = transport.gzip and bool(reply.body) and "gzip" in (call.request.header(b"accept-encoding") or "")
    body = gzip.compress(reply.body, mtime=0) if is_gzip else reply.body
    headers = [(name.encode(), value.encode("latin-1")) for name, value in reply.headers]
    if is_gzip:
        headers.append((b"content-encoding", b"gzip"))
    if transport.close:
        headers.append((b"connection", b"close"))
    if not transport.chunked and reply.status != 204:
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if transport.loses(call, reply):
        return  # uvicorn closes the connection of an answer that is not complete
    if transport.chunked:
        for start in range(0, len(body), CHUNK):
            await send({"type": "http.response.body", "body": body[start : start + CHUNK], "more_body": True})
        body = b""
    await send({"type": "http.response.body", "body": body})
