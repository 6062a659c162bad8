"""One HTTP/1.1 connection (RFC 9112): a request's bytes go out as they are, and one bounded answer is read.

Nothing is normalized, repeated, followed or kept: what leaves is what the caller wrote.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

import httptools

Headers = Sequence[tuple[str, str]]

_MAX_FIELD: Final = 64 * 1024
_MAX_FIELDS: Final = 4096
_MAX_HEAD: Final = 1024 * 1024
"""Maximum number of bytes of a header section, interim answers included, and of trailers and chunk headers."""
_CODINGS: Final = frozenset({"gzip", "x-gzip", "deflate"})
"""The content codings that are decoded; a body in another one is left as it is."""
_MAX_CODINGS: Final = 3
"""Maximum number of codings of a body that is decoded."""
_MAX_MEMBERS: Final = 1000
"""Maximum number of gzip members in a body: a program that compresses blocks makes one for each 64 KB."""
_PIECE: Final = 4096
"""Bytes that are inflated at once."""
_WITHOUT_LENGTH: Final = frozenset({"CONNECT", "GET", "HEAD", "OPTIONS", "TRACE"})
"""A request of another method without content says so (RFC 9110 section 8.6)."""
_HEAD: Final = re.compile(
    rb"[!-~]+ [!-~]+ HTTP/1\.1\r\n(?:[-!#$%&'*+.^_`|~0-9A-Za-z]+: (?:[^\x00\s]++(?:[ \t]++[^\x00\s]++)*+)?\r\n)*+\r\n"
)
"""What may be written: any target of visible ASCII, and any header value without line breaks and outer blanks."""


class MalformedRequest(ValueError):
    """A request that HTTP/1.1 cannot carry."""


class MalformedAnswer(ValueError):
    """An answer that cannot be read by HTTP/1.1 or by its content coding."""


class ConnectionLost(OSError):
    """The answer is incomplete; the message says what is missing."""


class Response(NamedTuple):
    """An answer as received. Header texts are latin-1; the body is decoded, and `truncated` beyond the limit."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    truncated: bool


def serialize(method: str, target: str, host: str, headers: Headers, content: bytes | None) -> bytes:
    """The bytes of a request. A header of the caller replaces Host and Content-Length. Raises MalformedRequest.

    With `Transfer-Encoding: chunked` of the caller the content is sent in chunks (RFC 9112 section 7.1).
    """
    hosts: list[str] = []
    lines: list[str] = []
    has_length = False
    for name, value in headers:
        lower_name = name.lower()
        if lower_name == "transfer-encoding" and value == "chunked":
            content, has_length = _in_chunks(content or b""), True
        has_length = has_length or lower_name == "content-length"
        (hosts if lower_name == "host" else lines).append(f"{name}: {value}")
    lines = [f"{method} {target} HTTP/1.1", *(hosts or [f"Host: {host}"]), *lines]
    if not has_length and (content is not None or method not in _WITHOUT_LENGTH):
        lines.append(f"Content-Length: {len(content or b'')}")
    head = _encode("\r\n".join(lines)) + b"\r\n\r\n"
    if head.count(b"\r\n") != len(lines) + 1 or not _HEAD.fullmatch(head):
        raise MalformedRequest("a character that no request target or header may have")
    return head + content if content else head


def _in_chunks(content: bytes) -> bytes:
    """Two chunks where there is enough, and the last one, which is empty."""
    middle = (len(content) + 1) // 2
    parts = [part for part in (content[:middle], content[middle:]) if part]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def _encode(text: str) -> bytes:
    """As latin-1, or line by line as UTF-8 where that is impossible."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        first, *lines = text.split("\r\n")
        return b"\r\n".join([first.encode("latin-1", "replace"), *map(_encode_line, lines)])


def _encode_line(line: str) -> bytes:
    try:
        return line.encode("latin-1")
    except UnicodeEncodeError:
        return line.encode()


class Inflater:
    """gzip (several members, RFC 1952 section 2.2) or deflate, with bounded output.

    Deflate comes without its zlib header too, which receivers know (RFC 9110 section 8.4.1.2).
    """

    def __init__(self, max_output: int) -> None:
        """Output beyond `max_output` bytes is discarded: of all codings of a body, since each may be a bomb."""
        self._max_output = max_output
        self._stream = zlib.decompressobj(wbits=47)
        self._members = 0
        self._output_size = 0

    @property
    def complete(self) -> bool:
        return self._stream.eof or not self._members

    @property
    def is_truncated(self) -> bool:
        return self._output_size > self._max_output

    def feed(self, chunk: bytes) -> bytes:
        """Inflates a chunk. Raises zlib.error, and MalformedAnswer where there is no end to the members."""
        output = bytearray()
        for start in range(0, len(chunk), _PIECE):  # zlib copies what comes after a member
            piece = chunk[start : start + _PIECE]
            while piece and not self.is_truncated:
                if self._stream.eof and not piece.startswith(b"\x1f"):
                    return bytes(output)  # padding after the last member
                if self._stream.eof or not self._members:
                    self._begin_member(piece)
                inflated = self._stream.decompress(piece, self._max_output - self._output_size + 1)
                output += inflated
                self._output_size += len(inflated)
                piece = self._stream.unused_data
        return bytes(output)

    def _begin_member(self, piece: bytes) -> None:
        is_raw = not self._members and not _has_header(piece)
        self._stream = zlib.decompressobj(wbits=-15 if is_raw else 47)
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise MalformedAnswer(f"its body consists of more than {_MAX_MEMBERS} compressed members")


def _has_header(chunk: bytes) -> bool:
    """Whether a stream may be gzip or zlib (RFC 1950 section 2.2), by the bytes that have arrived."""
    return chunk[:1] == b"\x1f" or (chunk[0] & 15 == 8 and (len(chunk) < 2 or int.from_bytes(chunk[:2]) % 31 == 0))


class HttpConnection(asyncio.Protocol):
    """Exchanges one request after another. After trouble, or where the server says so, it `is_reusable` no more."""

    def __init__(self, max_body: int) -> None:
        self._max_body = max_body
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self.transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Response] | None = None
        self.is_reusable = False
        self.idle_since = 0.0
        """When the last answer was complete, by the clock of the event loop."""
        self.is_lost_unanswered = False
        """Whether the connection ended before the first byte of the answer that was waited for."""
        self._reset("")

    def _reset(self, method: str) -> None:
        self._method = method
        self._headers: list[tuple[bytes, bytes]] = []
        self._status = 0
        self._field_bytes = 0
        self._in_head = True
        self._inflaters: list[Inflater] = []
        """As many as the body has content codings. Each reads any of them, so that their order does not matter."""
        self._encoding = ""
        self._body = bytearray()
        self._length = 0

    async def exchange(self, method: str, request: bytes, timeout_s: float) -> Response:
        """Raises OSError (TimeoutError, ConnectionLost) or MalformedAnswer; then the connection is closed."""
        assert self.transport is not None
        loop = asyncio.get_running_loop()
        self._reset(method)
        self.is_reusable = False  # until this answer is complete: of a truncated one, more follows
        answer: asyncio.Future[Response] = loop.create_future()
        self._answer = answer
        timer = loop.call_later(timeout_s, self._fail, TimeoutError())
        self.transport.write(request)
        try:
            response = await answer
        except BaseException:  # a caller that is cancelled just when its answer is complete does not use it again
            self.abort()
            raise
        finally:
            timer.cancel()
            self._answer = None
            self._reset(method)  # a connection, which refers to itself, may outlive its answer for long
        if not self.is_reusable and method != "CONNECT":
            self.abort()
        return response

    def abort(self) -> None:
        self.is_reusable = False
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._field_bytes += len(data)
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.is_reusable = False
        except httptools.HttpParserCallbackError as error:
            self._fail(MalformedAnswer(str(error.__context__ or error)))
        except httptools.HttpParserError as error:
            self._fail(MalformedAnswer(str(error)))
        if self._field_bytes > _MAX_HEAD:  # the parser collects a field without a bound
            part = "header section" if self._in_head else "trailer or chunk header"
            self._fail(MalformedAnswer(f"its {part} does not end"))

    def eof_received(self) -> None:
        self.connection_lost(None)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_reusable = False
        self._parser = None
        if self._answer is None or self._answer.done():
            return
        began = bool(self._status or self._headers or self._field_bytes)
        self.is_lost_unanswered = not began
        if error is None and not self._in_head and self._ends_with_connection():
            self._complete()
        elif error is not None:
            self._fail(error)
        else:
            self._fail(ConnectionLost(f"the server closed the connection {'within' if began else 'without'} an answer"))

    @property
    def _headers_by_name(self) -> dict[bytes, bytes]:
        """The last header of each name, both in lower case."""
        return {name.lower(): value.lower().strip() for name, value in self._headers}

    def _ends_with_connection(self) -> bool:
        """Whether neither a length nor chunks delimit the body (RFC 9112 section 6.3)."""
        framing = self._headers_by_name
        return b"content-length" not in framing and not framing.get(b"transfer-encoding", b"").endswith(b"chunked")

    def _ends_with_head(self) -> bool:
        """Whether no header announces a body."""
        framing = self._headers_by_name
        return framing.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in framing

    def on_message_begin(self) -> None:
        if self._answer is None or self._answer.done():  # more than was asked for
            self.is_reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # a trailer
        if len(name) + len(value) > _MAX_FIELD or len(self._headers) >= _MAX_FIELDS:
            raise MalformedAnswer("its header section is too long")
        self._headers.append((name, value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        self._status = self._parser.get_status_code()
        if self._status < 100:
            raise MalformedAnswer(f"its status {self._status:03d} is none")
        if self._status < 200 and self._status != 101:
            self._headers.clear()
            return
        self._in_head = False
        fields = [value.decode("latin-1") for name, value in self._headers if name.lower() == b"content-encoding"]
        words = [word.strip().lower() for word in ",".join(fields).split(",")]  # a list (RFC 9110 section 8.4)
        codings = [word for word in words if word not in ("", "identity")]
        if len(codings) <= _MAX_CODINGS and _CODINGS.issuperset(codings):
            self._encoding = ", ".join(codings)
            self._inflaters = [Inflater(self._max_body) for _ in codings]
        if self._method in ("CONNECT", "HEAD"):  # no body follows (RFC 9112 section 6.3)
            self._complete()

    def on_body(self, chunk: bytes) -> None:
        self._field_bytes = 0
        if self._answer is None or self._answer.done():
            return
        for inflater in self._inflaters:
            chunk = inflater.feed(chunk)
        chunk = chunk[: self._max_body - self._length + 1]
        self._body += chunk
        self._length += len(chunk)
        if self._is_truncated:
            self._complete()

    @property
    def _is_truncated(self) -> bool:
        return self._length > self._max_body or any(inflater.is_truncated for inflater in self._inflaters)

    def on_message_complete(self) -> None:
        if self._in_head or self._answer is None or self._answer.done():
            return  # an interim answer
        assert self._parser is not None
        written = self.transport is not None and not self.transport.get_write_buffer_size()
        # a 204 has no body (RFC 9110 section 15.3.5), and one that is announced may follow all the same
        is_complete = self._status != 101 and (self._status != 204 or self._ends_with_head())
        self.is_reusable = written and self._parser.should_keep_alive() and is_complete
        self._complete()

    def _complete(self) -> None:
        if self._answer is None or self._answer.done():
            return
        truncated = self._is_truncated
        if not (truncated or all(inflater.complete for inflater in self._inflaters)):
            self._fail(MalformedAnswer(f"its {self._encoding} stream ends too early"))
            return
        body = bytes(memoryview(self._body)[: self._max_body])
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in self._headers)
        self._answer.set_result(Response(self._status, headers, body, truncated))

    def _fail(self, error: Exception) -> None:
        self.is_reusable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
