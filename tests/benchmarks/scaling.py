"""More processes, more shards, more targets: what they save on this machine."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from conformance.core.exit_codes import EXIT_CODES
from conformance.core.outcomes import Verdict
from conformance.runner.embedded_reference import EmbeddedReference
from tests.benchmarks.common import (
    PROFILE,
    ROOT,
    Figure,
    at_most,
    in_turn,
    ran,
    ratios,
    run_command,
    scratch_folder,
    seen,
    service,
)

TARGETS = 10
MS = 50
PACE = 10
"""Requests a second, in quick depth, of targets that bound it."""


def figures(rounds: int, quick: bool, details: dict[str, Any] | None = None) -> list[Figure]:
    times = 1 if quick else max(2, rounds // 2)
    with scratch_folder() as name:
        folder = Path(name)
        with service() as running:
            number = itertools.count()
            ways = [_processes(running, folder, number, count) for count in (1, 2)]
            ways += [_shards(running, folder, number, count) for count in (2, 4)]
            one, two, halves, quarters = in_turn(times, *ways)
        with service(latency_ms=MS) as running:
            alone, together = in_turn(times, *(_targets(running, folder, count) for count in (1, TARGETS)))
        with service() as running:
            slow = ("--rate", PACE, "--depth", "quick")
            paced, all_paced = in_turn(1, *(_targets(running, folder, count, *slow) for count in (1, TARGETS)))
    return [
        seen("one process, on a target that takes a processor", one, "s"),
        seen("  two processes / one", ratios(two, one), "x"),
        seen("  2 shards side by side, merged / one", ratios(halves, one), "x"),
        seen("  4 shards side by side, merged / one", ratios(quarters, one), "x"),
        at_most(f"{TARGETS} targets {MS} ms away / one of them", ratios(together, alone), 2.0, "x"),
        seen("  one of them", alone, "s"),
        seen(f"  {TARGETS} of them", together, "s"),
        at_most(f"{TARGETS} targets at {PACE} requests a second, quick / one", ratios(all_paced, paced), 2.0, "x"),
        seen("  one of them", paced, "s"),
    ]


def _processes(running: EmbeddedReference, folder: Path, number: itertools.count[int], count: int) -> Any:
    def timed() -> float:
        which = next(number)
        split = () if count == 1 else ("-n", count)
        command = run_command(running, folder / f"p{which}", *split, prefix=f"reference~p{which}")
        done = ran(command, running.environment, ROOT)
        assert done.code == 0, done.out + done.err
        return done.seconds

    return timed


def _shards(running: EmbeddedReference, folder: Path, number: itertools.count[int], count: int) -> Any:
    def timed() -> float:
        which = next(number)
        places = [folder / f"s{which}-{shard}" for shard in range(1, count + 1)]
        began = time.perf_counter()
        started = []
        for shard, place in enumerate(places, 1):
            command = run_command(running, place, "--shard", f"{shard}/{count}", prefix=f"reference~s{which}")
            words = [str(word) for word in command]
            started.append(subprocess.Popen(words, cwd=ROOT, env={**os.environ, **running.environment}))
        assert [process.wait(300) for process in started] == [3] * count
        merge = [sys.executable, "-m", "conformance", "merge", *places, "--report-dir", folder / f"m{which}", "-q"]
        done = ran(merge, cwd=ROOT)
        assert done.code == 0, done.out + done.err
        return time.perf_counter() - began

    return timed


def _targets(running: EmbeddedReference, folder: Path, count: int, *options: object) -> Any:
    def timed() -> float:
        stamp = f"{count}-{time.monotonic_ns()}"
        profiles = folder / f"profiles{stamp}"
        profiles.mkdir()
        text = PROFILE.read_text(encoding="utf-8")
        schemas = PROFILE.with_name("reference.schemas.yaml")
        (profiles / schemas.name).write_bytes(schemas.read_bytes())
        for target in range(count):
            place = f"/reference~{stamp}-{target}"
            own = text.replace("http://127.0.0.1:8766", running.control_url + place)
            own = own.replace("http://127.0.0.1:8765", running.base_url + place)
            (profiles / f"t{target}.toml").write_text(own, encoding="utf-8")
        run = [sys.executable, "-m", "conformance", "run", "--profile", profiles, "--seed", 1, "-q", *options]
        done = ran([*run, "--report-dir", folder / f"r{stamp}"], running.environment, ROOT)
        assert done.code in (0, EXIT_CODES[Verdict.INCOMPLETE]), done.out + done.err
        return done.seconds

    return timed
