"""A run that keeps nothing of what was said judges as any other: the kill matrix is made of such runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.checks.support.registry import Instance
from conformance.core.model import Result, Run
from conformance.engine.in_process import judge, reference_options
from conformance.runner import embedded_reference as embedded

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

TARGETS = ("reference", "F003", "F031")
SOME = ("AUTH-1", "ENV-2", "ENV-3", "NF-1", "PUB-3", "SRCH-1", "IDEM-1")


def _some(instance: Instance) -> bool:
    return instance.check.requirement in SOME and "generated" not in instance.check.name


def _told(run: Run) -> list[tuple[str, ...]]:
    """All that a row of the matrix is made of, and that is the same in every run."""

    def one(result: Result) -> tuple[str, ...]:
        return result.requirement, result.check, result.operation, result.case, result.outcome.value, result.signature

    return sorted(map(one, run.results))


@pytest.mark.parametrize("name", TARGETS)
def test_evidence_changes_no_judgement(name: str, tmp_path: Path) -> None:
    """The same results with the same signatures, and as many requests, whether what was said is kept or let go."""
    with embedded.reference() as service, embedded.environment(service.environment):
        profile = embedded.bundled_profiles() / "reference.toml"

        def run(folder: str, *, keep: bool) -> Run:
            options = reference_options(
                service.base_url, service.control_url, f"{name}~{folder}", profile, tmp_path / folder
            )
            return judge(options, _some, keep_journal=keep)

        kept, let_go = run("kept", keep=True), run("gone", keep=False)
    assert _told(kept) == _told(let_go)
    assert kept.verdict is let_go.verdict
    assert kept.counts == let_go.counts
    fewer, more = sorted((kept.traffic.requests, let_go.traffic.requests))
    assert more - fewer <= 0.03 * more, "checks share the controls that are proven when they begin: that is a race"
    assert any(exchange.response.body for exchange in kept.exchanges)
    assert not any(exchange.response.body or exchange.request.headers for exchange in let_go.exchanges)
