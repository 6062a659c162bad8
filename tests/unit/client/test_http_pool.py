"""Connections to an origin: kept, closed, and opened through a proxy."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import Any
from urllib.parse import urlsplit

import pytest

from conformance.client.http_pool import HttpClient, HttpPool, host_header

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://a", "a"),
        ("http://a:80", "a"),
        ("http://a:443", "a:443"),
        ("https://a:443/x", "a"),
        ("http://[::1]:8080/", "[::1]:8080"),
        ("http://me:secret@a:81", "a:81"),
        ("http://bücher.example:81", "xn--bcher-kva.example:81"),
    ],
)
def test_the_host_of_a_url(url: str, host: str) -> None:
    """Without a default port, a user, or letters that a host name cannot have."""
    assert host_header(urlsplit(url)) == host


def test_a_connection_is_used_again_unless_its_end_was_announced() -> None:
    """One after the other share a connection; `Connection: close` and HTTP/1.0 end it."""
    answers = iter([OK, OK, OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), OK.replace(b"1.1", b"1.0"), OK])
    opened: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(0)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                opened[-1] += 1
                writer.write(next(answers))
        writer.transport.abort()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        pool = HttpPool(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", 100)
        async with server:
            for _ in range(5):
                assert (await pool.request("GET", "/", (), None, 5)).body == b"{}"
            await pool.aclose()
            await asyncio.sleep(0.05)

    asyncio.run(main())
    assert opened == [3, 1, 1]


async def _forwarded(origin: str, answer: bytes) -> list[bytes]:
    """The first lines that a proxy sees."""
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        if origin.startswith("https"):
            pool = HttpPool(origin, 100, tls=ssl.create_default_context(), proxy=proxy)
            with pytest.raises(OSError, match="403"):
                await pool.request("GET", "/x", (), None, 5)
        else:
            pool = HttpPool(origin, 100, proxy=proxy)
            assert (await pool.request("GET", "/x?y", (), None, 5)).status == 200
        await pool.aclose()
    return seen


@pytest.mark.parametrize(
    ("origin", "target"),
    [("http://a.example:81", b"http://a.example:81"), ("http://[::1]:81", b"http://[::1]:81"),
     ("http://b\u00fccher.example", b"http://xn--bcher-kva.example")],
)  # fmt: skip
def test_a_proxy_forwards_the_whole_url(origin: str, target: bytes) -> None:
    """RFC 9112 section 3.2.2: a request to a proxy names the origin in its target, with A-labels only."""
    assert asyncio.run(_forwarded(origin, OK)) == [b"GET " + target + b"/x?y HTTP/1.1"]


@pytest.mark.parametrize(
    ("origin", "target"),
    [("https://a.example", b"a.example:443"), ("https://[::1]:444", b"[::1]:444"),
     ("https://b\u00fccher.example", b"xn--bcher-kva.example:443")],
)  # fmt: skip
def test_https_goes_through_a_tunnel_or_not_at_all(origin: str, target: bytes) -> None:
    """Nothing is sent in clear where the proxy opens no tunnel, whose target is host and port (RFC 9112, 3.2.3)."""
    refusal = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
    assert asyncio.run(_forwarded(origin, refusal)) == [b"CONNECT " + target + b" HTTP/1.1"]


def test_a_test_api_may_have_any_url(scripted: Any) -> None:
    """Escapes are sent as they are, other characters encoded, a user named by basic authentication."""

    async def main() -> list[tuple[str, list[str]]]:
        async with scripted() as target:
            client = HttpClient()
            for url in (f"{target.url}/a%2fb?q=ä", f"{target.url.replace('//', '//me:p%40ss@')}"):
                assert (await client.request("GET", url, (), None, 5)).status == 200
            await client.aclose()
            return [(arrived.target, arrived.all("Authorization")) for arrived in target.arrived]

    assert asyncio.run(main()) == [("/a%2fb?q=%C3%A4", []), ("/", ["Basic bWU6cEBzcw=="])]


@pytest.mark.parametrize("url", ["ftp://a/b", "/only/a/path", "http://"])
def test_what_is_no_http_url_is_refused(url: str) -> None:
    """A test API that cannot be called is an error of its caller, said with the URL."""
    with pytest.raises(ValueError, match="HTTP URL"):
        asyncio.run(HttpClient().request("GET", url, (), None, 5))


def test_connections_are_used_in_turn() -> None:
    """Behind one address may be several processes: what comes again soon should not always reach the same one."""
    serving: list[Any] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.current_task())
        name = b"%02d" % len(serving)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(OK.replace(b"{}", name))
        writer.close()

    async def main() -> list[bytes]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        pool = HttpPool(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", 100)
        await asyncio.gather(*(pool.request("GET", "/", (), None, 5) for _ in range(3)))
        bodies = [(await pool.request("GET", "/", (), None, 5)).body for _ in range(6)]
        await pool.aclose()
        await asyncio.wait(serving)
        server.close()
        return bodies

    bodies = asyncio.run(main())
    assert len(set(bodies[:3])) == 3
    assert bodies[3:] == bodies[:3]


def test_a_server_may_close_a_kept_connection_at_any_time() -> None:
    """After one that was closed while in use, others follow on new connections for a while (RFC 9112 section 9.5)."""
    uses: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(uses)
        uses.append(0)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n") and not uses[number]:
                uses[number] += 1
                writer.write(OK)
        writer.transport.abort()  # with the second request, before its answer

    async def main() -> list[bool]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        pool = HttpPool(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", 100)
        answered = []
        async with server:
            await asyncio.gather(*(pool.request("GET", "/", (), None, 5) for _ in range(4)))
            for fresh in (True, False, False, False, False, True):
                try:
                    await pool.request("GET", "/", (), None, 5, fresh=fresh)
                    answered.append(True)
                except OSError:
                    answered.append(False)
            await pool.aclose()
            await asyncio.sleep(0.05)
        return answered

    assert asyncio.run(main()) == [True, False, True, True, True, True]
    assert uses == [1] * 9


@pytest.mark.parametrize(
    ("keeps", "content", "status", "connections"),
    [
        (True, b"{}", 400, 1),
        (False, b"{}", 400, 3),
        (False, b"{}", 200, 1),
        (False, None, 400, 1),
        (True, b"a" * 20_000, 400, 3),
        (True, b"a" * 20_000, 200, 1),
    ],
)
def test_a_connection_is_kept_where_what_was_refused_is_known_to_be_read(
    scripted: Any, answer: Any, keeps: bool, content: bytes | None, status: int, connections: int
) -> None:
    """Else its rest might be read as the next request; large content may be refused before it was read."""

    async def main() -> int:
        async with scripted(lambda arrived: answer(status, {"error": "no"})) as target:
            pool = HttpPool(target.url, 1000)
            pool.keeps_refused = keeps
            for _ in range(3):
                await pool.request("POST", "/", (), content, 5)
            await pool.aclose()
            return int(target.connections)

    assert asyncio.run(main()) == connections


def test_the_requests_of_a_context_use_one_connection_of_their_own(scripted: Any, answer: Any) -> None:
    """Whatever is kept beside it; where the server closes it, the next request needs a new one."""

    async def main() -> tuple[list[int], bool, bool]:
        def script(arrived: Any) -> bytes:
            return bytes(answer(200, Connection="close") if arrived.target == "/last" else answer(400, {}))

        async with scripted(script) as target:
            pool = HttpPool(target.url, 1000)
            pool.keeps_refused = False
            await pool.request("GET", "/", (), None, 5)
            with pool.one_connection() as place:
                for _ in range(2):
                    await pool.request("POST", "/", (), b"{}", 5)
                await pool.request("GET", "/last", (), None, 5)
                before = place.lasted
                await pool.request("GET", "/", (), None, 5)
            await pool.request("GET", "/", (), None, 5)
            await pool.aclose()
            return [arrived.connection for arrived in target.arrived], before, place.lasted

    assert asyncio.run(main()) == ([1, 2, 2, 2, 3, 1], True, False)


def test_the_connection_of_a_context_is_of_its_own_pool(scripted: Any, answer: Any) -> None:
    """What another origin gets, such as a test API, never goes out on it."""

    async def main() -> tuple[int, int]:
        async with scripted(lambda arrived: answer()) as target, scripted(lambda arrived: answer()) as other:
            pool, client = HttpPool(target.url, 1000), HttpClient()
            with pool.one_connection():
                await pool.request("GET", "/", (), None, 5)
                await client.request("POST", f"{other.url}/restore", (), b"{}", 5)
                await pool.request("GET", "/", (), None, 5)
            await pool.aclose()
            await client.aclose()
            return len(target.arrived), len(other.arrived)

    assert asyncio.run(main()) == (2, 1)
