"""Running the reference service: in a background thread (`ReferenceServer`) or in the foreground (`serve`)."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Final, Self

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from conformance.core.errors import ConformanceError, UsageError
from conformance.reference.app import PublicApp
from conformance.reference.call import dumps
from conformance.reference.control import control_app
from conformance.reference.hub import Hub

START_TIMEOUT_S = 20
_POLL_S: Final = 0.05


class JsonProtocol(HttpToolsProtocol):
    """HTTP/1.1 with JSON bodies also for requests that are not valid HTTP."""

    def send_400_response(self, _msg: str) -> None:
        body = dumps(
            {"error": {"code": "bad_request", "message": "This is not an HTTP request."}, "requestId": "req_0"}
        )
        fields = ("content-type: application/json", f"content-length: {len(body)}", "connection: close")
        self.transport.write("\r\n".join(["HTTP/1.1 400 ", *fields, "", ""]).encode() + body)
        self.transport.close()


class Service:
    """Both apps over one hub, on listening sockets, in one background thread. `control`: another control app."""

    def __init__(self, hub: Hub, sockets: Sequence[socket.socket], control: ASGIApp | None = None) -> None:
        self._hub = hub
        self._app = PublicApp(hub)
        self._servers = [_Server(self._app), _Server(control or control_app(hub))]
        self._thread = threading.Thread(target=_run, args=(self._servers, sockets), name="reference", daemon=True)

    def start(self) -> bool:
        """Starts both apps; returns whether they answer."""
        self._thread.start()
        return all(server.ready.wait(START_TIMEOUT_S) for server in self._servers)

    def stop(self) -> None:
        for server in self._servers:
            server.should_exit = True
        self._thread.join(START_TIMEOUT_S)
        self._app.close()
        self._hub.close()


class ReferenceServer:
    """The public app and the control app on two loopback ports, in one background thread.

    `variant` and `fault` are ids (several: a sequence, or joined by commas) that shape the default target; every other
    one is served under its prefix anyway. `database` is a SQLAlchemy URL; None: SQLite in memory. Ports 0: free ones.
    """

    def __init__(
        self,
        port: int = 0,
        control_port: int = 0,
        database: str | None = None,
        variant: str | Sequence[str] | None = None,
        fault: str | Sequence[str] | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self._host = host
        self._ports = (port, control_port)
        self._database = database
        self._name = target_name(variant, fault)
        self._service: Service | None = None
        self.base_url = ""
        self.control_url = ""
        self.credentials: dict[str, str] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Returns once both ports answer. Raises ConformanceError where they do not."""
        sockets = listen(self._host, self._ports)
        self.base_url, self.control_url = urls(sockets)
        hub = Hub(self._database, self._name)
        self.credentials = dict(hub.keys.secrets)
        self._service = Service(hub, sockets)
        if not self._service.start():
            raise ConformanceError("the reference service did not start", where=self.base_url)

    def stop(self) -> None:
        """Ends both apps and closes the stores; safe to call twice."""
        if self._service is not None:
            self._service.stop()
            self._service = None


def target_name(variant: str | Sequence[str] | None, fault: str | Sequence[str] | None) -> str:
    """The name of the target with all of these, variants first: `D11+F024`."""
    names = [name.strip() for part in (variant, fault) for text in _as_sequence(part) for name in text.split(",")]
    return "+".join(filter(None, names)) or "reference"


def _as_sequence(value: str | Sequence[str] | None) -> Sequence[str]:
    return () if value is None else (value,) if isinstance(value, str) else value


def listen(host: str, ports: Sequence[int]) -> list[socket.socket]:
    """Listening sockets. Raises UsageError where an address or a port is not available."""
    sockets: list[socket.socket] = []
    try:
        for port in ports:
            sockets += [_bind(host, port)]
    except ConformanceError:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def urls(sockets: Sequence[socket.socket]) -> list[str]:
    names = [sock.getsockname()[:2] for sock in sockets]
    return [f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}" for host, port in names]


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off only where the protocol is stated
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        subject = "the address" if isinstance(error, socket.gaierror) else f"port {port}"
        message = f"{subject} is not available: {error.strerror}"
        raise UsageError(message, where=host, hint="choose another one") from error
    sock.listen(2048)
    return sock


def _config(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=JsonProtocol,
        loop="asyncio",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
        date_header=True,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
    )


class _Server(uvicorn.Server):
    """A server that signals when it accepts connections, and installs no signal handlers."""

    def __init__(self, app: Any) -> None:
        super().__init__(_config(app))
        self.ready = threading.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """They are the process's own, and there are two servers."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def _run(servers: Sequence[_Server], sockets: Sequence[socket.socket]) -> None:
    async def all_of_them() -> None:
        await asyncio.gather(*(server.serve([sock]) for server, sock in zip(servers, sockets, strict=True)))

    asyncio.run(all_of_them())


class Stop:
    """Whether this process is to end. A signal handler requests it without a lock, which its own thread may hold."""

    def __init__(self) -> None:
        self.is_requested = False

    def request(self) -> None:
        self.is_requested = True

    def wait(self) -> None:
        while not self.is_requested:
            time.sleep(_POLL_S)


@contextmanager
def stop_on_signal() -> Iterator[Stop]:
    """SIGINT and SIGTERM request the stop; their previous handlers are restored at the end."""
    stop = Stop()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.request()

    previous_handlers = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
