"""How long a person waits for the first sign of life."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.common import PROFILE, Figure, at_most, ran, scratch_folder

CONFORMANCE = [Path(sys.executable).with_name("conformance")]


def figures(rounds: int, quick: bool, details: dict[str, Any] | None = None) -> list[Figure]:
    times = 3 if quick else max(5, rounds)
    for command in ("--help", "list"):
        ran([*CONFORMANCE, command])  # a warm disk
    return [
        at_most("conformance --help", [ran([*CONFORMANCE, "--help"]).seconds for _ in range(times)], 0.25, "s"),
        at_most("conformance list", [ran([*CONFORMANCE, "list"]).seconds for _ in range(times)], 0.4, "s"),
        at_most("conformance run: to the first request", [first_request() for _ in range(times)], 1.0, "s"),
    ]


def first_request() -> float:
    """From the start of the process to the first request of a check; that the target is there was asked before."""
    came = threading.Event()
    at = [0.0]

    def serve(server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection:
            asked = connection.recv(65536)
            if b"/api/v1/open" in asked and not came.is_set():
                at[0] = time.perf_counter()
                came.set()
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    with socket.create_server(("127.0.0.1", 0)) as server, scratch_folder() as folder:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        keys = {f"CONFORMANCE_REFERENCE_{name}": f"sk_0123456789_{name}" for name in _names()}
        command = [*CONFORMANCE, "run", "--profile", PROFILE, "--base-url", url, "--var", f"control={url}", "-q"]
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "HOME": folder, **keys},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        came.wait(30)
        process.kill()
        process.wait()
        assert came.is_set(), "no request came"
        return at[0] - began


def _names() -> list[str]:
    import tomllib

    stated = tomllib.loads(PROFILE.read_text(encoding="utf-8"))["credentials"].values()
    return [one["secret"]["env"].removeprefix("CONFORMANCE_REFERENCE_") for one in stated]
