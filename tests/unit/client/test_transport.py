"""Whatever a target does, Transport.send gives a RawAnswer, bounded in time and size. All against real sockets."""

from __future__ import annotations

import asyncio
import gzip
import time
import tracemalloc
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.client import transport as transports
from conformance.client.request import Wire
from conformance.client.transport import RawAnswer, Transport

TIMEOUT_S = 0.25
BOUND = 200_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
OK = HEAD + b"Content-Length: 2\r\n\r\n{}"


def wire(target: str = "/a", *, method: str = "GET", content: bytes | None = None) -> Wire:
    return Wire(method, target, (("Accept", "application/json"),), content)


async def _sent(transport: Transport, one: Wire) -> RawAnswer:
    started = time.perf_counter()
    raw = await transport.send(one)
    assert time.perf_counter() - started < transport._timeout_s + 20  # silence lasts 60 s
    assert (raw.status is None) == bool(raw.trouble)
    return raw


def converse(
    scripted: Any, script: Any, *, times: int = 1, timeout_s: float = 5, **options: Any
) -> tuple[list[RawAnswer], Any]:
    """The answers to some equal requests, one after the other, and the target that gave them."""

    async def main() -> tuple[list[RawAnswer], Any]:
        async with scripted(script) as target, Transport(target.url, timeout_s=timeout_s) as transport:
            return [await _sent(transport, wire(**options)) for _ in range(times)], target

    return asyncio.run(main())


def flood(first: bytes, piece: bytes, pause_s: float = 0.0) -> Callable[..., Awaitable[None]]:
    """A script that never stops sending."""

    async def script(arrived: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return script


def hang_up_after(raw: bytes) -> Callable[..., Awaitable[None]]:
    async def script(arrived: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()

    return script


async def reset(arrived: Any, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def silence(arrived: Any, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


NO_ANSWER: dict[str, Any] = {
    "hangs up": lambda arrived: None,
    "resets": reset,
    "says nothing": silence,
    "garbage": hang_up_after(b"\x00\x01\x02 nonsense\r\n\r\n"),
    "garbage status": hang_up_after(b"HTTP/1.1 abc OK\r\n\r\n"),
    "another protocol": hang_up_after(b"SSH-2.0-OpenSSH_9.0\r\n"),
    "half a status line": hang_up_after(b"HTTP/1.1 20"),
    "half a header": hang_up_after(HEAD + b"X-Half: a"),
    "bad header": hang_up_after(HEAD + b"no colon here\r\nContent-Length: 0\r\n\r\n"),
    "too short a body": hang_up_after(HEAD + b"Content-Length: 10\r\n\r\n{}"),
    "never ends its body": flood(HEAD + b"Content-Length: 10\r\n\r\n", b""),
    "bad length": hang_up_after(HEAD + b"Content-Length: ten\r\n\r\n{}"),
    "negative length": hang_up_after(HEAD + b"Content-Length: -1\r\n\r\n{}"),
    "two lengths": hang_up_after(HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
    "bad chunks": hang_up_after(HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n"),
    "torn chunks": hang_up_after(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{}"),
    "10 MB in a header": hang_up_after(HEAD + b"X-Long: " + b"a" * 10_000_000 + b"\r\nContent-Length: 2\r\n\r\n{}"),
    "100,000 headers": hang_up_after(HEAD + b"X-A: b\r\n" * 100_000 + b"Content-Length: 2\r\n\r\n{}"),
    "endless headers": flood(HEAD, b"X-A: b\r\n" * 100),
    "endless status line": flood(b"HTTP/1.1 200 ", b"a" * 65536),
    "endless trailer": flood(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Long: ", b"a" * 65536),
    "endless chunk extension": flood(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;a=", b"b" * 65536),
    "a byte now and then": flood(HEAD + b"Content-Length: 999\r\n\r\n", b" ", 0.1),
    "a header byte now and then": flood(HEAD + b"X-Slow: ", b"a", 0.1),
    "endless 100": flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "endless 103": flood(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100),
    "torn gzip": hang_up_after(HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b'{"a": 1}' * 99)[:-20]),
    "no gzip": hang_up_after(HEAD + b"Content-Encoding: gzip\r\n\r\n{}"),
}


@pytest.mark.parametrize("name", NO_ANSWER)
def test_trouble_is_told_and_never_raised(scripted: Any, name: str) -> None:
    """Where no whole answer can be read there is no status, but words for what went wrong, in bounded time."""
    (raw,), _ = converse(scripted, NO_ANSWER[name], timeout_s=TIMEOUT_S)
    assert raw.status is None
    assert len(raw.trouble) < 400


@pytest.mark.parametrize("name", ["endless trailer", "endless chunk extension"])
def test_fields_behind_the_head_are_bounded(scripted: Any, name: str) -> None:
    """The parser collects a field without a bound: the answer ends long before its time does."""
    (raw,), _ = converse(scripted, NO_ANSWER[name], timeout_s=30.0)
    assert "does not end" in raw.trouble
    assert raw.duration_s < 15.0


@pytest.mark.parametrize("name", ["resets", "says nothing", "bad header", "endless 100", "never ends its body"])
def test_after_trouble_the_next_request_goes_well(scripted: Any, answer: Any, name: str) -> None:
    """Trouble spoils its own exchange only, whichever connections it broke."""
    first = True

    async def script(arrived: Any, writer: asyncio.StreamWriter) -> bytes | None:
        nonlocal first
        if not first:
            return answer()
        first = False
        made = NO_ANSWER[name](arrived, writer)
        return await made

    async def main() -> None:
        async with scripted(script) as target, Transport(target.url, timeout_s=TIMEOUT_S) as transport:
            assert (await _sent(transport, wire())).status is None
            transport._timeout_s = 5
            assert [(await _sent(transport, wire())).status for _ in range(3)] == [200, 200, 200]

    asyncio.run(main())


def test_nobody_there(unused_port: int) -> None:
    """A closed port is told as a connection that cannot be made."""

    async def main() -> RawAnswer:
        async with Transport(f"http://127.0.0.1:{unused_port}", timeout_s=TIMEOUT_S) as transport:
            return await _sent(transport, wire())

    raw = asyncio.run(main())
    assert raw.status is None
    assert "connect" in raw.trouble.lower()


@pytest.mark.parametrize("status", [101, 199, 200, 204, 205, 304, 302, 418, 503, 600, 999])
def test_any_final_status_is_read(scripted: Any, status: int) -> None:
    """A status that nobody declared is still an answer, if it is one at all by HTTP."""
    raws, _ = converse(scripted, hang_up_after(b"HTTP/1.1 %d Odd\r\nContent-Length: 0\r\n\r\n" % status))
    allowed = {101: (101, None), 199: (None,)}.get(status, (status,))  # 101 answers an Upgrade that was never sent
    assert raws[0].status in allowed


def test_interim_answers_are_passed_over(scripted: Any, answer: Any) -> None:
    """100 and 103 come before the answer and are none."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    raws, _ = converse(scripted, lambda arrived: interim + answer(403))
    assert raws[0].status == 403


@pytest.mark.parametrize("location", ["/b", "http://[", "http://127.0.0.1:1/", "\x00", "javascript:x"])
def test_no_redirect_is_followed(scripted: Any, answer: Any, location: str) -> None:
    """A redirect is the answer, wherever it points."""
    location = location.replace("\x00", "%00")
    raws, target = converse(scripted, lambda arrived: answer(302, Location=location))
    assert raws[0].status == 302
    assert len(target.arrived) == 1


@pytest.mark.parametrize("cookie", ["a=b; Path=/", "a=b; Domain=127.0.0.1", "=;;;=", "a=\xe9", ""])
def test_no_cookie_is_kept(scripted: Any, answer: Any, cookie: str) -> None:
    """What one answer sets, no later request carries."""
    raws, target = converse(scripted, lambda arrived: answer(Set_Cookie=cookie), times=3)
    assert [raw.status for raw in raws] == [200, 200, 200]
    assert not any(arrived.all("Cookie") for arrived in target.arrived)


def test_proxies_and_netrc_of_the_environment_are_ignored(
    scripted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only the base URL says where requests go, and only the profile who sends them."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    raws, target = converse(scripted, lambda arrived: OK)
    assert raws[0].status == 200
    assert target.arrived[0].all("Authorization") == []


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
def test_no_request_is_repeated_behind_the_suites_back(scripted: Any, method: str) -> None:
    """A kept connection that the target closes is trouble to be told: repeating is the flow's, which records it."""
    answers = iter([OK, None, OK])
    raws, target = converse(scripted, lambda arrived: next(answers), times=3, method=method)
    assert [raw.status for raw in raws] == [200, None, 200]
    assert len(target.arrived) == 3


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("gzip", gzip.compress(b'{"data": {}}')),
        ("GZIP", gzip.compress(b'{"data": {}}')),
        ("x-gzip", gzip.compress(b'{"data": {}}')),
        ("gzip", gzip.compress(b'{"data"') + gzip.compress(b": {}}")),
        ("gzip", gzip.compress(b'{"data": {}}') + b"\0" * 20),
        ("deflate", zlib.compress(b'{"data": {}}')),
        ("deflate", zlib.compress(b'{"data": {}}', wbits=-15)),
        ("identity", b'{"data": {}}'),
        ("gzip, identity", gzip.compress(b'{"data": {}}')),
        ("deflate, GZIP", gzip.compress(zlib.compress(b'{"data": {}}'))),
        ("gzip, br", b'{"data": {}}'),
    ],
    ids=[
        "gzip",
        "upper case",
        "x-gzip",
        "two members",
        "padded",
        "deflate",
        "raw deflate",
        "identity",
        "list",
        "two codings",
        "unknown coding",
    ],
)
def test_encoded_bodies_are_decoded(scripted: Any, answer: Any, encoding: str, content: bytes) -> None:
    """The body is what the target meant, whichever coding carried it, in however many pieces."""

    async def in_pieces(arrived: Any, writer: asyncio.StreamWriter) -> None:
        raw = answer(body=content, Content_Encoding=encoding)
        for start in range(0, len(raw), 40):
            writer.write(raw[start : start + 40])
            await asyncio.sleep(0.002)

    for script in (in_pieces, lambda arrived: answer(body=content, Content_Encoding=encoding)):
        (raw,), _ = converse(scripted, script)
        assert (raw.status, raw.body, raw.truncated) == (200, b'{"data": {}}', False)


@pytest.mark.parametrize("encoding", ["", "Content-Encoding: gzip\r\n"])
def test_an_empty_body_is_empty_in_any_coding(scripted: Any, encoding: str) -> None:
    """Nothing inflates to nothing."""
    raw = HEAD + encoding.encode() + b"Content-Length: 0\r\n\r\n"
    raws, _ = converse(scripted, lambda arrived: raw)
    assert (raws[0].status, raws[0].body) == (200, b"")


def test_members_without_content_end_an_answer(scripted: Any, answer: Any) -> None:
    """Ten thousand bytes may hold as many compressed members as take a minute to read: no loop of the run waits."""
    content = gzip.compress(gzip.compress(b"") * 200_000, 9)
    (raw,), _ = converse(scripted, lambda arrived: answer(body=content, Content_Encoding="gzip, gzip"))
    assert raw.status is None and "compressed members" in raw.trouble
    assert raw.duration_s < 2


def test_what_a_coding_inflates_to_is_bounded(scripted: Any, answer: Any) -> None:
    """Also where the next coding makes little of it."""
    zeros = gzip.compress(b"{}") + bytes(40_000_000)
    (raw,), _ = converse(scripted, lambda arrived: answer(body=gzip.compress(zeros), Content_Encoding="gzip, gzip"))
    assert (raw.status, raw.body, raw.truncated) == (200, b"{}", True)


def _bomb() -> bytes:
    """A gzip stream of some 30 KB that inflates to 30 MB."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(b"\0" * 1_000_000) for _ in range(30)) + packer.flush()


@pytest.mark.parametrize("kind", ["bomb", "endless", "endless chunks", "announced"])
def test_long_bodies_are_cut(scripted: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """MAX_BODY bytes are read, not more, and memory stays in proportion."""
    monkeypatch.setattr(transports, "MAX_BODY", BOUND)
    chunk = b"10000\r\n" + b"a" * 65536 + b"\r\n"
    script = {
        "bomb": hang_up_after(HEAD + b"Content-Encoding: gzip\r\n\r\n" + _bomb()),
        "endless": flood(HEAD + b"\r\n", b"a" * 65536),
        "endless chunks": flood(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", chunk),
        "announced": flood(HEAD + b"Content-Length: 99999999999\r\n\r\n", b"a" * 65536),
    }[kind]

    async def main() -> RawAnswer:
        async with scripted(script) as target, Transport(target.url, timeout_s=8) as transport:
            tracemalloc.start()
            raw = await transport.send(wire())
            assert tracemalloc.get_traced_memory()[1] < 2_000_000 + 8 * BOUND
            tracemalloc.stop()
            return raw

    raw = asyncio.run(main())
    assert (raw.status, len(raw.body), raw.truncated) == (200, BOUND, True)


def test_a_body_of_exactly_the_bound_is_whole(scripted: Any, answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound itself is not cut."""
    monkeypatch.setattr(transports, "MAX_BODY", BOUND)

    async def main() -> RawAnswer:
        script = lambda arrived: answer(body=b"a" * BOUND)
        async with scripted(script) as target, Transport(target.url, timeout_s=8) as transport:
            return await transport.send(wire())

    raw = asyncio.run(main())
    assert (len(raw.body), raw.truncated) == (BOUND, False)


def test_more_than_was_announced_is_not_the_body(scripted: Any) -> None:
    """Content-Length ends the body; what follows spoils no later exchange."""
    longer = HEAD + b"Content-Length: 2\r\n\r\n{} and more"
    raws, _ = converse(scripted, lambda arrived: longer, times=2)
    assert raws[0].status is None or (raws[0].status, raws[0].body) == (200, b"{}")
    assert raws[1].status in (None, 200)


def test_a_refusal_before_the_body_was_read(scripted: Any, answer: Any) -> None:
    """A target that answers early and hangs up is heard, or its trouble told."""

    async def main() -> RawAnswer:
        async def early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer(413, Connection="close"))
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(early, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, Transport(url, timeout_s=TIMEOUT_S) as transport:
            return await _sent(transport, wire(method="POST", content=b"a" * (3_000_000)))

    assert asyncio.run(main()).status in (413, None)


def test_header_bytes_come_back_as_they_were(scripted: Any, answer: Any) -> None:
    """Header values are shown byte for byte, as latin-1, repeated ones each."""
    raws, _ = converse(scripted, lambda arrived: answer(X_A="\xe9", x_a="b"))
    assert [value for name, value in raws[0].headers if name.lower() == "x-a"] == ["\xe9", "b"]


def test_a_wire_that_nobody_can_write_is_our_own_fault(scripted: Any) -> None:
    """A line break in a header or a blank in a target is not a trouble of the target's: it is raised."""

    async def main() -> None:
        async with scripted() as target, Transport(target.url, timeout_s=5) as transport:
            for bad in (Wire("GET", "/a", (("X", "a\r\nb"),), None), Wire("GET", "/a b", (), None)):
                with pytest.raises(RuntimeError, match="cannot write"):
                    await transport.send(bad)
            assert (await transport.send(wire())).status == 200

    asyncio.run(main())


def test_many_at_once_share_nothing(scripted: Any, answer: Any) -> None:
    """Each of many concurrent requests gets its own answer."""

    async def main() -> None:
        async def script(arrived: Any) -> bytes:
            await asyncio.sleep(0.01)
            return answer(200, {"data": {"target": arrived.target}})

        async with scripted(script) as target, Transport(target.url, timeout_s=5) as transport:
            wires = [wire(f"/a/{number}") for number in range(120)]
            raws = await asyncio.gather(*map(transport.send, wires))
        assert all(one.target.encode() in raw.body for one, raw in zip(wires, raws, strict=True))

    asyncio.run(main())
