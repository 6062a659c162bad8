"""Whether a target is there: any answer suffices, and what prevents one is said with a hint."""

from __future__ import annotations

import socket

import pytest

from conformance.client.reachability import reach
from conformance.core.errors import Unreachable
from conformance.profile.behavior import Authorization
from conformance.profile.model import Limits, Profile
from tests.support.commands import listening

TIMEOUT_S = 0.4


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
    with listening(answer, leave_open=True) as url:
        reach(profile(url))
        reach(profile(url + "/below/a%20prefix"))


@pytest.mark.parametrize(
    ("answer", "leave_open", "problem", "hint"),
    [
        (b"", True, f"connected, but no answer within {TIMEOUT_S:g} s", "is this an HTTP service?"),
        (b"HTTP/1.1 200 OK\r\nX: ", True, f"no answer within {TIMEOUT_S:g} s", "HTTP service?"),
        (b"220 mail.example ESMTP\r\n", True, "does not speak HTTP", "is it the right port"),
        (b"", False, "does not speak HTTP: the server closed the connection", "http or https?"),
    ],
    ids=["silence", "half a header section", "another protocol", "closed"],
)
def test_what_prevents_an_answer_is_named(answer: bytes, leave_open: bool, problem: str, hint: str) -> None:
    with listening(answer, leave_open=leave_open) as url, pytest.raises(Unreachable) as raised:
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
