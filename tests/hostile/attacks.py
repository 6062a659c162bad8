"""Targets whose answers have a sound head, and a body that is not JSON, or says what it should not."""

from __future__ import annotations

import base64
import json
import time
import urllib.parse
import zlib
from typing import Any

from tests.hostile.registry import BROKEN, INCOMPLETE, OPEN, answer
from tests.hostile.wire import Answered, Arrived, Talk, body

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e]]>&{{7*7}}\r\n"


def mapped(value: Any, change: Any) -> Any:
    """A JSON value with each string (and number, boolean) replaced by what `change` gives for it."""
    if isinstance(value, dict):
        return {name: mapped(item, change) for name, item in value.items()}
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    return change(value)


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


@answer("429 with a Retry-After of a day", whole=True, always=frozenset({INCOMPLETE}), sometimes=OPEN)
async def a_day(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    limited = Answered(429, body=LATER).with_header(("Retry-After", "86400"))
    await talk.write(limited.with_header(("X-Request-Id", f"req_{time.monotonic_ns():x}")).raw)


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
