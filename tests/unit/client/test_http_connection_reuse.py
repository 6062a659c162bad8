"""A kept connection is used again only where nothing of its last answer can follow."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from conformance.client import transport as transports
from conformance.client.request import Wire
from conformance.client.transport import RawAnswer, Transport

BOUND = 100_000


def wire(target: str = "/a", *, method: str = "GET") -> Wire:
    return Wire(method, target, (("Accept", "application/json"),), None)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_follows_a_cut_answer_is_not_the_next_one(
    scripted: Any, answer: Any, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kept connection on which an answer was cut, or on which a body may follow, is not used again."""
    monkeypatch.setattr(transports, "MAX_BODY", BOUND)
    long = bytes(answer(200, body=b"x" * (4 * BOUND)))

    def script(arrived: Any) -> bytes:
        return long if arrived.target == "/long" else bytes(answer(200, body=b'{"a": 1}'))

    async def main() -> list[RawAnswer]:
        async with scripted(script) as target, Transport(target.url, timeout_s=8) as transport:
            wires = [wire(), wire(), wire("/long", method=method), wire(), wire()]
            return [await transport.send(one) for one in wires]

    raws = asyncio.run(main())
    assert [raw.status for raw in raws] == [200] * 5
    assert [raw.body for raw in (*raws[:2], *raws[3:])] == [b'{"a": 1}'] * 4


def test_a_body_behind_204_is_not_the_next_answer(scripted: Any, answer: Any) -> None:
    """A body that is announced is none, and may be sent all the same (RFC 9110 section 15.3.5)."""

    async def script(arrived: Any, writer: asyncio.StreamWriter) -> bytes | None:
        if arrived.target != "/none":
            return bytes(answer(200, body=b'{"a": 1}'))
        writer.write(b"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(b"late")
        return None

    async def main() -> list[RawAnswer]:
        async with scripted(script) as target, Transport(target.url, timeout_s=8) as transport:
            raws = [await transport.send(wire("/none"))]
            await asyncio.sleep(0.1)
            return [*raws, await transport.send(wire())]

    first, second = asyncio.run(main())
    assert (first.status, second.status, second.body) == (204, 200, b'{"a": 1}')


def test_a_status_below_100_is_no_interim_answer(scripted: Any) -> None:
    """It is reported at once; the answer behind it is not read as its final one."""

    async def script(arrived: Any, writer: asyncio.StreamWriter) -> bytes | None:
        return b"HTTP/1.1 042 Odd\r\nContent-Length: 2\r\n\r\n{}"

    async def main() -> RawAnswer:
        async with scripted(script) as target, Transport(target.url, timeout_s=8) as transport:
            return await transport.send(wire())

    raw = asyncio.run(main())
    assert raw.status is None and "042" in raw.trouble
