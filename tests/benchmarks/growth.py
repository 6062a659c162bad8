"""Whole runs with ten and a hundred times as many generated requests: what each costs in memory and in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.benchmarks.common import (
    ROOT,
    Figure,
    at_most,
    ran,
    run_command,
    scratch_folder,
    seen,
    sent_requests,
    service,
)

EXAMPLES = (8, 80, 800)
"""The first is what a run does unless it is told otherwise."""
KB_EACH = 1.0
SLOWER = 1.2


def figures(rounds: int, quick: bool, details: dict[str, Any] | None = None) -> list[Figure]:
    sent, peak, seconds = [], [], []
    with scratch_folder() as name, service() as running:
        for examples in EXAMPLES[:2] if quick else EXAMPLES:
            folder = Path(name) / str(examples)
            more = ("--examples", examples, "--limit", "max_requests=1000000")
            done = ran(run_command(running, folder, *more, prefix=f"reference~{examples}"), running.environment, ROOT)
            assert done.code == 0, done.out + done.err
            sent.append(sent_requests(folder))
            peak.append(done.peak_kb)
            seconds.append(done.seconds)
    found = []
    for step in range(1, len(sent)):
        each_kb = (peak[step] - peak[step - 1]) / (sent[step] - sent[step - 1])
        told = f"{sent[step - 1]:,} to {sent[step]:,} exchanges"
        found.append(at_most("memory for each exchange more", [each_kb], KB_EACH, "KB", told))
    each = [(after - seconds[0]) / (many - sent[0]) for after, many in list(zip(seconds, sent, strict=True))[1:]]
    if len(each) > 1:
        found.append(at_most("time for each exchange, a hundredfold / tenfold", [each[1] / each[0]], SLOWER, "x"))
    found += [
        seen(f"peak memory with {many:,} exchanges", [kb / 1024], "MB") for many, kb in zip(sent, peak, strict=True)
    ]
    found += [seen(f"time with {many:,} exchanges", [took], "s") for many, took in zip(sent, seconds, strict=True)]
    return found
