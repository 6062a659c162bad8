"""Sound beyond what anybody thought of: targets drawn at random from all legitimate readings are conformant.

A few of them here, the same in every run; `conformance faults --all` draws two hundred.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.embedded import Embedded
from conformance.matrix import drawn_run
from conformance.model import Outcome, Verdict
from conformance.reference.drawn.choices import Drawn
from conformance.reference.drawn.strategy import drawn

TARGETS = drawn(3, seed=2)


@pytest.mark.parametrize("target", TARGETS, ids=range(len(TARGETS)))
def test_a_drawn_target_is_conformant(target: Drawn, served: Embedded, tmp_path: Path) -> None:
    """Whatever it chose, and however much of it its profile tells: no check fails, none required stays open."""
    run = drawn_run(target, f"R{TARGETS.index(target) + 900}", served, tmp_path)
    bad = [r for r in run.results if r.outcome in (Outcome.FAILED, Outcome.INCONCLUSIVE, Outcome.BROKEN)]
    shown = [(r.requirement, r.operation, r.outcome.value, r.message) for r in bad[:10]]
    assert run.verdict is Verdict.CONFORMANT, (target.differences(), shown)
