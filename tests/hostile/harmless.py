"""Targets that are odd in ways which nothing forbids: the suite must not hold it against them."""

from __future__ import annotations

import asyncio
import gzip

from tests.hostile.registry import CONFORMANT, MODES, Mode, _behind, answer
from tests.hostile.wire import Answered, Arrived, Talk

OLD = "Thu, 01 Jan 1970 00:00:00 GMT"


def framed(answered: Answered, *more: str) -> bytes:
    return answered.head(f"Content-Length: {len(answered.body)}", *more) + answered.body


@answer("cookies", harmless=True)
async def cookies(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """No cookie is declared, none forbidden; none is ever sent back."""
    await talk.write(answered.with_header(("Set-Cookie", "session=1; Path=/"), ("Set-Cookie", "a=" + "b" * 30_000)).raw)


@answer("flapping", harmless=True)
async def flapping(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """Gateway trouble that does not persist is retried, recorded, and held against nobody (design, Checks, 3)."""
    counts = talk.shared.counts
    counts["turn"] += 1
    gone = Answered(503, body=b"<html>try again</html>", reason="Service Unavailable")
    await talk.write(gone.raw if counts["turn"] % 3 == 0 else answered.raw)


@answer("clock at 1970", harmless=True)
async def clock(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """The Date header is a matter of HTTP, not of the interface."""
    kept = tuple(pair for pair in answered.headers if pair[0].lower() != "date")
    old = (("Date", OLD), ("Last-Modified", OLD), ("Expires", OLD), ("Age", "999999999999999999999"))
    await talk.write(answered.but(headers=(*kept, *old)).raw)


@answer("no Date", harmless=True)
async def dateless(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """A clock is not required (RFC 9110 section 6.6.1)."""
    kept = tuple(pair for pair in answered.headers if pair[0].lower() not in ("date", "server"))
    await talk.write(answered.but(headers=kept).raw)


@answer("closes after each answer", harmless=True)
async def closing(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """Persistence is the server's choice (RFC 9112 section 9.3)."""
    await talk.write(framed(answered, "Connection: close"))
    talk._writer.close()


@answer("interim answers first", harmless=True)
async def interim(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """A client reads any number of 1xx before the answer (RFC 9110 section 15.2)."""
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    await talk.write(hints * 20 + answered.raw)


@answer("many headers", harmless=True)
async def headers(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """Headers that nobody declared say nothing about the interface."""
    more = [(f"X-Odd-{number}", "v" * 100) for number in range(60)]
    await talk.write(answered.with_header(*more, ("Refresh", f"0; url={talk.shared.elsewhere}")).raw)


@answer("members twice", harmless=True)
async def twice(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """Names SHOULD be unique (RFC 8259 section 4): no requirement, and readers take the last."""
    twofold = answered.body
    if answered.status == 200 and answered.body.startswith(b'{"data"'):
        twofold = b'{"data":0,' + answered.body[1:]
    await talk.write(answered.but(body=twofold).raw)


@answer("chunks of one byte", harmless=True)
async def tiny_chunks(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """How a body is cut into chunks means nothing (RFC 9112 section 7.1)."""
    chunks = b"".join(b"1;x=y\r\n" + answered.body[at : at + 1] + b"\r\n" for at in range(len(answered.body)))
    await talk.write(answered.head("Transfer-Encoding: chunked") + chunks + b"0\r\nX-Trailer: 1\r\n\r\n")


@answer("offers of an upgrade", harmless=True)
async def upgrades(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """A server may tell in any answer which protocols it knows (RFC 9110 section 7.8)."""
    await talk.write(framed(answered, "Upgrade: h2c, websocket", "Connection: Upgrade", 'Alt-Svc: h3=":443"'))


@answer("HTTP/1.0", harmless=True)
async def old_version(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """The body ends with the connection (RFC 9112 section 6.3)."""
    await talk.write(answered.head().replace(b"HTTP/1.1", b"HTTP/1.0", 1) + answered.body)
    talk._writer.close()


@answer("gzip in pieces", harmless=True)
async def zipped(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """Several members in odd chunks, coded twice, with trailers (RFC 9110 section 8.4: codings are listed in order)."""
    half = len(answered.body) // 2
    coded = gzip.compress(answered.body[:half]) + gzip.compress(b"") + gzip.compress(answered.body[half:])
    coded = gzip.compress(coded)
    chunks = b"".join(b'%x;a="b"\r\n%s\r\n' % (len(part), part) for part in (coded[:1], coded[1:2], coded[2:]))
    await talk.write(
        answered.head("Transfer-Encoding: Chunked", "Content-Encoding: GZip, identity", "Content-Encoding: x-gzip")
        + chunks
        + b"000\r\nX: 1\r\n\r\n"
    )


@answer("empty lines between answers", harmless=True)
async def empty_lines(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """Old servers end a body with a line end that belongs to nothing (RFC 9112 section 2.2)."""
    await talk.write(framed(answered) + b"\r\n")


@answer("odd spellings of headers", harmless=True)
async def odd_spellings(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """Names are case-insensitive, blanks around values mean nothing, and a charset is a parameter (RFC 9110)."""
    odd = tuple(
        (name.swapcase(), f" \t{value}\t ") for name, value in answered.headers if name.lower() != "content-type"
    )
    kind = () if not answered.body else (("CONTENT-type", 'Application/JSON ;Charset="UTF-8"'),)
    await talk.write(answered.but(headers=(*odd, *kind, ("Content-Encoding", "identity")), reason="").raw)


async def everything(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """All of it that does not cost a request more, at once."""
    old = (("Date", OLD), ("Set-Cookie", "session=1; Path=/"), ("Refresh", f"0; url={talk.shared.elsewhere}"))
    kept = tuple(pair for pair in answered.headers if pair[0].lower() != "date")
    await talk.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" + answered.but(headers=(*kept, *old)).raw)
    await asyncio.sleep(0)


MODES["all that is harmless at once"] = Mode(
    "all that is harmless at once", _behind(everything), frozenset({CONFORMANT}), harmless=True
)
