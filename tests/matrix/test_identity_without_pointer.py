"""IDN-1 against a profile that does not say where identity shows scopes."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.outcomes import Outcome
from conformance.engine.in_process import judge, patched_profile, reference_options
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles, environment

pytestmark = pytest.mark.e2e


def test_a_fault_of_identity_is_found_without_a_pointer_too(served: EmbeddedReference, tmp_path: Path) -> None:
    """The profile of the reference states the place; a profile that does not finds it."""
    options = reference_options(
        served.base_url, served.control_url, "F220", bundled_profiles() / "reference.toml", tmp_path / "run"
    )
    profile = patched_profile(options, {"identity": None})
    with environment(served.environment):  # another module's service may have put its keys there in the meantime
        run = judge(
            options, lambda instance: instance.check.requirement == "IDN-1", profile=profile, keep_journal=False
        )
    failed = {result.case for result in run.results if result.outcome is Outcome.FAILED}
    assert failed == {"webhooks-write", "webhooks-read", "catalog-read", "checkout-quote", "none"}
