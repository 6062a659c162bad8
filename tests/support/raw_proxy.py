"""The observing proxy between raw sockets: a target that answers with given bytes, and a client."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from conformance.core.model import Run
from conformance.runner.observe.listening import BackgroundProxy
from conformance.runner.observe.traffic_run import TrafficOptions
from tests.support.recordings import GOOD

OK = (
    b"HTTP/1.1 200 Fine\r\nX-Odd:  two \r\nx-odd: three\r\nContent-Type: application/json\r\n"
    b"Content-Length: 23\r\n\r\n" + GOOD.encode()
)


@contextmanager
def target(answer: bytes | Callable[[socket.socket, bytes], None]) -> Iterator[tuple[str, list[bytes]]]:
    """A socket that answers each request with these bytes, and what it received."""
    # the queue holds the largest wave of connections: where one overflows, connections take seconds, or are lost
    server, received = socket.create_server(("127.0.0.1", 0), backlog=1024), list[bytes]()

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while data := connection.recv(1 << 20):
                received.append(data)
                if callable(answer):
                    answer(connection, data)
                else:
                    connection.sendall(answer)

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}", received
    finally:
        server.close()


@contextmanager
def proxied(folder: Path, base_url: str, *, strict: bool = False, profile: str = "") -> Iterator[Any]:
    """A proxy to a URL; `stop()` of what it yields ends it, and returns the run."""
    path = folder / "p.toml"
    path.write_text(f'name = "p"\nbase_url = "{base_url}"\n[authorization]\nformat = "Bearer {{key}}"\n{profile}')
    proxy = BackgroundProxy(TrafficOptions(path, report_dir=folder / "out"), strict=strict)
    proxy.start()
    ended: list[Run] = []

    def stop() -> Run:
        if not ended:
            ended.append(proxy.stop()[0])
        return ended[0]

    proxy.end = stop  # type: ignore[attr-defined]
    try:
        yield proxy
    finally:
        stop()


def connect(proxy: Any) -> socket.socket:
    host, _, port = proxy.base_url.removeprefix("http://").partition("/")[0].partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def ask(connection: socket.socket, raw: bytes, until: bytes = b"}") -> bytes:
    """What comes back until it ends with these bytes, or the connection ends."""
    connection.sendall(raw)
    found = b""
    while not found.endswith(until):
        data = connection.recv(65536)
        if not data:
            break
        found += data
    return found
