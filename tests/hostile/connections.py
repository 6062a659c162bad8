"""Targets with whom there is no HTTP conversation, or one that ends in the middle."""

from __future__ import annotations

import asyncio

from tests.hostile.registry import INCOMPLETE, NONCONFORMANT, OPEN, UNREACHABLE, answer, connection
from tests.hostile.wire import Answered, Arrived, Talk

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
NEVER = {UNREACHABLE}


@connection("accepts and never answers", NEVER)
async def silent(talk: Talk) -> None:
    await asyncio.sleep(600)


@connection("resets right after accept", NEVER)
async def reset_at_once(talk: Talk) -> None:
    talk.reset()


@connection("hangs up right after accept", NEVER)
async def hang_up_at_once(talk: Talk) -> None:
    return


@connection("resets before the request is read", NEVER)
async def reset_before_reading(talk: Talk) -> None:
    await talk.part()
    talk.reset()


@connection("another protocol's banner", NEVER)
async def banner(talk: Talk) -> None:
    await talk.write(b"SSH-2.0-OpenSSH_9.0\r\n")
    await talk.request()


@connection("HTTP/2 preface", NEVER)
async def http2(talk: Talk) -> None:
    await talk.write(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18))
    await talk.request()


@connection("TLS on a plain port", NEVER)
async def tls_alert(talk: Talk) -> None:
    await talk.request()
    await talk.write(b"\x15\x03\x01\x00\x02\x02\x46")


@connection("answers before the request is read", OPEN | NEVER)
async def hasty(talk: Talk) -> None:
    await talk.write(Answered().raw)
    await asyncio.sleep(0.5)


@connection("headers a byte a second from the first on", NEVER)
async def slow_from_the_first(talk: Talk) -> None:
    while await talk.request():
        await talk.trickle(Answered().raw)


@connection("HTTP/0.9", NEVER)
async def bare_body(talk: Talk) -> None:
    await talk.request()
    await talk.write(b'{"data":{}}')


@connection("endless status line", NEVER)
async def endless_status(talk: Talk) -> None:
    await talk.request()
    await talk.flood(b"HTTP/1.1 200 " + b"a" * 65536)


@answer("resets after the request", always=NEVER, sometimes={INCOMPLETE})
async def reset_after_request(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    talk.reset()


@answer("resets in the headers", always=NEVER, sometimes={INCOMPLETE})
async def reset_in_headers(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.raw[:25])
    talk.reset()


@answer("resets in the body", whole=True, always=OPEN, sometimes=OPEN)
async def reset_in_body(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.raw[:-3])
    await asyncio.sleep(0.01)
    talk.reset()


@answer("garbage status line", always=NEVER, sometimes={INCOMPLETE})
async def garbage(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(b"\x00\x01\x02 nonsense \xff\r\n\r\n")


@answer("status 1000000", always=NEVER, sometimes={INCOMPLETE})
async def long_status(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.but(status=1000000).raw)


@answer("status 999", whole=True, always={NONCONFORMANT}, sometimes={NONCONFORMANT})
async def status_999(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(answered.but(status=999).raw)


@answer("status 101", always={NONCONFORMANT}, sometimes=OPEN)
async def switching(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    upgrade = Answered(101, (("Upgrade", "websocket"), ("Connection", "Upgrade")), b"", "Switching Protocols")
    await talk.write(upgrade.head() + b"\x81\x05hello")


@answer("10 MB header", always=NEVER, sometimes={INCOMPLETE})
async def long_header(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(HEAD + b"X-Long: ")
    await talk.flood(b"a" * 65536, 10_000_000)
    await talk.write(b"\r\nContent-Length: 11\r\n\r\n" + Answered().body)


@answer("100,000 headers", always=NEVER, sometimes={INCOMPLETE})
async def many_headers(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(HEAD)
    await talk.flood(b"X-Many: b\r\n" * 1000, 11 * 100_000)
    await talk.write(b"Content-Length: 11\r\n\r\n" + Answered().body)


@answer("endless headers", always=NEVER, sometimes={INCOMPLETE})
async def endless_headers(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(HEAD)
    await talk.flood(b"X-Many: b\r\n" * 1000)


@answer("endless 100 Continue", always=NEVER, sometimes={INCOMPLETE})
async def endless_continue(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.flood(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


@answer("an interim answer each half second", sometimes={INCOMPLETE})
async def slow_interim(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    for _ in range(100):
        await talk.write(b"HTTP/1.1 102 Processing\r\n\r\n")
        await asyncio.sleep(0.5)


@answer("a reason that does not end", always=NEVER, sometimes={INCOMPLETE})
async def long_reason(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.write(b"HTTP/1.1 200 ")
    await talk.flood(b"O" * 65536)


@answer("headers a byte a second", sometimes={INCOMPLETE})
async def slow_headers(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await talk.trickle(answered.raw)


@answer("a byte a second once the connection is kept", sometimes={INCOMPLETE})
async def slow_when_kept(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await (talk.trickle(answered.raw) if talk.answers else talk.write(answered.raw))


@answer("never answers", whole=True, sometimes={INCOMPLETE})
async def silent_now(talk: Talk, arrived: Arrived, answered: Answered) -> None:
    await asyncio.sleep(600)
