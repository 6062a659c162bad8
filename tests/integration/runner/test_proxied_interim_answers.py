"""Interim answers (RFC 9110, section 15.2) that pass the observing proxy, and what follows them, or does not."""

from __future__ import annotations

import socket
import struct
import time
from contextlib import suppress
from pathlib import Path

import pytest

from conformance.core.outcomes import Outcome
from tests.support.raw_proxy import ask, connect, proxied, target

REQUEST = b"GET /api/v1/runtime-config HTTP/1.1\r\nHost: me\r\n\r\n"
_HINT = b"HTTP/1.1 103 Early Hints\r\nX: %s\r\n\r\n"


@pytest.mark.parametrize("part", [_HINT % b"a", b"HTTP/1.1 100 Continue\r\n\r\njunk\r\n\r\n"], ids=["reset", "no HTTP"])
def test_an_interim_answer_is_no_answer(tmp_path: Path, part: bytes) -> None:
    """Where the connection is reset after it, or no HTTP follows, no status is judged."""

    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(part)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(0.2)
        connection.close()

    with target(answer) as (url, _), proxied(tmp_path, url) as proxy:
        with connect(proxy) as connection, suppress(ConnectionError):
            ask(connection, REQUEST, b"never")
        run = proxy.end()
    assert run.coverage["getPublicRuntimeConfig"] == {"none": 1}
    assert [r for r in run.results if r.outcome is Outcome.FAILED] == []


def test_interim_answers_without_end_are_given_up(tmp_path: Path) -> None:
    """A target that sends nothing else fills no memory."""

    def answer(connection: socket.socket, _: bytes) -> None:
        for _number in range(1_000):
            connection.sendall(_HINT % (b"a" * 30_000))

    found = b""
    with target(answer) as (url, _), proxied(tmp_path, url) as proxy:
        with connect(proxy) as connection, suppress(ConnectionError):
            found = ask(connection, REQUEST, b"never")
        run = proxy.end()
    assert len(found) < 2_000_000
    assert run.coverage["getPublicRuntimeConfig"] == {"none": 1}
