"""What a run costs beyond its requests: a bare client sends the same ones to the same server, and judges nothing."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from conformance.core.defaults import CONCURRENCY
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

GOAL = 1.4


def figures(rounds: int, quick: bool, details: dict[str, Any] | None = None) -> list[Figure]:
    with scratch_folder() as name, service() as running:
        folder, number = Path(name), itertools.count()
        wires = recorded(running, folder / "wires")
        sending: list[float] = []
        cpu: list[float] = []
        requests: list[float] = []

        def whole() -> float:
            place = folder / str(next(number))
            done = ran(run_command(running, place), running.environment, ROOT)
            assert done.code == 0, done.out + done.err
            requests.append(sent_requests(place))
            cpu.append(done.cpu_s)
            return done.seconds

        def bare() -> float:
            done = sent_bare(wires, running, CONCURRENCY)
            sending.append(float(done.out))
            return done.seconds

        ours, theirs = in_turn(1 if quick else rounds, whole, bare)
    return [
        at_most("full run / bare client, whole processes", ratios(ours, theirs), GOAL, "x"),
        seen("full run / bare client's sending alone", ratios(ours, sending), "x"),
        seen("full run, reports included", ours, "s", f"{requests[-1]:,.0f} requests"),
        seen("full run, processor time", cpu, "s"),
        seen("bare client", theirs, "s"),
    ]
