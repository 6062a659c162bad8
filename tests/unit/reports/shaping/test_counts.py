"""The numbers of a run in words."""

from __future__ import annotations

import pytest

from conformance.core.model import Run, Waiver
from conformance.core.outcomes import Outcome
from conformance.reports import ctrf, junit, summary
from conformance.reports.shaping import counts
from conformance.reports.shaping.grouping import OUTCOMES
from conformance.reports.terminal import summary_lines
from tests.support.runs import result, run_of

IDENTITY = "getApiKeyIdentity"


def test_every_name_under_which_results_are_counted_is_shown(small: Run) -> None:
    """The counts of a run and the columns of its reports are the same, so that no number is missing in a total."""
    assert set(OUTCOMES) == set(small.counts)
    assert sum(small.counts.values()) == len(small.results)


def test_the_total_says_what_it_counts() -> None:
    """Checks, and invariants over the exchanges of all checks: the progress of a run counts the first alone."""
    passed = result("AUTH-1", IDENTITY, Outcome.PASSED)
    invariant = result("ENV-1", IDENTITY, Outcome.PASSED, check="invariant::ENV-1")
    assert counts.results_text(run_of([passed])) == "1 result of 1 check"
    assert counts.results_text(run_of([passed, passed, invariant])) == "3 results of 2 checks and 1 invariant"
    assert counts.headline(run_of([])) == "no results"


def test_a_waived_failure_is_waived_in_words_and_not_failed() -> None:
    """It is counted apart, and is not a cause of failure."""
    failed = [result("AUTH-1", IDENTITY, Outcome.FAILED, observed="200"), result("ENV-1", IDENTITY, Outcome.PASSED)]
    waiver = Waiver("AUTH-1", "a proxy", "edge", "EDGE-1", "2099-01-01", state="active")
    assert counts.counts_text(run_of(failed)) == "1 failed by 1 cause, 1 passed"
    assert counts.counts_text(run_of(failed, waivers=(waiver,))) == "1 waived, 1 passed"


@pytest.mark.parametrize("name", ["small", "big"])
def test_every_report_has_the_same_numbers(name: str, request: pytest.FixtureRequest) -> None:
    """One sentence, word for word, in terminal, summary, JUnit and CTRF."""
    run: Run = request.getfixturevalue(name)
    headline = counts.headline(run)
    assert headline in "\n".join(summary_lines(run))
    assert headline in summary.render(run).replace("\\", "")
    assert f'<property name="results" value="{headline}" />' in junit.render(run)
    assert ctrf.to_json(run)["results"]["extra"]["results"] == headline
