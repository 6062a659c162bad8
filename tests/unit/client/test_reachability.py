"""Whether a target is there: any answer suffices, and what prevents one is said with a hint."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.client.reachability import reach
from conformance.core.errors import Unreachable
from conformance.profile.behavior import Authorization
from conformance.profile.model import Limits, Profile, Tls
from tests.support.commands import listening
from tests.support.scripted_target import ScriptedTarget, reply
from tests.support.tls_servers import refusing, self_signed

TIMEOUT_S = 0.4


def profile(url: str, proxy: str = "") -> Profile:
    return Profile("p", url, Authorization("Bearer {key}"), limits=Limits(timeout_s=TIMEOUT_S, proxy=proxy))


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


@pytest.mark.parametrize("answer", [b"HTTP/0.9 is no more\r\n", None], ids=["no HTTP", "closed"])
def test_one_operation_that_does_not_speak_http_hides_no_service(answer: bytes | None) -> None:
    """The run judges it, where another operation is answered."""

    async def reach_service() -> None:
        async with ScriptedTarget(lambda arrived: reply(401) if "identity" in arrived.target else answer) as target:
            await asyncio.to_thread(reach, profile(target.url))

    asyncio.run(reach_service())


def test_an_address_where_nothing_listens() -> None:
    """The text of the operating system, without the addresses that were tried."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(Unreachable, match="cannot connect: Connection refused"):
        reach(profile(url))


@pytest.mark.parametrize("is_listening", [True, False])
def test_a_proxy_that_does_not_answer_is_named(is_listening: bool) -> None:
    """The service may well be running: the hint is about the proxy."""
    hint = "requests go through the proxy {}: is it running, and does it reach the service?"
    with listening(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n") as proxy:
        if is_listening:
            with pytest.raises(Unreachable, match="the proxy answered 403") as raised:
                reach(profile("https://shop.example", proxy))
            assert raised.value.hint == hint.format(proxy)
    if not is_listening:
        with pytest.raises(Unreachable, match="cannot connect: Connection refused") as raised:
            reach(profile("http://shop.example", proxy))
        assert raised.value.hint == hint.format(proxy)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", b""])
def test_a_port_that_speaks_no_tls_may_be_one_of_http(answer: bytes) -> None:
    """A server of http answers a handshake with what is not TLS, or waits for more of it."""
    with listening(answer, leave_open=not answer) as url, pytest.raises(Unreachable) as raised:
        reach(profile(url.replace("http:", "https:")))
    assert "write http://" in raised.value.hint, raised.value


def tls_hint(context: ssl.SSLContext, ca_file: Path) -> str:
    """The hint about a server with this context."""
    with refusing(context) as url, pytest.raises(Unreachable) as raised:
        reach(replace(profile(url), tls=Tls(ca_file), limits=Limits(timeout_s=3)))
    return raised.value.hint


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS 1.2", "TLS 1.3"])
def test_a_service_that_requires_a_client_certificate_speaks_tls(version: ssl.TLSVersion, tmp_path: Path) -> None:
    """The hint says that the suite has no client certificate, and does not advise http."""
    ca_file, context = self_signed(tmp_path)
    context.verify_mode, context.maximum_version = ssl.CERT_REQUIRED, version
    hint = tls_hint(context, ca_file)
    assert "no client certificate" in hint
    assert "http://" not in hint


def test_a_certificate_that_has_expired_needs_no_other_authority(tmp_path: Path) -> None:
    """No CA makes it valid: it is renewed, or not verified."""
    ca_file, context = self_signed(tmp_path, days=-1)
    assert tls_hint(context, ca_file) == "renew the certificate, or state verify = false in [tls]"
