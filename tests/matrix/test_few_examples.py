"""A run with few examples has shorter properties, and leaves no more open than another one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.core.outcomes import OPEN_OUTCOMES
from conformance.engine.in_process import judge, reference_options
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def test_one_example_leaves_no_walk_open(served: EmbeddedReference, tmp_path: Path) -> None:
    """Two walks are the fewest: a single one does not call every operation of its kind."""
    profile = bundled_profiles() / "reference.toml"
    options = replace(reference_options(served.base_url, served.control_url, "", profile, tmp_path), examples=1)
    run = judge(options, lambda instance: instance.check.id.startswith("check_walks::"), keep_journal=False)
    walks = [result for result in run.results if result.check.startswith("check_walks::")]
    assert walks
    assert [(result.check, result.operation) for result in walks if result.outcome in OPEN_OUTCOMES] == []
