"""A limiter that never recovers: red within seconds of the declared recovery, and the run ends soon after that.

The reference's profile declares a recovery of 2 s.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.load.behaviours import never_again
from tests.hostile.load.test_a_target_under_load import Loaded, loaded
from tests.support.commands import Desk, journal_lines, run_json, shared_reference

pytestmark = [pytest.mark.e2e, pytest.mark.slow(every=0)]


def red(run: Loaded) -> Counter[str]:
    return Counter(row["requirement"] for row in run.run["results"] if row["outcome"] == "failed")


@pytest.mark.parametrize("after", [0, 300], ids=["from the start", "after 300 requests"])
def test_a_limiter_that_never_recovers_is_red_soon(after: int, tmp_path: Path, record_property: Any) -> None:
    """Only RATE-3 fails, and what rests on the limited keys names it as the cause."""
    told = loaded(tmp_path, never_again(after), record_property)
    assert set(red(told)) == {"RATE-3"}
    assert (told.done.code, told.run["verdict"]) == (1, "nonconformant")
    assert told.seconds < 60
    open_ = [row for row in told.run["results"] if row["outcome"] == "inconclusive"]
    assert sum(row["cause"].startswith("RATE-3") for row in open_) > 0.5 * len(open_)
    assert told.traffic["requests"] < after + 2000


@pytest.mark.parametrize("after", [0, 300], ids=["from the start", "after 300 requests"])
def test_the_first_failure_ends_the_run_sooner(after: int, tmp_path: Path, record_property: Any) -> None:
    told = loaded(tmp_path, never_again(after), record_property, "--fail-fast")
    assert set(red(told)) == {"RATE-3"}
    assert told.seconds < 30  # 8 to 10 where nothing else runs beside it
    exchanges = journal_lines(tmp_path / "out", "exchange")
    assert max(exchange["at"] for exchange in exchanges) < 15


def test_a_limit_that_comes_up_in_the_burst_alone_is_red_soon(tmp_path: Path) -> None:
    """F110 is met by nothing but the provoked burst. A filtered run does what is needed for it."""
    done = Desk(tmp_path, shared_reference()).conformance(
        "run", *Desk(tmp_path, shared_reference()).target("F110"), "--report-dir", "out", "--fail-fast", "-k", "RATE-3"
    )
    run = run_json(tmp_path / "out")
    assert done.code == 1
    assert {row["requirement"] for row in run["results"] if row["outcome"] == "failed"} == {"RATE-3"}
