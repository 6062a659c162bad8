"""What the benchmarks share: figures, pairs measured in turn, and the reference service in the shapes they need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from conformance.core.package import cache_directory
from conformance.runner import embedded_reference as embedded
from conformance.runner.embedded_reference import EmbeddedReference

ROOT: Final = Path(__file__).parents[2]
PROFILE: Final = embedded.bundled_profiles() / "reference.toml"
LONGEST_S: Final = 900.0
"""No process of a benchmark runs longer."""
_BYTECODE: Final = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cache_directory() / "bytecode")}
"""As for a user of an installed package, whose modules are compiled once: compiling them is a twentieth of a run."""


@dataclass(frozen=True)
class Figure:
    """One line of the table. `goal` is the bound as text; `met` says whether it holds, None where there is none."""

    name: str
    value: float
    unit: str = ""
    goal: str = ""
    met: bool | None = None
    samples: tuple[float, ...] = ()
    """All that was measured; the value is their median."""
    note: str = ""

    @property
    def line(self) -> str:
        spread = f"{min(self.samples):.3g} to {max(self.samples):.3g}" if len(self.samples) > 1 else ""
        mark = {True: "✓", False: "✗", None: " "}[self.met]
        value = f"{self.value:,.3g}" if abs(self.value) < 1000 else f"{self.value:,.0f}"
        return f"{mark} {self.name:52} {value:>9} {self.unit:14} {spread:>18}  {self.goal:12} {self.note}".rstrip()


def at_most(name: str, samples: Sequence[float], bound: float, unit: str = "", note: str = "") -> Figure:
    value = median(samples)
    return Figure(name, value, unit, f"<= {bound:g}", value <= bound, tuple(samples), note)


def at_least(name: str, samples: Sequence[float], bound: float, unit: str = "", note: str = "") -> Figure:
    value = median(samples)
    return Figure(name, value, unit, f">= {bound:g}", value >= bound, tuple(samples), note)


def seen(name: str, samples: Sequence[float], unit: str = "", note: str = "") -> Figure:
    return Figure(name, median(samples), unit, samples=tuple(samples), note=note)


@dataclass
class Ran:
    """A finished process: its wall time, its exit code, and with its children its processor time and peak memory."""

    seconds: float
    code: int
    cpu_s: float
    peak_kb: int
    out: str = ""
    err: str = field(default="", repr=False)


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for the files of runs, in memory where the system has a place for that.

    ext4 passes over each inode that was freed within some minutes, one by one: once a benchmark has removed the folders
    of earlier runs, the 2,300 files of a run take 1 to 2.4 s instead of 0.06 s. A user's run does not follow on that.
    """
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)


def ran(command: Sequence[object], environment: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """Runs a command to its end. Raises subprocess.TimeoutExpired after LONGEST_S."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd,
            env={**os.environ, **_BYTECODE, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        children: dict[int, int] = {}
        _, status, usage = _waited(process, began, children)
        seconds = time.perf_counter() - began
        out.seek(0)
        err.seek(0)
        return Ran(
            seconds,
            os.waitstatus_to_exitcode(status),
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss + sum(children.values()),
            out.read().decode("utf-8", "replace"),
            err.read().decode("utf-8", "replace"),
        )


def _waited(process: subprocess.Popen[bytes], began: float, children: dict[int, int]) -> tuple[int, int, Any]:
    """`children`: gets the peak memory of each child in KB, of what is seen ten times a second."""
    looked_at = began
    while True:
        done = os.wait4(process.pid, os.WNOHANG)
        if done[0]:
            process.returncode = os.waitstatus_to_exitcode(done[1])
            return done
        now = time.perf_counter()
        if now - began > LONGEST_S:
            process.kill()
            raise subprocess.TimeoutExpired(process.args, LONGEST_S)
        if now - looked_at > 0.1:
            looked_at = now
            _look_at(process.pid, children)
        time.sleep(0.005)


def _look_at(parent: int, peaks: dict[int, int]) -> None:
    """Where there is a /proc; a process that has just ended keeps its last figure."""
    with suppress(OSError):
        for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            for line in Path(f"/proc/{child}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    peaks[int(child)] = int(line.split()[1])


def in_turn(rounds: int, *sides: Callable[[], float]) -> list[list[float]]:
    """Each side's samples: A B A B ..., the order reversed every other round, so that drift meets all alike."""
    samples: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        order = range(len(sides)) if number % 2 == 0 else range(len(sides) - 1, -1, -1)
        for side in order:
            samples[side].append(sides[side]())
    return samples


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Pair by pair."""
    return [one / other for one, other in zip(above, below, strict=True)]


@contextmanager
def service(
    latency_ms: int = 0, fault: str = "", variant: str = "", log: Path | None = None
) -> Iterator[EmbeddedReference]:
    """The reference as a process of its own; with `latency_ms` each answer takes so much longer.

    The file `log` gets a line for each answer (`slow_service`).
    """
    if not latency_ms and log is None:
        with embedded.reference(fault=fault, variant=variant) as running:
            yield running
        return
    command = [sys.executable, "-m", "tests.benchmarks.slow_service", str(latency_ms), *([str(log)] if log else [])]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        names = {f"CONFORMANCE_REFERENCE_{n.upper().replace('-', '_')}": key for n, key in told["credentials"].items()}
        yield EmbeddedReference(told["base_url"], told["control_url"], names)
    finally:
        process.terminate()
        process.wait(10)


def run_command(running: EmbeddedReference, folder: Path, *more: object, prefix: str = "") -> list[object]:
    """`conformance run` against a service, or against one of the targets that it serves by prefix."""
    place = f"/{prefix}" if prefix else ""
    target = ["--base-url", running.base_url + place, "--var", f"control={running.control_url}{place}"]
    run = [sys.executable, "-m", "conformance", "run", "--profile", PROFILE, *target, "--seed", 1, "-q"]
    return [*run, "--report-dir", folder, *more]


def sent_requests(folder: Path) -> int:
    """The number of requests that a finished run has sent; `folder` holds its reports."""
    requests: int = json.loads((folder / "run.json").read_text(encoding="utf-8"))["traffic"]["requests"]
    return requests


def recorded(running: EmbeddedReference, file: Path) -> Path:
    """The file, with every request that a run sends to a service."""
    recording = [sys.executable, "-m", "tests.benchmarks.recording", file, running.base_url, running.control_url]
    done = ran(recording, running.environment, ROOT)
    assert done.code == 0, done.err
    return file


def sent_bare(wires: Path, running: EmbeddedReference, concurrency: int) -> Ran:
    """What a bare client takes that sends recorded requests to a service."""
    done = ran([sys.executable, "-m", "tests.benchmarks.bare", wires, running.base_url, concurrency], cwd=ROOT)
    assert done.code == 0, done.err
    return done
