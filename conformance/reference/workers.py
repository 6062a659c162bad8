"""Several worker processes behind one pair of ports, on one database, as a service in production.

All shared state is in the database. A worker ends on a signal, or when its parent process ends.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import socket
import threading
import time
from collections.abc import Sequence
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from types import TracebackType
from typing import Final, Self

from conformance.core.errors import ConformanceError, UsageError
from conformance.reference.hub import Hub
from conformance.reference.server import START_TIMEOUT_S, Service, Stop, listen, stop_on_signal, urls

_POLL_S: Final = 0.05


class Workers:
    """`count` processes. Raises UsageError where the database is not one that processes can share."""

    def __init__(self, count: int, ports: tuple[int, int], database: str | None, name: str, host: str) -> None:
        self._count = count
        self._ports = ports
        self._database = database
        self._name = name
        self._host = host
        self._processes: list[SpawnProcess] = []
        self.base_url = ""
        self.control_url = ""
        self.credentials: dict[str, str] = {}

    def __enter__(self) -> Self:
        first = Hub(self._database, self._name)  # creates the tables and the seed first
        private, self.credentials = first.default.store.private, dict(first.keys.secrets)
        first.close()
        if private:
            raise UsageError("several workers need a database that they can share", hint="give --database")
        sockets = listen(self._host, self._ports)
        self.base_url, self.control_url = urls(sockets)
        context = multiprocessing.get_context("spawn")
        ready = [context.Event() for _ in range(self._count)]
        for event in ready:
            process = context.Process(target=_work, args=(sockets, self._database, self._name, event), daemon=True)
            process.start()
            self._processes.append(process)
        until = time.monotonic() + START_TIMEOUT_S
        for process, event in zip(self._processes, ready, strict=True):
            while not event.wait(_POLL_S):
                if not process.is_alive() or time.monotonic() > until:
                    raise ConformanceError("a worker did not start", where=self.base_url)
        for sock in sockets:
            sock.close()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join(START_TIMEOUT_S)


def _work(sockets: Sequence[socket.socket], database: str, name: str, ready: Event) -> None:
    with stop_on_signal() as stop:
        service = Service(Hub(database, name, is_shared=True), sockets)
        threading.Thread(target=_end_with_parent, args=(stop,), daemon=True).start()
        if service.start():
            ready.set()
            stop.wait()
        service.stop()


def _end_with_parent(stop: Stop) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        stop.request()
