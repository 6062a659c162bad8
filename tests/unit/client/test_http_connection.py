"""What is written to a connection, byte for byte; what is read from one is held by the tests of the transport."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from conformance.client.http_connection import HttpConnection, MalformedRequest, serialize

BAD: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "a blank in the target": ("/a b", ()),
    "a control character in the target": ("/a\x7f", ()),
    "a byte that is not ASCII in the target": ("/\xe9", ()),
    "a line break in a value": ("/", (("X", "a\r\nY: b"),)),
    "a lone line feed": ("/", (("X", "a\nb"),)),
    "a blank in a name": ("/", (("X y", "a"),)),
    "an outer blank": ("/", (("X", " a"),)),
    "NUL": ("/", (("X", "a\x00b"),)),
    "an empty name": ("/", (("", "a"),)),
}


@pytest.mark.parametrize(
    ("method", "content", "length"),
    [
        ("GET", None, None),
        ("HEAD", None, None),
        ("GET", b"", 0),
        ("POST", None, 0),
        ("DELETE", None, 0),
        ("PATCH", b"{}", 2),
        ("DELETE", b"{}", 2),
    ],
)
def test_a_length_is_sent_where_a_body_is_or_could_be(method: str, content: bytes | None, length: int | None) -> None:
    """RFC 9110 section 8.6: no length where no body is expected and there is none."""
    lines = serialize(method, "/a", "h:1", (("X", "y"),), content).split(b"\r\n")
    assert lines[:3] == [method.encode() + b" /a HTTP/1.1", b"Host: h:1", b"X: y"]
    assert lines[3:] == [*([] if length is None else [b"Content-Length: %d" % length]), b"", content or b""]


def test_headers_of_the_caller_come_first() -> None:
    """Host and Content-Length of the caller replace those that would be written; Host stands first."""
    raw = serialize("POST", "/", "h", (("X", "1"), ("host", "other"), ("content-length", "9")), b"{}")
    assert raw == b"POST / HTTP/1.1\r\nhost: other\r\nX: 1\r\ncontent-length: 9\r\n\r\n{}"


@pytest.mark.parametrize(
    ("content", "chunks"),
    [(b"abcde", b"3\r\nabc\r\n2\r\nde\r\n"), (b"a", b"1\r\na\r\n"), (b"", b""), (None, b"")],
)
def test_a_body_in_chunks_has_no_length(content: bytes | None, chunks: bytes) -> None:
    """RFC 9112 section 7.1: the last chunk is empty."""
    raw = serialize("POST", "/", "h", (("Transfer-Encoding", "chunked"),), content)
    assert raw == b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("value", "raw"), [("\xe9", b"\xe9"), ("€", "€".encode()), ("", b""), ("a\tb  c", b"a\tb  c"), ("\x01", b"\x01")]
)
def test_values_are_latin_1_or_else_utf_8(value: str, raw: bytes) -> None:
    """Each value by itself: one that needs UTF-8 changes no other."""
    assert b"\r\nX: " + raw + b"\r\nY: \xe9\r\n" in serialize("GET", "/", "h", (("X", value), ("Y", "\xe9")), None)


@pytest.mark.parametrize("name", BAD)
def test_what_http_cannot_carry_is_refused(name: str) -> None:
    """No header is smuggled into a request, and none changed so that it fits."""
    target, headers = BAD[name]
    with pytest.raises(MalformedRequest):
        serialize("GET", target, "h", headers, None)


def test_many_headers_are_matched_in_linear_time() -> None:
    """A long value with blanks is not a trap for the regular expression."""
    value: Any = "a " * 50_000 + "b"
    assert len(serialize("GET", "/", "h", (("X", value), ("Y", value)), None)) > 200_000


class _Wire(asyncio.Transport):
    """A transport that sends nothing, and knows whether it was aborted."""

    aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None:
        self.aborted = True


def test_a_connection_whose_caller_is_gone_is_closed() -> None:
    """Cancelled just when the answer is complete: nobody else would close it."""

    async def main() -> bool:
        wire, connection = _Wire(), HttpConnection(100)
        connection.connection_made(wire)
        caller = asyncio.ensure_future(connection.exchange("GET", b"", 5))
        await asyncio.sleep(0)
        connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        caller.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await caller
        return wire.aborted

    assert asyncio.run(main())
