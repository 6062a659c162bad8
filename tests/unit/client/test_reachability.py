"""Whether a target is there: any answer suffices, and what prevents one is said with a hint."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from conformance.client.reachability import reach
from conformance.core.errors import Unreachable
from conformance.profile.behavior import Authorization
from conformance.profile.model import Limits, Profile

TIMEOUT_S = 0.4
Behaviour = Callable[[socket.socket], object]


@contextmanager
def listening(behave: Behaviour) -> Iterator[str]:
    """A server that reads the first bytes of each connection, behaves, and leaves it open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                connections.append(connection)
                connection.recv(4096)
                behave(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)
        for connection in connections:
            connection.close()


def profile(url: str) -> Profile:
    return Profile("p", url, Authorization("Bearer {key}"), limits=Limits(timeout_s=TIMEOUT_S))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 500 Oops\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
    ids=["good", "bad status", "body that does not come", "interim answer"],
)
def test_any_answer_suffices_and_its_body_is_not_waited_for(answer: bytes) -> None:
    with listening(lambda connection: connection.sendall(answer)) as url:
        reach(profile(url))
        reach(profile(url + "/below/a%20prefix"))


@pytest.mark.parametrize(
    ("behave", "problem", "hint"),
    [
        (lambda _: None, f"connected, but no answer within {TIMEOUT_S:g} s", "is this an HTTP service?"),
        (lambda c: c.sendall(b"HTTP/1.1 200 OK\r\nX: "), f"no answer within {TIMEOUT_S:g} s", "HTTP service?"),
        (lambda c: c.sendall(b"220 mail.example ESMTP\r\n"), "does not speak HTTP", "is it the right port"),
        (lambda c: c.close(), "does not speak HTTP: the server closed the connection", "http or https?"),
    ],
    ids=["silence", "half a header section", "another protocol", "closed"],
)
def test_what_prevents_an_answer_is_named(behave: Behaviour, problem: str, hint: str) -> None:
    with listening(behave) as url, pytest.raises(Unreachable) as raised:
        reach(profile(url))
    assert problem in str(raised.value)
    assert hint in str(raised.value)
    assert url in str(raised.value)


def test_an_address_where_nothing_listens() -> None:
    """The text of the operating system, without the addresses that were tried."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(Unreachable, match="cannot connect: Connection refused"):
        reach(profile(url))
