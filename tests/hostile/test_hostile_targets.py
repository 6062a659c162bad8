"""Whatever a target does, the run ends soon, in bounded memory, with a whole report, and gives no false verdict.

Each mode is a target of its own (`registry.MODES`); a third of them are well-behaved but for some of their answers,
so that the suite gets far enough to be hurt.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.hostile import attacks, connections, framing, harmless  # noqa: F401 - importing them fills the table
from tests.hostile.measured import Measured, measured
from tests.hostile.registry import CONFORMANT, MODES, NONCONFORMANT, UNREACHABLE, Mode
from tests.support.commands import REFERENCE, Desk, run_json, shared_reference
from tests.support.paths import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.slow(every=20)]

DEADLINE_S = 4
BEYOND_S = 5
"""A run may take so much longer than its deadline, from the start of its process to the end; what other processes
took from it behind the deadline is not counted, so that tests may run beside each other. A slower machine may take
longer in proportion: start and reports are work."""
MOST_BYTES = 500_000_000
WHOLE_S = 90
VERDICTS = {0: "conformant", 1: "nonconformant", 3: "incomplete"}
OUR_PART = re.compile(r"Traceback \(most recent call last\)|the suite erred|never retrieved|Exception ignored")
FILES = ("journal.ndjson", "run.json", "report.html", "junit.xml", "summary.md", "ctrf-report.json", "exchanges.har")


@dataclass(frozen=True)
class Hostile:
    """The server of all modes, a process that is none of the measured ones."""

    ports: dict[str, int]
    control: int

    def url(self, mode: str) -> str:
        return f"http://127.0.0.1:{self.ports[mode]}"

    def counted(self, mode: str) -> dict[str, int]:
        with socket.create_connection(("127.0.0.1", self.control), 10) as connection:
            connection.sendall(mode.encode() + b"\n")
            told: dict[str, int] = json.loads(connection.makefile("rb").read())
        return told


@cache
def hostile() -> Hostile:
    upstream = shared_reference().base_url.removeprefix("http://")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.hostile.server", upstream],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)  # it ends when its input does
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    return Hostile(told["ports"], told["control"])


def options(base_url: str, *more: str) -> list[str]:
    target = ["--profile", str(REFERENCE), "--base-url", base_url]
    control = ["--var", f"control={shared_reference().control_url}"]
    return ["-m", "conformance", "run", *target, *control, "--report-dir", "out", *more]


def survived(desk: Desk, done: Measured, deadline_s: float, record_property: Any) -> None:
    """What holds for every mode: time, memory, no crash, a terminal that is not taken over, no secret in any file."""
    own_s = done.wall_s - done.kept_waiting_s
    record_property("wall_s", round(done.wall_s, 2))
    record_property("beyond_deadline_s", round(own_s - deadline_s, 2))
    record_property("slowness", round(done.slowness, 1))
    record_property("tree_mb", round(done.peak_bytes / 1e6))
    record_property("exit_code", done.code)
    assert own_s <= deadline_s + BEYOND_S * done.slowness, done.end
    assert done.peak_bytes <= MOST_BYTES
    assert not OUR_PART.search(done.text), done.end
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", done.out + done.err)
    assert leaked(desk, done) == []


def leaked(desk: Desk, done: Measured) -> list[str]:
    """Where a key can be read, in any spelling that an answer may have had of it."""
    texts = {str(path): path.read_bytes() for path in (desk.place / "out").rglob("*") if path.is_file()}
    texts["terminal"] = done.out + done.err
    found = []
    for name, key in desk.service.environment.items():
        for spelling in spellings(key.encode()):
            found += [f"{name} in {where}" for where, text in texts.items() if spelling in text]
    return found


def spellings(key: bytes) -> Iterator[bytes]:
    yield from (key, key.hex().encode(), quote(key, safe="").encode())
    for offset in range(3):
        core = base64.b64encode(bytes(offset) + key)[4 if offset else 0 : -4]
        yield from (core, core.replace(b"+", b"-").replace(b"/", b"_"))


def ended(desk: Desk, done: Measured, mode: Mode) -> None:
    """The exit code is one that is right for the mode, and the reports say the same."""
    assert done.code in mode.ends, done.end
    out = desk.place / "out"
    if done.code == UNREACHABLE:
        run = json.loads((out / "run.json").read_text(encoding="utf-8"))
        assert (run["verdict"], bool(run["interrupted"])) == ("incomplete", True)
        (line,) = done.text.splitlines()
        assert line.startswith("error: ")
        return
    run = run_json(out)
    assert run["verdict"] == VERDICTS[done.code]
    assert [name for name in FILES if not (out / name).stat().st_size] == []
    assert (out / "report.html").read_text().rstrip().endswith("</html>")
    assert run["counts"]["broken"] == 0, [r["message"] for r in run["results"] if r["outcome"] == "broken"]
    failed = [(r["check"], r["operation"], r["message"]) for r in run["results"] if r["outcome"] == "failed"]
    assert bool(failed) == (done.code == NONCONFORMANT), failed[:9]
    if mode.harmless:
        assert failed == [], failed[:9]
        assert run["counts"]["passed"] > 50


@pytest.mark.parametrize("name", [name for name in MODES if name != "all that is harmless at once"])
def test_a_hostile_target_is_survived(tmp_path: Path, name: str, record_property: Any) -> None:
    """In time, in bounded memory, with a report, never certified, and nobody else was asked for anything."""
    mode, desk = MODES[name], Desk(tmp_path, shared_reference())
    only = ["-k", mode.only] if mode.only else []
    command = options(hostile().url(name), "--deadline", str(DEADLINE_S), *only)
    done = measured(desk, command, DEADLINE_S)
    survived(desk, done, DEADLINE_S, record_property)
    ended(desk, done, mode)
    counted = hostile().counted(name)
    assert counted["elsewhere"] == 0
    assert counted.get("cookies", 0) == 0
    assert counted["connections"] > 0
    if name.endswith("now and then"):
        assert counted["hostile"] > 0


def test_what_is_odd_and_harmless_is_certified(tmp_path: Path, record_property: Any) -> None:
    """Cookies, interim answers, a clock at 1970 and unknown headers are nobody's business: conformant, exit 0."""
    name = "all that is harmless at once"
    desk = Desk(tmp_path, shared_reference())
    done = measured(desk, options(hostile().url(name), "--deadline", str(WHOLE_S)), WHOLE_S)
    survived(desk, done, WHOLE_S, record_property)
    ended(desk, done, MODES[name])
    assert done.code == CONFORMANT
    assert hostile().counted(name)["cookies"] == 0


def test_a_closed_port_is_unreachable(tmp_path: Path, record_property: Any) -> None:
    """Nobody listens: exit 4, at once, and no folder is left."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    desk = Desk(tmp_path, shared_reference())
    done = measured(desk, options(f"http://127.0.0.1:{port}", "--deadline", str(DEADLINE_S)), DEADLINE_S)
    survived(desk, done, DEADLINE_S, record_property)
    ended(desk, done, Mode("closed", connections.silent, frozenset({UNREACHABLE})))


def test_tls_asked_of_a_plain_port_is_unreachable(tmp_path: Path, record_property: Any) -> None:
    """The base URL says https, and the port speaks http: exit 4, with words for it."""
    plain = shared_reference().base_url.replace("http://", "https://")
    desk = Desk(tmp_path, shared_reference())
    done = measured(desk, options(plain, "--deadline", str(DEADLINE_S)), DEADLINE_S)
    survived(desk, done, DEADLINE_S, record_property)
    ended(desk, done, Mode("plain", connections.silent, frozenset({UNREACHABLE})))
