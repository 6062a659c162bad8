"""A target 50 ms away: a run should take little longer than its requests do, so many at once."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.benchmarks.common import ROOT, Figure, at_most, ran, run_command, seen, service

MS = 50
CONCURRENCY = 32
GOAL = 1.3


def figures(rounds: int, quick: bool, details: dict[str, Any] | None = None) -> list[Figure]:
    ratio, wall, requests, longest = [], [], [], []
    chain = ""
    with tempfile.TemporaryDirectory() as name, service(latency_ms=MS) as running:
        for number in range(1 if quick else rounds):
            folder = Path(name) / str(number)
            command = run_command(running, folder, "--concurrency", CONCURRENCY, prefix=f"L1~{number}")
            done = ran(command, running.environment, ROOT)
            assert done.code == 0, done.out + done.err
            told = json.loads((folder / "run.json").read_text())
            sent = told["traffic"]["requests"]
            ratio.append(done.seconds / (sent * MS / 1000 / CONCURRENCY))
            wall.append(done.seconds)
            requests.append(float(sent))
            seconds, chain = critical_path(folder)
            longest.append(seconds)
    return [
        at_most(f"{MS} ms a request, {CONCURRENCY} at once: wall / ideal", ratio, GOAL, "x"),
        seen("  wall", wall, "s", f"{requests[-1]:,.0f} requests"),
        seen("  critical path: the longest serial chain", longest, "s", chain),
    ]


def critical_path(folder: Path) -> tuple[float, str]:
    """The seconds during which some request of one check was under way, of the check where that is longest."""
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for line in (folder / "journal.ndjson").read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "exchange" and not record["check"].startswith("check_rate_limit"):
            spans[record["check"]].append((record["at"], record["at"] + record["duration_ms"] / 1000))
    return max((_covered(found), f"{check}, {len(found)} requests") for check, found in spans.items())


def _covered(spans: list[tuple[float, float]]) -> float:
    total, last = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, last))
        last = max(last, end)
    return total
