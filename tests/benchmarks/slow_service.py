"""`python -m tests.benchmarks.slow_service MILLISECONDS`: the reference, each of whose answers takes so much longer.

An answer is held back when it is ready, as a network does. A request held up before it is carried out would be worse
than distance: those that arrive while the server is busy would wake at once, and wait for each other again each time.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import MutableMapping
from typing import Any

from conformance.reference import command, server
from conformance.reference.app import PublicApp, Receive, Scope, Send

_LATENCY_S = int(sys.argv[1]) / 1000


class Distant(PublicApp):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def later(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                await asyncio.sleep(_LATENCY_S)
            await send(message)

        await super().__call__(scope, receive, later)


if __name__ == "__main__":
    server.PublicApp = Distant  # type: ignore[misc]
    sys.exit(command.serve(0, 0, as_json=True))
