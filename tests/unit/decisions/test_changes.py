"""What is new, gone or slower since an earlier run of the same target and profile."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.model import ProfileInfo, Result, Run, Suite
from conformance.core.outcomes import Outcome
from conformance.core.traffic import Latency
from conformance.decisions.changes import changes_between
from conformance.decisions.latency import is_slower
from tests.support.runs import PROVEN, result, run_of
from tests.support.values import replace

HERE, THERE = "getApiKeyIdentity", "quotePublicCart"


def judged(outcome: Outcome, operation: str = HERE, **changes: Any) -> Result:
    return result("AUTH-1", operation, outcome, observed="200", **changes)


GOOD, BAD, OPEN = (run_of([judged(o)]) for o in (Outcome.PASSED, Outcome.FAILED, Outcome.UNTESTED))


def timed(p50: float, p90: float, count: int = 40) -> Run:
    latency = Latency(count, p50, p90, p90 * 2, p90 * 3)
    return replace(GOOD, traffic=replace(GOOD.traffic, latency={HERE: latency, "": latency}))


def test_a_cause_that_began_is_new_and_one_that_ended_is_gone() -> None:
    """With requirement, title and operations, as the run itself names them."""
    began, ended = changes_between(GOOD, BAD), changes_between(BAD, GOOD)
    assert began.new == ended.resolved
    assert [(c.id, c.title, c.operations) for c in began.new] == [(BAD.causes[0].id, BAD.causes[0].title, (HERE,))]
    assert (began.resolved, ended.new, began.unjudged, ended.unjudged) == ((), (), (), ())
    assert began.summary == "1 new cause"
    assert ended.summary == "1 cause gone"


def test_what_was_not_judged_is_neither_new_nor_gone() -> None:
    """A cause that a run could not show says nothing about the target between the runs."""
    assert changes_between(OPEN, BAD).new == ()
    left = changes_between(BAD, OPEN)
    assert left.resolved == ()
    assert [cause.id for cause in left.unjudged] == [BAD.causes[0].id]
    assert left.opened == (f"AUTH-1 {HERE}",)
    assert changes_between(OPEN, BAD).closed == (f"AUTH-1 {HERE}",)


def test_a_run_that_ended_early_opens_no_gap_and_slows_nothing() -> None:
    """What it had no time for is not a change of the target; nor is it one that an earlier run had no time for it."""
    cut = replace(timed(90, 95), results=OPEN.results, scope=OPEN.scope, interrupted="SIGINT")
    later, back = changes_between(replace(timed(9, 10), scope=BAD.scope), cut), changes_between(cut, timed(9, 10))
    assert (later.opened, later.slower, back.closed, back.faster) == ((), (), (), ())
    whole = replace(cut, interrupted="")
    assert changes_between(timed(9, 10), whole).slower and changes_between(whole, timed(9, 10)).closed


def test_what_quick_depth_leaves_out_is_neither_a_gap_nor_closed() -> None:
    """Where the other run asks for more; between two quick runs, what one of them did not judge is a gap."""
    quick, whole = replace(OPEN, depth="quick"), BAD
    later, back = changes_between(whole, quick), changes_between(quick, whole)
    assert (later.opened, back.closed) == ((), ())
    assert "quick depth" in later.notes[0]
    assert "quick depth" in back.notes[0]
    assert changes_between(replace(whole, depth="quick"), quick).opened == (f"AUTH-1 {HERE}",)


def test_a_cause_on_a_further_operation_is_named_with_it() -> None:
    """The cause is the same, its reach is not; an operation that was not judged before is not further."""
    two = run_of([judged(Outcome.FAILED), judged(Outcome.FAILED, THERE)])
    one = run_of([judged(Outcome.FAILED), judged(Outcome.PASSED, THERE)])
    (wider,) = changes_between(one, two).wider
    assert wider.operations == (THERE,)
    assert changes_between(BAD, two).wider == ()
    assert changes_between(two, one).wider == ()


def test_an_operation_that_was_never_answered_well_is_a_gap() -> None:
    """Beside the requirements that nothing judged."""
    unproven = run_of([judged(Outcome.PASSED)], proven=PROVEN - {THERE})
    assert changes_between(GOOD, unproven).opened == (f"no good request of {THERE}",)


@pytest.mark.parametrize(
    ("before", "after", "slower"),
    [
        ((10, 20), (21, 40), True),
        ((10, 20), (19, 40), False),
        ((10, 11), (12, 13), False),
        ((10, 20), (10, 20), False),
    ],
)
def test_slower_is_beyond_what_was_usual(before: Any, after: Any, slower: bool) -> None:
    """The median above nine tenths of the earlier answers, and by a quarter; the reverse is faster."""
    assert bool(changes_between(timed(*before), timed(*after)).slower) is slower
    assert bool(changes_between(timed(*after), timed(*before)).faster) is slower


def test_few_answers_are_not_slower() -> None:
    """One slow answer says nothing."""
    assert not is_slower(Latency(19, 1, 1, 1, 1), Latency(40, 90, 90, 90, 90))


def test_equal_runs_have_no_differences(small: Run) -> None:
    """And say so."""
    found = changes_between(small, small)
    assert found.summary == "no differences"
    assert (found.new, found.resolved, found.wider, found.opened, found.closed, found.notes) == ((), (), (), (), (), ())


def test_what_weakens_the_comparison_is_said() -> None:
    """Another profile, other checks, a run that ended early or judged a selection only."""
    other = replace(
        GOOD, profile=ProfileInfo("staging", "d" * 64), suite=Suite("0.2.0", "a" * 64, "e" * 64), interrupted="SIGINT"
    )
    assert len(changes_between(GOOD, other).notes) == 3
    assert len(changes_between(replace(GOOD, filtered=True), GOOD).notes) == 1
