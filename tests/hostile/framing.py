"""Targets whose answers have a head that can be read, and a body whose length or coding is wrong, or has no end."""

from __future__ import annotations

import gzip

from tests.hostile.registry import BROKEN, OPEN, answer
from tests.hostile.wire import Answered, Arrived, Talk, body

MIB = 1 << 20
CHUNKED = "Transfer-Encoding: chunked"


@answer("body a byte a second", whole=True, always=OPEN, sometimes=OPEN)
async def slow_body(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head("Content-Length: 4000"))
    await talk.trickle(b" " * 4000)


@answer("endless body", whole=True, always=BROKEN, sometimes=OPEN)
async def endless(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head("Connection: close"))
    await talk.flood(b" " * 65536)


@answer("2 GiB body", whole=True, always=BROKEN, sometimes=OPEN)
async def two_gib(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head(f"Content-Length: {2048 * MIB}") + b'{"data":"')
    await talk.flood(b"x" * 65536, 2048 * MIB - 9)


BOMB = gzip.compress(b"[" * 10 * MIB, 9)
"""10 MiB of brackets for each 10 KB; many members of it are one stream (RFC 1952 section 2.2)."""
BOMB_IN_GZIP = gzip.compress(BOMB * 100, 9)


@answer("gzip bomb", whole=True, always=BROKEN, sometimes=BROKEN)
async def bomb(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, BOMB * 100, ("Content-Encoding", "gzip"))


@answer("Content-Length too small", always=OPEN, sometimes=OPEN)
async def short_length(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head("Content-Length: 5") + answered.body)


@answer("Content-Length too large", always=OPEN, sometimes=OPEN)
async def long_length(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head("Content-Length: 99999", "Connection: close") + answered.body)
    talk._writer.close()


@answer("Content-Length negative", sometimes=OPEN)
async def negative_length(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head("Content-Length: -1") + answered.body)


@answer("two Content-Lengths", sometimes=OPEN)
async def two_lengths(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head(f"Content-Length: {len(answered.body)}", "Content-Length: 3") + answered.body)


@answer("chunks with bad sizes", always=OPEN, sometimes=OPEN)
async def bad_chunks(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head(CHUNKED) + b"xyz\r\n" + answered.body + b"\r\n0\r\n\r\n")


@answer("chunk of 2**64 bytes", sometimes=OPEN)
async def huge_chunk(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head(CHUNKED) + b"1" + b"0" * 16 + b"\r\n" + answered.body)


@answer("endless chunk extension", always=OPEN, sometimes=OPEN)
async def chunk_extension(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head(CHUNKED) + b"5;a=")
    await talk.flood(b"b" * 65536)


@answer("endless trailers", sometimes=OPEN)
async def trailers(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head(CHUNKED) + b"2\r\n{}\r\n0\r\n")
    await talk.flood(b"X-Trailer: b\r\n" * 1000)


@answer("trailer that does not end", sometimes=OPEN)
async def trailer(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head(CHUNKED) + b"2\r\n{}\r\n0\r\nX-Trailer: ")
    await talk.flood(b"b" * 65536)


@answer("gzip members without content", always=OPEN, sometimes=OPEN)
async def members_of_nothing(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head("Content-Encoding: gzip", "Connection: close"))
    await talk.flood(gzip.compress(b"") * 3000)


@answer("name in a gzip header that does not end", sometimes=OPEN)
async def gzip_name(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head("Content-Encoding: gzip", "Connection: close") + b"\x1f\x8b\x08\x08" + bytes(6))
    await talk.flood(b"n" * 65536)


@answer("a header without end behind each answer", sometimes=OPEN)
async def behind(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.raw + b"HTTP/1.1 200 OK\r\nX-Long: ")
    await talk.flood(b"b" * 65536)


@answer("lengths that are none", sometimes=OPEN)
async def odd_lengths(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    odd = ("1e3", "+5", "0x10", "5,5", "9" * 40, "", "\xb2", "5 5", "-0")
    talk.shared.counts["lengths"] += 1
    await talk.write(answered.head(f"Content-Length: {odd[talk.shared.counts['lengths'] % len(odd)]}") + answered.body)


@answer("a length and chunks", sometimes=OPEN)
async def both_framings(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head("Content-Length: 3", CHUNKED) + b"5\r\n{}abc\r\n0\r\n\r\n" + answered.raw)


@answer("gzip seven times", sometimes=BROKEN)
async def gzip_often(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    coded = answered.body
    for _ in range(7):
        coded = gzip.compress(coded)
    await body(talk, answered, coded, *[("Content-Encoding", "gzip")] * 7)


@answer("gzip bomb in gzip", always=BROKEN, sometimes=BROKEN)
async def bomb_in_gzip(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, BOMB_IN_GZIP, ("Content-Encoding", "gzip, gzip"))


@answer("encoding that lies", always=OPEN, sometimes=OPEN)
async def lying_encoding(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, answered.body, ("Content-Encoding", "gzip"))


@answer("zstd that nobody asked for", sometimes=BROKEN)
async def zstd(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, b"\x28\xb5\x2f\xfd\x04\x00" + answered.body, ("Content-Encoding", "zstd"))


@answer("brotli that nobody asked for", sometimes=BROKEN)
async def brotli(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, b"\x0b\x05\x80" + answered.body[:9] + b"\x03", ("Content-Encoding", "br"))


@answer("torn gzip", sometimes=OPEN)
async def torn(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, gzip.compress(answered.body)[:-9], ("Content-Encoding", "gzip"))


@answer("gzip with something behind it", sometimes=OPEN)
async def gzip_garbage(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, gzip.compress(answered.body) + b"\x1f\x8bgarbage", ("Content-Encoding", "gzip"))


@answer("answers that nobody asked for", sometimes=OPEN)
async def split(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    """Response splitting: whoever reads on takes the second for the answer to the next request."""
    await talk.write(answered.raw + Answered(body=b'{"data":{"smuggled":true}}').with_header(("X-Smuggled", "1")).raw)


@answer("header folded over lines", sometimes=OPEN)
async def folded(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head("X-Folded: a\r\n b\r\n\tc", f"Content-Length: {len(answered.body)}") + answered.body)


@answer("control characters in headers", sometimes=OPEN)
async def odd_headers(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    odd = answered.with_header(("X-Odd", "a\x01\x1b[31mb\x7f\x9b"), ("X-B\xe9d", "\xff\xfe"))
    await talk.write(odd.raw)
