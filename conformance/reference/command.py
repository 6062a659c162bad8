"""`conformance serve` and `python -m conformance.reference`: the service until it is interrupted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

from conformance.core.errors import ConformanceError
from conformance.reference.server import ReferenceServer, stop_on_signal, target_name
from conformance.reference.workers import Workers


def serve(
    port: int = 8765,
    control_port: int = 8766,
    database: str | None = None,
    variant: str | Sequence[str] | None = None,
    fault: str | Sequence[str] | None = None,
    host: str = "127.0.0.1",
    as_json: bool = False,
    workers: int = 1,
) -> int:
    """Serves until SIGINT or SIGTERM; 0. Prints the URLs and one `export` line per credential, or one line of JSON.

    Several workers are processes that share the ports and the database. Raises ConformanceError as `ReferenceServer`
    does, and UsageError for several workers on a store in memory.
    """
    server: ReferenceServer | Workers
    if workers == 1:
        server = ReferenceServer(port, control_port, database, variant, fault, host)
    else:
        server = Workers(workers, (port, control_port), database, target_name(variant, fault), host)
    with stop_on_signal() as stop:
        try:
            with server:
                print(announcement(server, as_json), flush=True)
                stop.wait()
        except ConformanceError:
            if not stop.is_requested:  # Ctrl-C in a terminal reaches the workers too, maybe while they start
                raise
    return 0


class RunningServer(Protocol):
    base_url: str
    control_url: str
    credentials: dict[str, str]


def announcement(server: RunningServer, as_json: bool) -> str:
    if as_json:
        addresses = {"base_url": server.base_url, "control_url": server.control_url}
        return json.dumps({**addresses, "credentials": server.credentials})
    exports = [f"export {environment_name(name)}={secret}" for name, secret in server.credentials.items()]
    return "\n".join([f"service {server.base_url}", f"control {server.control_url}", *exports])


def environment_name(credential: str) -> str:
    """The environment variable of a credential in `profiles/reference.toml`."""
    return "CONFORMANCE_REFERENCE_" + credential.upper().replace("-", "_")
