"""`conformance faults` that is ended takes all of its processes with it, however it is ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e


def below(pid: int) -> set[int]:
    """All processes that it started, and those that they started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue  # it has ended
        if text.rpartition(")")[2].split()[0] != "Z":
            parents[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found, more = set[int](), {pid}
    while more := {child for child, parent in parents.items() if parent in more} - found:
        found |= more
    return found


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if (Path("/proc") / str(pid) / "cmdline").exists() and _command(pid)}


def _command(pid: int) -> bytes:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_nothing_goes_on_when_the_command_has_ended(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """No process, no word more than that it was interrupted, and, unless it was killed, no temporary file."""
    command = [sys.executable, "-m", "conformance", "faults", "--jobs", "2"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    started: set[int] = set()
    until = time.monotonic() + 30
    while time.monotonic() < until and not (len(started) >= 4 and any(tmp_path.rglob("journal.ndjson"))):
        # two that judge, and a service for each
        started |= below(process.pid)
        time.sleep(0.1)
    process.send_signal(number)
    assert process.wait(30) == code
    until = time.monotonic() + 15
    while time.monotonic() < until and alive(started):
        time.sleep(0.1)
    assert not alive(started)
    assert process.stderr is not None
    with process.stderr as told:
        said = told.read()
    assert number is signal.SIGKILL or (said, list(tmp_path.iterdir())) == ("error: interrupted\n", [])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a signal that Python raises as an interrupt")
def test_an_interrupted_matrix_leaves_the_rows_that_it_has(tmp_path: Path) -> None:
    """Ctrl-C ends it with 130; the table holds what was judged, and the record of all faults stays as it was."""
    table, record = tmp_path / "table.json", tmp_path / "record.json"
    command = [sys.executable, "-m", "conformance", "faults", "F013", *(f"F{n:03d}" for n in range(101, 105))]
    process = subprocess.Popen(
        [*command, "--jobs", "1", "--json", str(table), "--record", str(record)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert [row["id"] for row in json.loads(table.read_text())["rows"]][:1] == [first.split()[0]]
    assert not record.exists()
