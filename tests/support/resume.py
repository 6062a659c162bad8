"""Runs that are cut short, and go on."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.commands import REFERENCE, TIMEOUT_S, Desk, journal_lines, passed, results, wait_until

SELECTION = "check_authentication and (Identity or quotePublicCart) or check_search"
LIMITS = "check_rate_limit and (getApiKeyIdentity or quotePublicCart) or check_public"
SPLIT = ("-n", "2")


def begun(desk: Desk, *given: object, results: int = 15, selection: str = SELECTION) -> subprocess.Popen[str]:
    """A run that has journalled some results that its requests decided, and has more to do."""
    options = ["run", *(() if "--profile" in given else desk.target()), "-k", selection, "--report-dir", "out"]
    process = desk.started(["-m", "conformance", *map(str, [*options, "--concurrency", 2, *given])])
    wait_until(lambda: passed(journals(desk)) >= results, process)
    return process


def cut_short(desk: Desk, *given: object, number: signal.Signals = signal.SIGKILL, **rest: Any) -> tuple[str, str]:
    """A run that this signal ended, sent as a terminal does it; its output."""
    process = begun(desk, *given, **rest)
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert "Traceback" not in out + err
    return out, err


def resume(desk: Desk, *given: object) -> Any:
    return desk.conformance("run", "--resume", "out", "--profile", REFERENCE, *given)


def journals(desk: Desk) -> list[Path]:
    return list((desk.place / "out").glob("journal*.ndjson"))


def lines(desk: Desk, kind: str) -> list[dict[str, Any]]:
    return journal_lines(desk.place / "out", kind)


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def name_of(number: signal.Signals) -> str:
    return number.name


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    alike = all(one[name] == other[name] for name in ("verdict", "counts", "tiers"))
    return alike and results(one) == results(other)
