"""Targets whose answers have a head that can be read, and something behind it that should not be."""

from __future__ import annotations

import base64
import gzip
import json
import urllib.parse
import zlib
from typing import Any

from tests.hostile.registry import NONCONFORMANT, OPEN, answer
from tests.hostile.wire import Answered, Arrived, Talk

BROKEN = {NONCONFORMANT}
MIB = 1 << 20
CHUNKED = "Transfer-Encoding: chunked"
ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e]]>&{{7*7}}\r\n"


def mapped(value: Any, change: Any) -> Any:
    """A JSON value with each string (and number, boolean) replaced by what `change` gives for it."""
    if isinstance(value, dict):
        return {name: mapped(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    return change(value)


async def body(talk: Talk, answered: Answered, content: bytes, *headers: tuple[str, str]) -> None:
    await talk.write(answered.but(body=content).with_header(*headers).raw)


# Framing and size


@answer("body a byte a second", whole=True, always=OPEN, sometimes=OPEN)
async def slow_body(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head("Content-Length: 4000"))
    await talk.trickle(b" " * 4000)


@answer("endless body", whole=True, always=BROKEN, sometimes=BROKEN)
async def endless(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.head("Connection: close"))
    await talk.flood(b" " * 65536)


@answer("2 GiB body", whole=True, always=BROKEN, sometimes=BROKEN)
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


# JSON


@answer("millions of nested arrays", whole=True, always=BROKEN, sometimes=BROKEN)
async def nested(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, b"[" * 2_000_000 + b"]" * 2_000_000)


@answer("an envelope of nested arrays", always=OPEN, sometimes=OPEN)
async def nested_inside(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, b'{"data":{"a":' + b"[" * 2_000_000 + b"]" * 2_000_000 + b"}}")


@answer("a million empty arrays", always=OPEN, sometimes=OPEN)
async def wide(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, b'{"data":{"a":[' + b"[]," * 1_300_000 + b"[]]}}")


@answer("300,000 members", always=OPEN, sometimes=OPEN)
async def members(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, b'{"data":{' + b",".join(b'"m%d":{}' % n for n in range(300_000)) + b"}}")


MEMBERS = b'{"data":{"a":"' + b"y" * 3_900_000 + b'"}}'


@answer("4 MB in one string", whole=True, always=OPEN, sometimes=OPEN)
async def long_string(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, MEMBERS)


@answer("4 MB of blanks before the value", always=OPEN, sometimes=OPEN)
async def blanks(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, b"\n" * 4_000_000 + answered.body)


@answer("numbers with a million digits", whole=True, always=OPEN, sometimes=OPEN)
async def digits(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    number = b"9" * 1_000_000
    await body(talk, answered, b'{"data":{"a":' + number + b',"b":0.' + number + b',"c":1e' + number + b"}}")


@answer("numbers beyond any float", sometimes=BROKEN)
async def beyond(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    changed = lambda old: old if isinstance(old, bool) or not isinstance(old, (int, float)) else "1e999"
    told = json.dumps(mapped(json.loads(answered.body), changed)).replace('"1e999"', "1e999")
    await body(talk, answered, told.encode()[:-1] + b',"x":[1e999,-1e999]}')


@answer("invalid UTF-8", whole=True, always=BROKEN, sometimes=BROKEN)
async def not_utf8(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, answered.body[:-1] + b',"x":"\xc3\x28\xff\xed\xa0\x80"}')


@answer("byte order mark", sometimes=BROKEN)
async def bom(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, b"\xef\xbb\xbf" + answered.body)


@answer("UTF-16", sometimes=BROKEN)
async def utf16(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, answered.body.decode().encode("utf-16"))


@answer("NaN", whole=True, always=BROKEN, sometimes=BROKEN)
async def nan(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, answered.body[:-1] + b',"x":[NaN,Infinity,-Infinity]}')


@answer("lone surrogates in every string", whole=True, sometimes=OPEN)
async def surrogates(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    spoilt = lambda old: f"\ud800{old}\udfff" if isinstance(old, str) else old
    await talk.write(answered.with_value(lambda value: mapped(value, spoilt)).raw)


@answer("escapes and markup in every string", whole=True, sometimes=OPEN)
async def escapes(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    spoilt = lambda old: f"{ESCAPES}{old}" if isinstance(old, str) else old
    marked = answered.with_value(lambda value: mapped(value, spoilt))
    await talk.write(marked.with_header(("X-Escapes", "<script>alert(1)</script>")).but(reason="\x1b[31mOK").raw)


@answer("escapes and markup as member names", sometimes=OPEN)
async def names(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.with_value(lambda value: {**value, ESCAPES: {ESCAPES: ESCAPES}}).raw)


@answer("null in every place", sometimes=OPEN)
async def nulls(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.with_value(lambda value: mapped(value, lambda _: None)).raw)


@answer("objects in every place", sometimes=OPEN)
async def objects(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.with_value(lambda value: mapped(value, lambda old: {"was": [old]})).raw)


@answer("no body at all", always=BROKEN, sometimes=BROKEN)
async def nothing(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered, b"")


# Errors, and what they say


@answer("4 MB of line ends in an error", always=BROKEN, sometimes=OPEN)
async def line_ends(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered.but(status=404), b"\n" * 4_000_000)


@answer("4 MB of half a query in an error", always=OPEN, sometimes=OPEN)
async def half_queries(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered.but(status=404), b'{"error":"' + b"SELECT " * 570_000 + b'"}')


@answer("4 MB of half a trace in an error", sometimes=OPEN)
async def half_traces(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered.but(status=404), b'{"error":"' + b"at a.a(/usr/a \\n at " * 200_000 + b'"}')


LATER = b'{"error":{"code":"rate_limited","message":"Later."},"requestId":"req_1"}'


@answer("429 with a Retry-After of a day", whole=True, always=OPEN, sometimes=OPEN)
async def a_day(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(Answered(429, body=LATER).with_header(("Retry-After", "86400")).raw)


@answer("429 with a Retry-After of nonsense", sometimes=OPEN)
async def odd_retry(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    odd = "9" * 30_000 if talk.answers % 2 else "Mon, 99 Foo 99999999999999 99:99:99 +9999999999999"
    await talk.write(Answered(429, body=LATER).with_header(("Retry-After", odd)).raw)


@answer("429 with a Retry-After out of range", sometimes=OPEN)
async def far_retry(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    odd = (
        "-5",
        "1e9",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Mon, 01 Jan 0001 00:00:00 +2359",
        "\u0663",
        "inf",
        "nan",
        "0x5",
    )
    talk.shared.counts["retries"] += 1
    retry = odd[talk.shared.counts["retries"] % len(odd)].encode().decode("latin-1")
    late = ("Date", "Fri, 31 Dec 9999 23:59:59 -2359")
    await talk.write(Answered(429, body=LATER).with_header(("Retry-After", retry), late).raw)


@answer("DPoP nonces without end", sometimes=OPEN)
async def nonces(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    talk.shared.counts["nonces"] += 1
    nonce = f"{talk.shared.counts['nonces']}\x0b" + "n" * 1000
    challenge = answered.but(status=401, body=b'{"error":"use_dpop_nonce"}').with_header(("DPoP-Nonce", nonce))
    await talk.write(challenge.raw)


# Elsewhere


@answer("ids that lead elsewhere", whole=True, sometimes=OPEN)
async def ids(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    host = talk.shared.elsewhere.removeprefix("http://")
    odd = (
        f"//{host}/",
        f"{talk.shared.elsewhere}/?x=",
        f"@{host}/",
        "../../../..",
        "{env.HOME}",
        "{cart.id}",
        "{answer:/data/id}",
    )
    odd += ("{unique}", "{{", "}", "%", "%00", "\r\nX-Injected: 1", "a" * 100_000, "", "?#", "\ud800", ".", "\u2028")
    talk.shared.counts["ids"] += 1
    other = odd[talk.shared.counts["ids"] % len(odd)]
    await talk.write(
        answered.with_value(lambda value: mapped(value, lambda old: other if isinstance(old, str) else old)).raw
    )


@answer("redirect to another host", whole=True, always=BROKEN, sometimes=BROKEN)
async def redirect(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    where = f"{talk.shared.elsewhere}/?key={arrived.header('Authorization')}"
    await talk.write(answered.but(status=302, body=b"").with_header(("Location", where)).raw)


@answer("redirect that keeps the method", sometimes=BROKEN)
async def redirect_307(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    host = talk.shared.elsewhere.removeprefix("http://")
    key = arrived.header("Authorization").removeprefix("Bearer ")
    location = ("Location", f"http://user:{key}@{host}/")
    await talk.write(answered.but(status=307).with_header(location, ("Refresh", f"0; url=http://{host}/")).raw)


@answer("redirect loop", always=BROKEN)
async def loop(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    where = arrived.head.split(b" ")[1].decode("latin-1")
    await talk.write(answered.but(status=308).with_header(("Location", where)).raw)


# Echoes


@answer("echo of the Authorization header", whole=True, always=BROKEN, sometimes=BROKEN)
async def echo_key(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    value = arrived.header("Authorization")
    told = answered.with_value(lambda old: {**old, "seen": value, value: value})
    await talk.write(told.with_header(("X-Seen", value), (f"X-{value.split(' ')[-1]}", "1")).raw)


@answer("echo of the whole request", whole=True, always=BROKEN, sometimes=BROKEN)
async def echo_request(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    raw = arrived.raw
    spellings = [raw.decode("latin-1"), base64.b64encode(raw).decode(), raw.hex(), urllib.parse.quote(raw)]
    spellings += [base64.urlsafe_b64encode(b"x" + raw).decode(), base64.b64encode(zlib.compress(raw)).decode()]
    await talk.write(answered.with_value(lambda old: {**old, "seen": spellings}).raw)


@answer("echo of the request in an error", sometimes=OPEN)
async def echo_in_error(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    padded = b" " * 8150 + arrived.raw.replace(b"\r\n", b" ").replace(b'"', b"'")
    await body(talk, answered.but(status=400), b'{"error":"' + padded + b'"}')


@answer("echo of the request as plain text", sometimes=BROKEN)
async def echo_plain(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await body(talk, answered.but(headers=(("Content-Type", "text/plain"),)), b"\x1b[0m" + arrived.raw)
