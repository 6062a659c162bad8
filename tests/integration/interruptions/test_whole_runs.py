"""Whole runs, of all checks: interrupted at random moments and resumed, and what was ended before it had begun."""

from __future__ import annotations

import os
import random
import subprocess

import pytest

from tests.integration.interruptions.harness import BEFORE, PATIENCE_S, SIGNALS, Bench, interrupted, stage_of
from tests.support.commands import REFERENCE, Desk, shared_reference

pytestmark = [pytest.mark.e2e, pytest.mark.slow(every=0)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(Desk(tmp_path_factory.mktemp("runs"), shared_reference()), "reference~all", ())


@pytest.mark.parametrize("number", range(100, 106))
def test_a_whole_run_that_is_interrupted_is_certified_none_the_less(bench: Bench, number: int) -> None:
    """Bursts, walks, generated requests and all: conformant, exit 0, and every check's outcome as without."""
    assert (bench.whole.told.code, bench.whole.told.verdict) == (0, "conformant")
    print(dict(interrupted(bench, range(number, number + 1))))


@pytest.mark.parametrize("number", range(9))
def test_what_was_ended_before_its_first_line_has_sent_nothing_to_go_on_with(bench: Bench, number: int) -> None:
    """There is then no folder, or an empty journal in it: one line says so, exit 2, and nothing is changed."""
    moment = random.Random(number).uniform(0, bench.whole.before_s)
    for attempt in range(8):
        folder = bench.desk.place / f"early-{number}-{attempt}"
        process = bench.begun(folder.name)
        try:
            process.communicate(timeout=moment * 0.8**attempt)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, SIGNALS[number % 3])
        process.communicate(timeout=PATIENCE_S)
        if stage_of(folder) == BEFORE:
            break
    assert stage_of(folder) == BEFORE, "it was always too late"
    before = sorted(folder.rglob("*"))
    done = bench.desk.conformance("run", "--resume", folder.name, "--profile", REFERENCE)
    assert done.code == 2
    assert "nothing to resume" in done.one_line() or "there is no run here" in done.one_line()
    assert sorted(folder.rglob("*")) == before
