"""The reference as several processes on one database: the suite certifies it there, and sees what they do not share.

`CONFORMANCE_TEST_DATABASE` names the PostgreSQL database; a user's machine may lack one, the gate may not.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.checks.support.registry import Instance
from conformance.core.model import Run
from conformance.core.outcomes import Level, Outcome, Verdict
from conformance.engine.in_process import judge, reference_options
from conformance.runner import embedded_reference as embedded

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

WORKERS = "4"
RACES = ("IDEM-1", "IDEM-7", "CONF-2", "OA-4")
REPEATED = "the_same_call_is_answered_the_same"
PROFILE = embedded.bundled_profiles() / "reference.toml"


@pytest.fixture
def database() -> str:
    name = "CONFORMANCE_TEST_DATABASE"
    if name not in os.environ:
        assert not os.environ.get("CI"), f"{name} is required in CI"
        pytest.skip(f"{name} names no PostgreSQL database")
    return os.environ[name]


def run(database: str, folder: Path, fault: str = "", only: str = "") -> Run:
    extra = ("--workers", WORKERS, "--database", database)
    with embedded.reference(fault=fault, extra=extra) as service, embedded.environment(service.environment):
        options = reference_options(service.base_url, service.control_url, "", PROFILE, folder / "report")

        def chosen(instance: Instance) -> bool:
            return only in ("", instance.check.name)

        return judge(options, chosen)


def test_the_full_run_is_conformant_on_postgresql(database: str, tmp_path: Path) -> None:
    """Every check, the races included: real transactions in four processes give the same answers as one in memory."""
    done = run(database, tmp_path)
    open_ends = [r for r in done.results if r.outcome is Outcome.INCONCLUSIVE and r.level is Level.REQUIRED]
    assert (done.verdict, open_ends) == (Verdict.CONFORMANT, [])
    assert {r.requirement for r in done.results if r.outcome is Outcome.PASSED} >= set(RACES)


def test_a_store_for_each_worker_is_killed_on_postgresql(database: str, tmp_path: Path) -> None:
    """F096: a retry that another process answers knows nothing of the first one. IDEM-1 sees it."""
    done = run(database, tmp_path, fault="F096", only=REPEATED)
    assert done.verdict is Verdict.NONCONFORMANT
    assert {r.requirement for r in done.results if r.outcome is Outcome.FAILED} == {"IDEM-1"}
