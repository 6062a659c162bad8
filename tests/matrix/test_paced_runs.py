"""Runs with a rate: what must happen at once does so, and the rate is kept on the average."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.model import Run
from conformance.core.outcomes import Outcome
from conformance.engine.in_process import judge, patched_profile, reference_options
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles, environment

pytestmark = pytest.mark.e2e


def run_of(served: EmbeddedReference, folder: Path, name: str, requirement: str, operation: str, rate: int) -> Run:
    """One requirement on one operation of a target, at a rate."""
    profile = bundled_profiles() / "reference.toml"
    options = reference_options(served.base_url, served.control_url, name, profile, folder / "run")
    with environment(served.environment):
        return judge(
            options,
            lambda instance: instance.check.requirement == requirement and instance.operation.id == operation,
            profile=patched_profile(options, {"limits": {"rate": rate}}),
            keep_journal=False,
        )


@pytest.mark.parametrize(
    ("fault", "requirement", "operation"),
    [("F092", "IDEM-7", "createInstallationWebhook"), ("F104", "CONF-2", "checkoutPublicCart")],
)
def test_a_race_is_found_at_any_rate(
    served: EmbeddedReference, tmp_path: Path, fault: str, requirement: str, operation: str
) -> None:
    """Both faults take 60 ms: of calls a tenth of a second apart, none would meet another one."""
    run = run_of(served, tmp_path, fault, requirement, operation, 10)
    failed = {result.requirement for result in run.results if result.outcome is Outcome.FAILED}
    assert failed == {requirement}


@pytest.mark.parametrize("requirement", ["RATE-1", "RATE-5", "RATE-6"])
def test_a_limit_above_the_rate_is_judged(served: EmbeddedReference, tmp_path: Path, requirement: str) -> None:
    """Of a rate below the limit, no burst that keeps it would ever be limited."""
    run = run_of(served, tmp_path, "", requirement, "getApiKeyIdentity", 8)
    outcomes = {result.outcome for result in run.results if result.requirement == requirement}
    assert Outcome.PASSED in outcomes
    assert outcomes <= {Outcome.PASSED, Outcome.INAPPLICABLE}
