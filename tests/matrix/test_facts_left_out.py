"""Facts that a profile leaves out: they are not guessed, and nothing is held against the target for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.core.outcomes import Outcome
from conformance.engine.in_process import judge, patched_profile, reference_options
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles, environment

pytestmark = pytest.mark.e2e

_TENANCY = ("TEN-1", "TEN-2", "IDEM-6")
_REFUSALS = ("VER-1", "SCO-2", "ERR-3", "HO-1")


def _without_installation(*names: str) -> dict[str, Any]:
    return {"credentials": {name: {"installation": None} for name in names}}


def _without_body(operation: str) -> dict[str, Any]:
    return {"operations": {operation: {"body": None}}}


@pytest.mark.parametrize(
    ("patch", "requirements"),
    [
        (_without_installation("limited"), _TENANCY),
        (_without_installation("catalog-read", "none"), _TENANCY),
        (_without_installation("full"), _TENANCY),
        (_without_installation("other-installation"), _TENANCY),
        (_without_body("cancelHostedCheckoutBrowser"), _REFUSALS),
        (_without_body("consumeHostedCheckoutBrowserTicket"), _REFUSALS),
    ],
    ids=["of a key", "of two keys", "of the home", "of the other", "cancel", "consume"],
)
def test_nothing_fails_without_them(
    served: EmbeddedReference, patch: dict[str, Any], requirements: tuple[str, ...], tmp_path: Path
) -> None:
    """The installation of a key, which may then be any; the body of an operation: a generated one names no ticket."""
    profile_path = bundled_profiles() / "reference.toml"
    options = reference_options(served.base_url, served.control_url, "", profile_path, tmp_path / "run")
    with environment(served.environment):
        profile = patched_profile(options, patch)
        run = judge(options, lambda i: i.check.requirement in requirements, profile=profile, keep_journal=False)
    assert [r for r in run.results if r.outcome in (Outcome.FAILED, Outcome.WARNED, Outcome.BROKEN)] == []
    assert any(r.outcome is Outcome.PASSED for r in run.results)
