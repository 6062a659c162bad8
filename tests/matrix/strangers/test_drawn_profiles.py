"""No profile that loads ends a run with 5, whatever it says and whatever its target sends."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.core.errors import ConformanceError, ProfileError
from conformance.core.model import Run
from conformance.core.outcomes import Outcome
from conformance.core.run_options import RunOptions
from conformance.engine.in_process import judge
from conformance.profile.loader import profile_from_document
from conformance.profile.model import Profile
from conformance.reports import write_reports
from conformance.reports.terminal import summary_lines
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles
from tests.matrix.strangers.drawn_profiles import Drawing
from tests.matrix.strangers.random_target import answering

pytestmark = [pytest.mark.e2e, pytest.mark.slow(every=15)]

BATCH = 10
BATCHES = 30
"""300 profiles, each against two targets."""
_MOST_REQUESTS = 400
_DEADLINE_S = 2.0
_SHARE = 0.08
"""Each run takes a part of the checks, and has the requests for it: all 300 together take each many times."""
_TIMEOUT_S = 600.0
_TRIES = 60
"""A changed document may well be refused: so many are drawn until one loads."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with what profiles may refer to."""
    for name in ("reference.toml", "reference.schemas.yaml"):
        shutil.copy(bundled_profiles() / name, tmp_path / name)
    return tmp_path


def loaded(number: int, place: Path, base_url: str, control_url: str) -> Profile:
    """The first profile of a series that loads. What does not is refused with a ProfileError, and with nothing else."""
    for turn in range(_TRIES):
        document = Drawing(1000 * number + turn, {"control": control_url}).document()
        try:
            profile = profile_from_document(document, directory=place, base_url=base_url)
        except ProfileError:
            continue
        limits = replace(
            profile.limits,
            max_requests=min(profile.limits.max_requests, _MOST_REQUESTS),
            timeout_s=min(profile.limits.timeout_s, 2.0),
            deadline_s=min(profile.limits.deadline_s or _DEADLINE_S, _DEADLINE_S),
            patience_s=min(profile.limits.patience_s, 0.2),
        )
        return replace(profile, limits=limits)
    raise AssertionError(f"none of {_TRIES} documents of series {number} loads")


def ended(profile: Profile, place: Path, number: int) -> Run | None:
    """The run, with its reports written; None where it could not begin for a reason that is the profile's."""
    options = RunOptions(profile=place / "reference.toml", report_dir=place / f"run-{number}", seed=number, examples=1)
    chosen = random.Random(number)
    try:
        run = judge(options, lambda _: chosen.random() < _SHARE, profile=profile)
    except ConformanceError:
        return None
    write_reports(run, place / f"run-{number}")
    assert list(summary_lines(run))
    return run


def end_batch(batch: int, place: Path, base_url: str, control_url: str) -> None:
    """Runs the profiles of a batch against the reference, and against what answers at random."""
    verdicts: Counter[str] = Counter()
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        with answering(number) as at_random:
            controls = (control_url, at_random)
            for target, control in ((base_url, controls[number % 3 == 0]), (at_random, controls[number % 2])):
                profile = loaded(number, place, target, control)
                run = ended(profile, place, 2 * number + (target == at_random))
                verdicts[run.verdict.value if run else "not begun"] += 1
                broken = [r for r in run.results if r.outcome is Outcome.BROKEN] if run else []
                assert not broken, (number, target == at_random, broken[0].check, broken[0].message)
    assert verdicts["broken"] == 0
    assert sum(verdicts.values()) - verdicts["not begun"] > BATCH, verdicts


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_profile_that_loads_ends_a_run_with_5(batch: int, served: EmbeddedReference, place: Path) -> None:
    """Neither against the reference nor against what answers at random; every report is written.

    In a process of its own: one that ends without a word says by its exit code how.
    """
    arguments = [str(batch), str(place), served.base_url, served.control_url]
    process = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", __name__, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TIMEOUT_S,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert process.returncode == 0, (process.returncode, process.stdout[-2000:], process.stderr[-8000:])


if __name__ == "__main__":
    end_batch(int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
