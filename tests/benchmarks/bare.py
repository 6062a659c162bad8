"""`python -m tests.benchmarks.bare FILE URL CONCURRENCY`: sends recorded requests and looks at no answer."""

from __future__ import annotations

import asyncio
import pickle
import sys
import time
from pathlib import Path

from conformance.client.transport import Transport


async def sent(file: Path, url: str, concurrency: int) -> float:
    """The seconds from the first request to the last answer."""
    wires = pickle.loads(file.read_bytes())
    left = iter(wires)
    began = time.perf_counter()
    async with Transport(url, timeout_s=30.0) as transport:

        async def lane() -> None:
            for wire in left:
                await transport.send(wire)

        await asyncio.gather(*(lane() for _ in range(concurrency)))
    return time.perf_counter() - began


if __name__ == "__main__":
    print(asyncio.run(sent(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
