"""A target 50 ms away: a run should take little longer than its requests do, so many at once.

What a bare client takes for the same requests is measured in turn: a server that works answers later than it is away.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

from conformance.journal.lines import ExchangeRecorded
from conformance.journal.reader import read
from tests.benchmarks.common import (
    ROOT,
    Figure,
    at_most,
    in_turn,
    ran,
    ratios,
    recorded,
    run_command,
    scratch_folder,
    seen,
    sent_bare,
    sent_requests,
    service,
)

MS = 50
CONCURRENCY = 32
GOAL = 1.2


def figures(rounds: int, quick: bool, details: dict[str, Any] | None = None) -> list[Figure]:
    ideal, requests, longest = [], [], []
    chain, number = "", itertools.count()
    with scratch_folder() as name, service(latency_ms=MS) as running:
        with service() as near:
            wires = recorded(near, Path(name) / "wires")

        def whole() -> float:
            nonlocal chain
            folder = Path(name) / str(next(number))
            command = run_command(running, folder, "--concurrency", CONCURRENCY, prefix=f"reference~{folder.name}")
            done = ran(command, running.environment, ROOT)
            assert done.code == 0, done.out + done.err
            sent = sent_requests(folder)
            ideal.append(sent * MS / 1000 / CONCURRENCY)
            requests.append(float(sent))
            seconds, chain = critical_path(folder)
            longest.append(seconds)
            return done.seconds

        def bare() -> float:
            return sent_bare(wires, running, CONCURRENCY).seconds

        ours, theirs = in_turn(1 if quick else rounds, whole, bare)
    return [
        at_most(f"{MS} ms a request, {CONCURRENCY} at once: wall / ideal", ratios(ours, ideal), GOAL, "x"),
        seen("  wall", ours, "s", f"{requests[-1]:,.0f} requests"),
        seen("  a bare client's wall / ideal", ratios(theirs, ideal), "x"),
        seen("  wall / a bare client's", ratios(ours, theirs), "x"),
        seen("  critical path: the longest serial chain", longest, "s", chain),
    ]


def critical_path(folder: Path) -> tuple[float, str]:
    """The seconds during which some request of one check was under way, of the check where that is longest."""
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for line in read(folder / "journal.ndjson"):
        if isinstance(line, ExchangeRecorded) and not line.exchange.check.startswith("check_rate_limit"):
            exchange = line.exchange
            spans[exchange.check].append((exchange.at, exchange.at + exchange.duration_ms / 1000))
    return max((_covered(found), f"{check}, {len(found)} requests") for check, found in spans.items())


def _covered(spans: list[tuple[float, float]]) -> float:
    total, last = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, last))
        last = max(last, end)
    return total
