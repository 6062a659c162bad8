"""Observed traffic: recordings in exchanges a second and memory, and what the proxy adds to a request."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.common import ROOT, Figure, at_least, at_most, ran, seen

HAR_RATE, HAR_MB = 5_000, 300
PROXY_RATE, MEDIAN_MS, TAIL_MS, PROXY_MB = 1_000, 2.0, 5.0, 200
ENTRY_BYTES = 2_100
ITEM = (
    '{"id":"prod_%06d","title":"Classic lamp","merchant":"harbour","category":"lamps",'
    '"price":{"amount":97.5,"currency":"USD"}}'
)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX-Request-Id: req_1\r\n\r\n%s"
QUERY = b"q=gift&locale=en-US&market=US&sort=name&page=1&pageSize=6"
REQUEST = b"GET /api/v1/search?" + QUERY + b" HTTP/1.1\r\nHost: me\r\nAccept: */*\r\n\r\n"


def body(number: int) -> str:
    return '{"data":[' + ",".join(ITEM % (number + n) for n in range(6)) + '],"meta":{"page":1}}'


def write_har(path: Path, size: int) -> int:
    """A recording of searches of at least this many bytes; returns the number of its exchanges."""
    headers = [{"name": n, "value": v} for n, v in (("Accept", "application/json"), ("User-Agent", "a browser 1.0"))]
    count = 0
    with path.open("w") as file:
        file.write('{"log":{"version":"1.2","entries":[')
        while file.tell() < size:
            url = f"http://127.0.0.1:9/api/v1/search?q=gift&locale=en-US&market=US&sort=name&page={count}&pageSize=6"
            text = body(count)
            answered = [{"name": "Content-Type", "value": "application/json"}, {"name": "X-Id", "value": f"r{count}"}]
            entry = {
                "startedDateTime": "2030-01-15T00:00:00.000Z",
                "time": 12.5,
                "request": {"method": "GET", "url": url, "headers": headers, "queryString": [], "bodySize": 0},
                "response": {"status": 200, "headers": answered, "content": {"size": len(text), "text": text}},
                "comment": "x" * 600,
            }
            file.write((",\n" if count else "") + json.dumps(entry))
            count += 1
        file.write("]}}")
    return count


def write_profile(folder: Path, base_url: str) -> Path:
    path = folder / "p.toml"
    path.write_text(f'name = "p"\nbase_url = "{base_url}"\n[authorization]\nformat = "Bearer {{key}}"\n')
    return path


def figures(rounds: int, quick: bool, details: dict[str, Any] | None = None) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = (10, 40) if quick else (50, 1_000)
        return [*recordings(folder, sizes), *proxied(folder, 2_000 if quick else 100_000)]


def recordings(folder: Path, megabytes: tuple[int, int]) -> list[Figure]:
    profile = write_profile(folder, "http://127.0.0.1:9")
    counts, taken, peaks = [], [], []
    for size in megabytes:
        counts.append(write_har(folder / "a.har", size * 1_000_000))
        words = ["observe", "--profile", profile, "--har", folder / "a.har", "-q", "--report-dir", folder / f"h{size}"]
        done = ran([sys.executable, "-m", "conformance", *words], cwd=ROOT)
        assert done.code == 3, done.out + done.err
        taken.append(done.cpu_s)
        peaks.append(done.peak_kb / 1024)
    rate = (counts[1] - counts[0]) / (taken[1] - taken[0])
    each_kb = (peaks[1] - peaks[0]) * 1024 / (counts[1] - counts[0])
    whole = peaks[1] + each_kb * max(0, 1_000_000_000 / ENTRY_BYTES - counts[1]) / 1024
    return [
        at_least("HAR exchanges a second of processor time", [rate], HAR_RATE, "", f"{counts[1]:,} exchanges"),
        at_most("memory of 1 GB of HAR, by its growth", [whole], HAR_MB, "MB", f"{each_kb:.2f} KB for each exchange"),
        *(seen(f"peak memory of {s} MB of HAR", [peak], "MB") for s, peak in zip(megabytes, peaks, strict=True)),
    ]


def proxied(folder: Path, count: int) -> list[Figure]:
    with serving("target") as target, proxying(folder, target) as (proxy, process):
        asyncio.run(send(target, 500, 1)), asyncio.run(send(proxy, 500, 1))
        pairs = [(asyncio.run(send(target, 500, 1)), asyncio.run(send(proxy, 500, 1))) for _ in range(5)]
        median = [percentile(b, 0.5) - percentile(a, 0.5) for a, b in pairs]
        tail = [percentile(b, 0.99) - percentile(a, 0.99) for a, b in pairs]
        began = time.perf_counter()
        asyncio.run(send(proxy, count // 16, 16))
        rate = count / (time.perf_counter() - began)
        time.sleep(0.5)
        resident = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1]) / 1024  # type: ignore[index]
    return [
        at_most("what the proxy adds, median", median, MEDIAN_MS, "ms"),
        at_most("what the proxy adds, 99th percentile", tail, TAIL_MS, "ms"),
        at_least(
            "exchanges a second through the proxy", [rate], PROXY_RATE, "", "16 at once, client and target beside it"
        ),
        at_most("peak memory of the proxy", [resident], PROXY_MB, "MB", f"{count:,} exchanges"),
    ]


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]


async def send(url: str, count: int, lanes: int) -> list[float]:
    """The times in milliseconds of requests on kept connections."""
    host, port = url.removeprefix("http://").split(":")
    size = len(ANSWER % (len(body(1)), body(1).encode()))

    async def lane() -> list[float]:
        reader, writer = await asyncio.open_connection(host, int(port))
        times = []
        for _ in range(count):
            began = time.perf_counter()
            writer.write(REQUEST)
            await reader.readexactly(size)
            times.append((time.perf_counter() - began) * 1000)
        writer.close()
        return times

    return [item for times in await asyncio.gather(*(lane() for _ in range(lanes))) for item in times]


@contextmanager
def serving(role: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.observation", role], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


@contextmanager
def proxying(folder: Path, target: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    words = ["observe", "--profile", write_profile(folder, target), "--listen", "127.0.0.1:0"]
    command = [sys.executable, "-u", "-m", "conformance", *map(str, words), "--report-dir", str(folder / "p")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[2].rstrip(":"), process
    finally:
        process.terminate()
        process.communicate(timeout=120)


async def _serve() -> None:
    """The target: one answer to every request."""
    answer = ANSWER % (len(body(1)), body(1).encode())

    class Protocol(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.transport.write(answer)

    server = await asyncio.get_running_loop().create_server(Protocol, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
