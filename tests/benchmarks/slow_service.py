"""`python -m tests.benchmarks.slow_service MILLISECONDS [LOG]`: the reference, whose answers take so much longer.

The file LOG gets a line for each answer: the time (seconds since the epoch) and the path's first part, the target.

An answer is held back when it is ready, as a network does. A request held up before it is carried out would be worse
than distance: those that arrive while the server is busy would wake at once, and wait for each other again each time.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from conformance.reference import command, server
from conformance.reference.app import PublicApp, Receive, Scope, Send
from conformance.reference.hub import Hub

_LATENCY_S = int(sys.argv[1]) / 1000
_LOG = sys.argv[2] if len(sys.argv) > 2 else ""


class Distant(PublicApp):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        # open for as long as the process lives
        self._log = Path(_LOG).open("a", buffering=1, encoding="utf-8") if _LOG else None  # noqa: SIM115

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def later(message: MutableMapping[str, Any]) -> None:
            if _LATENCY_S and message["type"] == "http.response.start":
                await asyncio.sleep(_LATENCY_S)
            await send(message)

        await super().__call__(scope, receive, later)
        if self._log is not None and scope["type"] == "http":
            print(f"{time.time():.6f}", scope["path"].split("/")[1], file=self._log)


if __name__ == "__main__":
    server.PublicApp = Distant  # type: ignore[misc]
    sys.exit(command.serve(0, 0, as_json=True))
