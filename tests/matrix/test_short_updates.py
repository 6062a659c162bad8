"""WH-2 against a profile whose updates name one member: the schema of updates names the others."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from conformance.core.outcomes import Outcome
from conformance.engine.in_process import document_profile, judge, merge_patch, reference_options
from conformance.reference.registry import faults
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles, environment

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SHORT = {"operations": {"updateInstallationWebhook": {"body": None, "bodies": []}}}
"""`webhooks.patch` of the reference names the description alone."""
BODY = {"operations": {"updateInstallationWebhook": {"body": {"description": "changed {unique}"}}}}
NAMES = sorted(name for name, fault in faults().items() if fault.requirement == "WH-2" and not fault.seeded_in)


@pytest.mark.parametrize("name", ["", *NAMES])
def test_faults_of_updates_are_found(served: EmbeddedReference, tmp_path: Path, name: str) -> None:
    reference = bundled_profiles() / "reference.toml"
    options = reference_options(served.base_url, served.control_url, name, reference, tmp_path / "run")
    document = tomllib.loads(reference.read_text(encoding="utf-8"))
    # a table would be merged, and the members that the patch does not name would stay
    profile = document_profile(options, merge_patch(merge_patch(document, SHORT), BODY))
    with environment(served.environment):
        run = judge(options, lambda instance: instance.check.requirement == "WH-2", profile=profile, keep_journal=False)
    outcomes = {result.outcome for result in run.results}
    assert bool(outcomes & {Outcome.FAILED, Outcome.WARNED}) is bool(name), run.results
    assert name or outcomes == {Outcome.PASSED}, run.results
