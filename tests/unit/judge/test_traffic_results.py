"""Exchanges of others -> results, scope and verdict."""

from __future__ import annotations

import pytest

from conformance.core.model import Finding
from conformance.core.outcomes import Outcome, Verdict
from conformance.journal.lines import TrafficCounted, TrafficSource
from conformance.judge.assemble import assemble
from tests.support.journals import ALL, CONTRACT, END, exchange, journal

SOURCE = TrafficSource(("HAR a.har",))


def everything() -> list[object]:
    """Good traffic of every operation."""
    return [
        exchange(number, operation=operation.id, purpose="observed", judged=ALL)
        for number, operation in enumerate(CONTRACT.all)
    ]


def test_an_observed_run_is_never_conformant() -> None:
    """Even where all that traffic can decide is good; the scope says that it was observed."""
    run = assemble(journal(everything(), end=END, observed=SOURCE))  # type: ignore[arg-type]
    assert run.verdict is Verdict.INCOMPLETE
    assert run.scope.summary.endswith("observed")
    assert {tier.verdict for tier in run.tiers.values()} == {Verdict.INCOMPLETE}
    assert run.scope.unproven == ()


def test_a_violation_makes_it_nonconformant() -> None:
    """It has the same name and signature as in a run that sends."""
    lines = [exchange(1, 200, Finding("ENV-2", "data", "data is a list"), purpose="observed")]
    observed = assemble(journal(lines, end=END, observed=SOURCE))
    sent = assemble(journal(lines, end=END))
    (failed,) = [result for result in observed.results if result.outcome is Outcome.FAILED]
    assert observed.verdict is Verdict.NONCONFORMANT
    assert failed in sent.results


def test_what_was_not_seen_says_what_to_send() -> None:
    """For each requirement and operation, and for each status."""
    run = assemble(journal([], end=END, observed=SOURCE))
    assert run.observed is not None
    gaps = {(gap.requirement, gap.operation): gap.advice for gap in run.observed.gaps}
    assert "send a request that it refuses" in gaps["ERR-1", "getApiKeyIdentity"]
    assert "send a request without a key" in run.coverage_reasons["getApiKeyIdentity"]["401"]
    assert run.observed.decided == ()
    assert {"STA-1", "ENV-2", "ENV-3", "RATE-2"} <= set(run.observed.decidable)


@pytest.mark.parametrize("lines", [1, 2])
def test_counts_of_a_source_replace_its_earlier_ones(lines: int) -> None:
    """A proxy writes them again and again, so that a killed run keeps them."""
    counts = [TrafficCounted("HAR a.har", number, {"GET /x": number}, {"cache": 1}) for number in (1, 5)][-lines:]
    made = journal([], observed=SOURCE)
    run = assemble([*made, *counts, TrafficCounted("HAR b.har", 2)])
    assert run.observed is not None
    assert (run.observed.foreign, run.observed.unknown, run.observed.skipped) == (7, {"GET /x": 5}, {"cache": 1})
