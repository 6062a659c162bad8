"""Runs that are cut short at random moments, by every signal in turn, and gone on with until they end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from conformance.journal.fold import key
from conformance.journal.journal import NAME
from conformance.journal.lines import CheckConcluded, ExchangeRecorded, RunStarted
from conformance.journal.reader import read
from conformance.judge.assemble import load
from tests.support.commands import REFERENCE, Desk, results, run_json, wait_until

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
BEFORE, CHECKS, REPORTS = "before the first line", "during the checks", "while reports were written"
SEED = 7
_TRIES = 8
PATIENCE_S = 200


@dataclass(frozen=True)
class Told:
    """What is the same in every run: the exit code, the verdict, the counts, and each check's outcome."""

    code: int
    verdict: str
    counts: dict[str, int]
    outcomes: dict[tuple[str, str, str], str]

    @classmethod
    def of(cls, code: int, folder: Path) -> Told:
        run = run_json(folder)
        assert run["complete"], run["interrupted"]
        return cls(code, run["verdict"], run["counts"], results(run))


@dataclass(frozen=True)
class Whole:
    """A run that nobody interrupted: what it came to, how long its journal is, and how long each stage took."""

    told: Told
    size: int
    before_s: float
    checks_s: float
    reports_s: float


@dataclass(frozen=True)
class Bench:
    """One target and one selection, and what a run of them comes to that nobody interrupts."""

    desk: Desk
    prefix: str
    selection: tuple[str, ...]

    @cached_property
    def whole(self) -> Whole:
        folder = self.desk.place / "whole"
        moments = [time.monotonic()]
        process = self.begun(folder.name)
        for stage in (CHECKS, REPORTS):
            wait_until(lambda stage=stage: stage_of(folder) == stage, process)  # type: ignore[misc]
            moments.append(time.monotonic())
        size = _size(folder)
        code = _ended(process)[0]
        lengths = [after - before for before, after in pairwise([*moments, time.monotonic()])]
        return Whole(Told.of(code, folder), size, *lengths)

    def begun(self, folder: str) -> subprocess.Popen[str]:
        return self.started(*self.desk.target(self.prefix), *self.selection, "--seed", SEED, "--report-dir", folder)

    def resumed(self, folder: str) -> subprocess.Popen[str]:
        return self.started("--resume", folder, "--profile", REFERENCE)

    def started(self, *given: object) -> subprocess.Popen[str]:
        return self.desk.started(["-m", "conformance", "run", *map(str, given)])


def interrupted(bench: Bench, numbers: range) -> Counter[str]:
    """Cuts runs short, one for each number; what becomes of each must equal the whole. How many were cut when."""
    whole = bench.whole
    stages: Counter[str] = Counter()
    for number in numbers:
        drawn = random.Random(number)
        for attempt in range(_TRIES):  # the moment may have been too late: then it was not an interruption
            folder = bench.desk.place / f"{number}-{attempt}"
            process = bench.begun(folder.name)
            share = drawn.random()
            if number % 5 == 4:
                wait_until(lambda here=folder: stage_of(here) == REPORTS, process)  # type: ignore[misc]
                moment = share * whole.reports_s * 0.7**attempt
            else:
                wait_until(lambda here=folder, size=share * whole.size: _size(here) > size, process)  # type: ignore[misc]
                moment = drawn.uniform(0, 0.02)
            stage = cut_short(process, moment, SIGNALS[number % 3], folder)
            if stage:
                break
        assert stage, "it was always too late"
        stages[stage] += 1
        kept = _results(folder)
        if number % 4 == 3:  # what goes on may be cut short too
            moment = drawn.uniform(0, whole.before_s + whole.checks_s)
            cut_short(bench.resumed(folder.name), moment, SIGNALS[number // 4 % 3], folder, again=True)
        code, out, err = _ended(bench.resumed(folder.name))
        assert Told.of(code, folder) == whole.told, (number, stage, out + err)
        _expect_kept(folder, kept)
    return stages


def cut_short(
    process: subprocess.Popen[str], after_s: float, number: signal.Signals, folder: Path, *, again: bool = False
) -> str:
    """Sends the signal so long from now, and says when that was; empty where the process had ended."""
    try:
        process.communicate(timeout=after_s)
    except subprocess.TimeoutExpired:
        stage = stage_of(folder)
        if number is signal.SIGTERM:  # as a pipeline sends it: to one process; a terminal sends to all
            process.send_signal(number)
        else:
            os.killpg(process.pid, number)
        code, out, err = _ended(process)
        assert again or "Traceback" not in out + err, (code, out, err)  # a process that just starts up is Python's own
        if stage == CHECKS and not again and number is not signal.SIGKILL and code == 130:
            last = [line for line in (out + err).splitlines() if line.strip()][-1]
            assert "resume: conformance run --resume" in last, out + err
        assert isinstance(next(read(folder / NAME)), RunStarted)
        load(folder)
        return stage
    return ""


def stage_of(folder: Path) -> str:
    """What the run in a folder is about to do: nothing has been written, checks are run, or all is judged."""
    if not _size(folder):
        return BEFORE
    text = (folder / NAME).read_bytes()
    return REPORTS if b'"kind":"end"' in text[max(0, text.rfind(b'"kind":"resumed"')) :] else CHECKS


def _size(folder: Path) -> int:
    path = folder / NAME
    return path.stat().st_size if path.exists() else 0


def _ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def _results(folder: Path) -> dict[tuple[str, str, str], str]:
    found = (line.result for line in read(folder / NAME) if isinstance(line, CheckConcluded))
    return {key(result): result.outcome.value for result in found}


def _expect_kept(folder: Path, kept: dict[tuple[str, str, str], str]) -> None:
    """What had a result was not run again, and nothing is told twice."""
    lines = list(read(folder / NAME))
    told = [key(line.result) for line in lines if isinstance(line, CheckConcluded)]
    sent = [line.exchange.id for line in lines if isinstance(line, ExchangeRecorded)]
    assert len(told) == len(set(told))
    assert len(sent) == len(set(sent))
    assert kept.items() <= _results(folder).items()
