"""The observing proxy between raw sockets: bytes, refusals, endings; and in front of the reference service."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from conformance.core.errors import ConformanceError, JournalError
from conformance.core.outcomes import Outcome, Verdict
from conformance.journal.journal import Journal
from conformance.runner.observe import proxy as proxy_module
from conformance.runner.observe.listening import BackgroundProxy
from conformance.runner.observe.traffic_run import TrafficOptions
from tests.support.commands import REFERENCE, Desk, shared_reference, wait_until
from tests.support.raw_proxy import OK, ask, connect, proxied, target
from tests.support.recordings import GOOD

CONFIG = "/api/v1/runtime-config"


def test_bytes_pass_unchanged_in_both_directions(tmp_path: Path) -> None:
    """Raw path, repeated and oddly written headers, the reason phrase; only Host differs. The connection goes on."""
    with target(OK) as (url, received), proxied(tmp_path, url) as proxy, connect(proxy) as connection:
        head = b"GET /api/v1/runtime-config?a=%zz&%2f=..%2F HTTP/1.1\r\nHost: me\r\nX-a:1\r\nx-A:  2\r\n\r\n"
        for _ in range(2):
            assert ask(connection, head) == OK
        host = url.removeprefix("http://").encode()
        assert received == [head.replace(b"Host: me", b"Host: " + host)] * 2
    run = proxy.end()
    assert run.coverage["getPublicRuntimeConfig"] == {"200": 2}


@pytest.mark.parametrize(
    "body",
    [
        b'Content-Length: 7\r\n\r\n{"a":1}',
        b'Transfer-Encoding: chunked\r\n\r\n4;x=y\r\n{"a"\r\n3\r\n:1}\r\n0\r\nTrailer: t\r\n\r\n',
    ],
)
def test_bodies_pass_in_their_framing(tmp_path: Path, body: bytes) -> None:
    """Chunks, extensions and trailers as they came; the journal has the payload."""
    head = b"POST /api/v1/hosted/checkout/s1/cancel HTTP/1.1\r\nHost: me\r\nContent-Type: application/json\r\n"
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"

    arrived = bytearray()

    def answer(connection: socket.socket, data: bytes) -> None:
        arrived.extend(data)
        if arrived.endswith(body):  # the head may arrive before it
            connection.sendall(chunked)

    with target(answer) as (url, received), proxied(tmp_path, url) as proxy, connect(proxy) as connection:
        assert ask(connection, head + body, b"0\r\n\r\n") == chunked
        assert b"".join(received).endswith(body)
    (exchange,) = proxy.end().exchanges
    assert (exchange.request.body, exchange.response.body) == ('{"a":1}', "{}")


def test_an_answer_streams(tmp_path: Path) -> None:
    """Its first part arrives before its last one is sent."""
    go_on = threading.Event()

    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"data"')
        go_on.wait(20)
        connection.sendall(b":{}}")

    with target(answer) as (url, _), proxied(tmp_path, url) as proxy, connect(proxy) as connection:
        assert ask(connection, b"GET / HTTP/1.1\r\nHost: me\r\n\r\n", b'"data"').endswith(b'"data"')
        go_on.set()
        assert ask(connection, b"", b"}}") == b":{}}"


def test_a_client_that_waits_for_100_gets_it(tmp_path: Path) -> None:
    """Interim answers pass, and the body follows them."""

    def answer(connection: socket.socket, data: bytes) -> None:
        connection.sendall(OK if data == b"{}" else b"HTTP/1.1 100 Continue\r\n\r\n")

    head = b"POST /api/v1/oauth/token HTTP/1.1\r\nHost: me\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    with target(answer) as (url, _), proxied(tmp_path, url) as proxy, connect(proxy) as connection:
        assert ask(connection, head, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert ask(connection, b"{}") == OK


@pytest.mark.parametrize(
    ("raw", "status", "text"),
    [
        (b"GET / HTTP/1.1\r\nHost: me\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 501, "WebSocket"),
        (b"CONNECT shop:443 HTTP/1.1\r\nHost: shop:443\r\n\r\n", 501, "not forwarded"),
        (b"GET http://shop/ HTTP/1.1\r\nHost: shop\r\n\r\n", 501, "reverse proxy"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 501, "HTTP/2"),
        (b"no request\r\n\r\n", 400, "not HTTP/1.1"),
        (b"GET / HTTP/1.1\r\nHost: me\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "not HTTP/1.1"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", 431, "head of more than"),
    ],
)
def test_what_is_not_forwarded_is_refused_clearly(tmp_path: Path, raw: bytes, status: int, text: str) -> None:
    """A JSON body says what and why, and nothing reaches the target."""
    with target(OK) as (url, received), proxied(tmp_path, url) as proxy, connect(proxy) as connection:
        answer = ask(connection, raw)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert text in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"]
        assert received == []


def test_a_target_that_is_gone_is_502_and_says_so(tmp_path: Path) -> None:
    """The exchange is in the journal, without an answer; nothing is judged of it."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with proxied(tmp_path, url) as proxy:
        answer = httpx.get(proxy.base_url + CONFIG, trust_env=False)
        assert answer.status_code == 502
        assert "cannot be reached" in answer.json()["error"]["message"]
    run = proxy.end()
    assert run.coverage["getPublicRuntimeConfig"] == {"none": 1}
    assert run.verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize("part", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", b"junk\r\n\r\n"])
def test_a_lost_answer_is_lost_for_the_client_too(tmp_path: Path, part: bytes) -> None:
    """The client sees the connection end; what is missing is not judged."""

    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(part)
        connection.shutdown(socket.SHUT_RDWR)

    with target(answer) as (url, _), proxied(tmp_path, url) as proxy, pytest.raises(httpx.RemoteProtocolError):
        httpx.get(proxy.base_url + CONFIG, trust_env=False)
    assert proxy.end().counts["failed"] == 0


def test_strict_answers_502_where_a_required_requirement_is_broken(tmp_path: Path) -> None:
    """With the requirement in the body; a good answer passes, and so does what is only recommended."""
    bad = OK.replace(GOOD.encode(), b'{"data":[1]}           ')
    plain = OK.replace(b"Content-Type: application/json\r\n", b"")
    for answer, status in ((bad, 502), (OK, 200), (plain, 200)):
        folder = tmp_path / str(hash(answer))
        folder.mkdir()
        with target(answer) as (url, _), proxied(folder, url, strict=True) as proxy:
            got = httpx.get(proxy.base_url + CONFIG, trust_env=False)
            assert got.status_code == status, got.text
            if status == 502:
                assert got.json()["error"]["findings"][0]["requirement"] == "ENV-2"
        assert proxy.end().counts["failed"] == (status == 502)


def test_too_many_connections_are_refused_politely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others go on; each refused one gets 503 as JSON."""
    monkeypatch.setattr(proxy_module, "MAX_CONNECTIONS", 3)
    with target(OK) as (url, _), proxied(tmp_path, url) as proxy:
        held = [connect(proxy) for _ in range(3)]
        head = b"GET /api/v1/runtime-config HTTP/1.1\r\nHost: me\r\n\r\n"
        assert ask(held[0], head) == OK
        for _ in range(30):
            with connect(proxy) as refused:
                assert ask(refused, head).startswith(b"HTTP/1.1 503 ")
        assert ask(held[1], head) == OK
        for connection in held:
            connection.close()


def test_a_client_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection is closed after a while, and others are served meanwhile."""
    monkeypatch.setattr(proxy_module, "_CLIENT_S", 0.3)
    monkeypatch.setattr(proxy_module, "_SWEEP_S", 0.05)

    def answer(connection: socket.socket, data: bytes) -> None:
        if data.startswith(b"GET"):
            connection.sendall(OK)

    with target(answer) as (url, _), proxied(tmp_path, url) as proxy, connect(proxy) as hanging:
        hanging.sendall(b"POST /api/v1/oauth/token HTTP/1.1\r\nHost: me\r\nContent-Length: 9\r\n\r\n{")
        assert httpx.get(proxy.base_url + CONFIG, trust_env=False).status_code == 200
        try:
            assert hanging.recv(10) == b""
        except ConnectionResetError:
            pass


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    """Exit 2, and no folder is left."""
    desk = Desk(tmp_path, shared_reference())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        done = desk.conformance("observe", *desk.target(), "--listen", listen, "--report-dir", "out")
    assert done.code == 2
    assert "cannot listen: " in done.one_line()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM", "--for"])
def test_it_ends_with_reports(tmp_path: Path, ending: str) -> None:
    """On Ctrl-C, on SIGTERM and after --for; the exit code is that of the verdict."""
    import signal

    desk = Desk(tmp_path, shared_reference())
    words = ["--listen", "127.0.0.1:0", "--report-dir", "out", *(["--for", "6s"] if ending == "--for" else [])]
    process = desk.started(["-u", "-m", "conformance", "observe", *desk.target(), *words])
    assert process.stdout is not None
    line = process.stdout.readline()
    url = next(word for word in line.split() if word.startswith("http")).rstrip(":")
    assert httpx.get(url + CONFIG, trust_env=False).status_code == 200
    if ending != "--for":
        process.send_signal(getattr(signal, ending))
    done = desk.finished(process)
    assert done.code == 3, done.text
    assert "INCOMPLETE" in done.out
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["traffic"]["requests"] == 1 and run["interrupted"] == ""


@pytest.mark.parametrize(("prefix", "failed"), [("", set()), ("F001", {"STA-2"})])
def test_the_reference_through_the_proxy(tmp_path: Path, prefix: str, failed: set[str]) -> None:
    """Nothing is found at the reference; a seeded fault is found, below a path prefix."""
    service = shared_reference()
    desk = Desk(tmp_path, service)
    base = service.base_url + (f"/{prefix}" if prefix else "")
    options = TrafficOptions(REFERENCE, base, {"control": service.control_url}, tmp_path / "out")
    environment = pytest.MonkeyPatch()
    for name, value in desk.environment.items():
        environment.setenv(name, value)
    with environment.context():
        proxy = BackgroundProxy(options)
        proxy.start()
        key = next(value for name, value in service.environment.items() if name.endswith("FULL"))
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "0f8fad5b-d9cb-469f-a165-70867728950e"}
        with httpx.Client(base_url=proxy.base_url, trust_env=False, headers=headers) as client:
            client.get(CONFIG)
            client.get("/api/v1/open/identity")
            made = {"url": "https://hooks.example/1", "events": ["cart.revoked"]}
            client.post("/api/v1/open/webhooks/endpoints", json=made)
            client.get("/api/v1/open/identity", headers={"Authorization": "Bearer nobody-knows-this-key"})
        run, _, _ = proxy.stop()
    environment.undo()
    assert {r.requirement for r in run.results if r.outcome is Outcome.FAILED} == failed
    assert [e.credential for e in run.exchanges] == ["full", "full", "full", ""]
    text = (tmp_path / "out" / "journal.ndjson").read_text()
    assert key not in text and "nobody-knows-this-key" not in text


@pytest.mark.slow
def test_ten_thousand_connections_are_refused_politely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In waves that the system allows: each is served or gets 503, and the proxy answers afterwards."""
    monkeypatch.setattr(proxy_module, "_CONNECT_S", 60.0)  # a shared machine may stand still for ten seconds
    head = b"GET /api/v1/runtime-config HTTP/1.1\r\nHost: me\r\n\r\n"
    with target(OK) as (url, _), proxied(tmp_path, url) as proxy:
        other_answers: list[bytes] = []
        for _ in range(20):
            wave = [connect(proxy) for _ in range(500)]
            for connection in wave:
                connection.sendall(head)
            for connection in wave:
                received = connection.recv(4096)
                if not received.startswith((b"HTTP/1.1 200", b"HTTP/1.1 503")):
                    other_answers.append(received)
                connection.close()
        assert not other_answers
        wait_until(lambda: _is_served(proxy, head))


def _is_served(proxy: BackgroundProxy, head: bytes) -> bool:
    """Not at once: the proxy may not have seen yet that the last connections of a wave are closed."""
    with connect(proxy) as connection:
        return ask(connection, head) == OK


@pytest.mark.parametrize("is_late", [False, True], ids=["at once", "after its end"])
def test_a_full_disk_ends_the_proxy(is_late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client has its answer; what was judged before is reported, and the error names the folder."""
    with target(OK) as (url, _), proxied_without_end(tmp_path, url) as proxy:
        with httpx.Client(base_url=proxy.base_url, trust_env=False) as client:
            assert client.get(CONFIG).status_code == 200
            proxy.findings_of("")
            monkeypatch.setattr(Journal, "append", _full)
            assert client.get(CONFIG).status_code == 200
        if is_late:
            wait_until(lambda: not proxy.is_running)
        with pytest.raises(ConformanceError, match="No space left on device") as raised:
            proxy.stop()
        assert str(tmp_path / "out") in str(raised.value)
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["traffic"]["requests"] == 1


def _full(self: Journal, _: object) -> None:
    raise JournalError("No space left on device", where=str(self.path))


@contextmanager
def proxied_without_end(folder: Path, base_url: str) -> Iterator[BackgroundProxy]:
    """A proxy that the test itself stops."""
    path = folder / "p.toml"
    path.write_text(f'name = "p"\nbase_url = "{base_url}"\n[authorization]\nformat = "Bearer {{key}}"\n')
    proxy = BackgroundProxy(TrafficOptions(path, report_dir=folder / "out"))
    proxy.start()
    yield proxy
