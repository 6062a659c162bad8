"""The reference, given the policy that a guide describes, is certified with the profile written from that guide."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.runner.embedded_reference import EmbeddedReference
from tests.support.commands import Desk, run_json
from tests.support.guided_reference.guides import GUIDES
from tests.support.guided_reference.service import guided_process
from tests.support.paths import PROFILES

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.mark.parametrize("name", GUIDES)
def test_the_reference_as_a_guide_describes_it_is_conformant(name: str, tmp_path: Path) -> None:
    """With that very profile: only the addresses are overridden, as a user would."""
    with guided_process(name) as running:
        environment = {"CONTROL_URL": running.control_url}
        desk = Desk(tmp_path, EmbeddedReference(running.base_url, running.control_url, environment))
        profile, control = PROFILES / "guides" / f"{name}.toml", f"control={running.control_url}"
        target = ("--profile", profile, "--base-url", running.base_url, "--var", control)
        done = desk.conformance("run", *target, "--report-dir", "out", "-q")
    run = run_json(tmp_path / "out")
    wrong = [result for result in run["results"] if result["outcome"] in ("failed", "warned", "broken")]
    assert (run["verdict"], done.code, wrong) == ("conformant", 0, []), done.text
