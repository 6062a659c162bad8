"""The arithmetic of verdicts: laws that hold of any results, and what waivers do to them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.core.exit_codes import EXIT_CODES
from conformance.core.model import OperationInfo, Requirement, Result, Waiver
from conformance.core.outcomes import OPEN_OUTCOMES, WAIVED, WORST_FIRST, Level, Outcome, Stability, Verdict
from conformance.judge.verdict import (
    counts_of,
    failures,
    requirement_rows,
    tiers_of,
    verdict_of,
    waiver_accepts,
    with_states,
    with_waivers,
    worst_outcome,
)
from tests.support.values import replace

many = settings(max_examples=50)
GOODNESS = {Verdict.CONFORMANT: 3, Verdict.INCOMPLETE: 2, Verdict.NONCONFORMANT: 1, Verdict.BROKEN: 0}
BINDING = (Level.REQUIRED, Level.DECLARED)
OPERATIONS = (
    OperationInfo("stableOne", "GET", "/a", Stability.STABLE),
    OperationInfo("candidateOne", "GET", "/b", Stability.CANDIDATE),
)
PROVEN = frozenset(operation.id for operation in OPERATIONS)
PASSED = Result("check_a::a[x]", "A-1", "stableOne", "", Outcome.PASSED)
FAILED = Result("check_a::b[x]", "A-2", "stableOne", "case", Outcome.FAILED, signature="s1")
WAIVER = Waiver("A-2", "known", "me", "#1", "2030-01-31", operation="stableOne", case="case", signature="s1")
TODAY = "2030-01-15"


@st.composite
def a_result(draw: st.DrawFn) -> Result:
    """A result as checks make them: only what binds can fail."""
    level = draw(st.sampled_from(Level))
    outcome = draw(st.sampled_from([o for o in Outcome if o is not Outcome.FAILED or level in BINDING]))
    operation = draw(st.sampled_from(["stableOne", "candidateOne", ""]))
    number = draw(st.integers(0, 3))
    return Result(f"check::{number}", f"A-{number}", operation, "", outcome, level=level, signature=f"s{number}")


results = st.lists(a_result(), max_size=8)


@given(results, st.booleans())
@many
def test_another_passed_result_never_worsens(drawn: list[Result], whole: bool) -> None:
    """Adding what passed can only make a verdict better."""
    before, after = (verdict_of(given_, whole=whole) for given_ in (drawn, [*drawn, PASSED]))
    assert GOODNESS[after] >= GOODNESS[before]


@given(results, a_result(), st.booleans())
@many
def test_only_what_passed_can_better(drawn: list[Result], other: Result, whole: bool) -> None:
    """Adding anything that did not pass never makes a verdict better."""
    if other.outcome is not Outcome.PASSED:
        before, after = (verdict_of(given_, whole=whole) for given_ in (drawn, [*drawn, other]))
        assert GOODNESS[after] <= GOODNESS[before]


@given(results, st.booleans())
@many
def test_broken_wins_then_failures(drawn: list[Result], whole: bool) -> None:
    """The suite's own fault says nothing of the target; after that, a failure that nothing excuses decides."""
    verdict = verdict_of(drawn, (), whole=whole)
    outcomes = {result.outcome for result in drawn}
    assert (verdict is Verdict.BROKEN) == (Outcome.BROKEN in outcomes)
    if Outcome.BROKEN not in outcomes:
        assert (verdict is Verdict.NONCONFORMANT) == (Outcome.FAILED in outcomes)


@given(results)
@many
def test_what_was_filtered_is_never_conformant(drawn: list[Result]) -> None:
    """A run that is not whole certifies nothing."""
    assert verdict_of(drawn, (), whole=False) is not Verdict.CONFORMANT


@given(results)
@many
def test_conformant_means_decided(drawn: list[Result]) -> None:
    """Conformant: something passed, nothing failed, and nothing required was left open."""
    if verdict_of(drawn, (), whole=True) is Verdict.CONFORMANT:
        assert any(result.outcome is Outcome.PASSED for result in drawn)
        open_ends = {Outcome.FAILED, Outcome.BROKEN, *OPEN_OUTCOMES}
        assert not any(r.outcome in open_ends for r in drawn if r.level is Level.REQUIRED)


@given(results, st.booleans(), st.randoms())
@many
def test_order_means_nothing(drawn: list[Result], whole: bool, source: object) -> None:
    """The same results in another order come to the same."""
    shuffled = list(drawn)
    source.shuffle(shuffled)  # type: ignore[attr-defined]
    assert verdict_of(drawn, (), whole=whole) is verdict_of(shuffled, (), whole=whole)
    assert counts_of(drawn) == counts_of(shuffled)
    assert {name: t.verdict for name, t in tiers_of(drawn, (), OPERATIONS, (), PROVEN, whole=whole).items()} == {
        name: t.verdict for name, t in tiers_of(shuffled, (), OPERATIONS, (), PROVEN, whole=whole).items()
    }


@given(results, st.booleans())
@many
def test_the_whole_is_no_better_than_its_tiers(drawn: list[Result], whole: bool) -> None:
    """A run is nonconformant or broken exactly where one of its tiers is."""
    verdict = verdict_of(drawn, (), whole=whole)
    tiers = [tier.verdict for tier in tiers_of(drawn, (), OPERATIONS, (), PROVEN, whole=whole).values()]
    for bad in (Verdict.BROKEN, Verdict.NONCONFORMANT):
        if bad is verdict:
            assert bad in tiers
    if tiers == [Verdict.CONFORMANT] * 2:
        assert verdict is Verdict.CONFORMANT


@given(results)
@many
def test_counts_are_of_all_outcomes(drawn: list[Result]) -> None:
    """Every outcome is counted, zero too, and all of them make the number of results."""
    counts = counts_of(drawn)
    assert list(counts) == [*(outcome.value for outcome in Outcome), WAIVED]
    assert sum(counts.values()) == len(drawn)


@pytest.mark.parametrize(
    ("outcome", "level", "verdict"),
    [
        (Outcome.PASSED, Level.REQUIRED, Verdict.CONFORMANT),
        (Outcome.WARNED, Level.RECOMMENDED, Verdict.CONFORMANT),
        (Outcome.INAPPLICABLE, Level.REQUIRED, Verdict.CONFORMANT),
        (Outcome.INCONCLUSIVE, Level.DECLARED, Verdict.CONFORMANT),
        (Outcome.UNTESTED, Level.RECOMMENDED, Verdict.CONFORMANT),
        (Outcome.INCONCLUSIVE, Level.REQUIRED, Verdict.INCOMPLETE),
        (Outcome.UNTESTED, Level.REQUIRED, Verdict.INCOMPLETE),
        (Outcome.UNSTATED, Level.REQUIRED, Verdict.INCOMPLETE),
        (Outcome.UNSTATED, Level.DECLARED, Verdict.CONFORMANT),
        (Outcome.FAILED, Level.REQUIRED, Verdict.NONCONFORMANT),
        (Outcome.FAILED, Level.DECLARED, Verdict.NONCONFORMANT),
        (Outcome.BROKEN, Level.OBSERVED, Verdict.BROKEN),
    ],
)
def test_what_one_more_result_makes_of_a_good_run(outcome: Outcome, level: Level, verdict: Verdict) -> None:
    """A run in which something passed, and one result beside it."""
    assert verdict_of([PASSED, replace(FAILED, outcome=outcome, level=level)], (), whole=True) is verdict


def test_nothing_at_all_is_incomplete() -> None:
    """No results, or none that passed: nobody was certified."""
    assert verdict_of([], (), whole=True) is Verdict.INCOMPLETE
    assert verdict_of([replace(PASSED, outcome=Outcome.INAPPLICABLE)], (), whole=True) is Verdict.INCOMPLETE


def test_every_verdict_has_an_exit_code_of_its_own() -> None:
    """0 is conformant and nothing else is."""
    assert set(EXIT_CODES) == set(Verdict)
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)
    assert EXIT_CODES[Verdict.CONFORMANT] == 0


# Waivers


def judged(found: list[Result], waivers: Sequence[Waiver]) -> Verdict:
    return verdict_of(with_waivers(found, waivers), waivers, whole=True)


@pytest.mark.parametrize(
    ("changes", "failure", "state", "verdict"),
    [
        ({}, {}, "active", Verdict.CONFORMANT),
        ({"operation": "", "case": "", "signature": ""}, {}, "active", Verdict.CONFORMANT),
        ({"signature": ""}, {"signature": "s2"}, "active", Verdict.CONFORMANT),
        ({"until": "2030-01-15"}, {}, "active", Verdict.CONFORMANT),
        ({"until": "2030-01-14"}, {}, "expired", Verdict.NONCONFORMANT),
        ({}, {"signature": "s2"}, "mismatch", Verdict.NONCONFORMANT),
        ({}, {"requirement": "A-3"}, "unmatched", Verdict.NONCONFORMANT),
        ({}, {"operation": "candidateOne"}, "unmatched", Verdict.NONCONFORMANT),
        ({}, {"case": "other"}, "unmatched", Verdict.NONCONFORMANT),
        ({}, {"outcome": Outcome.PASSED}, "unneeded", Verdict.CONFORMANT),
        ({}, {"outcome": Outcome.INCONCLUSIVE}, "unneeded", Verdict.INCOMPLETE),
        ({"signature": ""}, {"outcome": Outcome.INCONCLUSIVE}, "active", Verdict.CONFORMANT),
        ({"signature": ""}, {"outcome": Outcome.UNSTATED}, "active", Verdict.CONFORMANT),
        ({"signature": "", "until": "2030-01-14"}, {"outcome": Outcome.UNSTATED}, "expired", Verdict.INCOMPLETE),
        ({}, {"outcome": Outcome.WARNED, "level": Level.RECOMMENDED}, "unneeded", Verdict.CONFORMANT),
    ],
)
def test_what_a_waiver_excuses(
    changes: dict[str, str], failure: dict[str, object], state: str, verdict: Verdict
) -> None:
    """The failure or gap that it names, that very failure where it is signed, until its last day; nothing else."""
    found = [PASSED, replace(FAILED, **failure)]  # type: ignore[arg-type]
    (waiver,) = with_states([replace(WAIVER, **changes)], found, TODAY)
    assert waiver.state == state
    assert judged(found, [waiver]) is verdict


def test_a_waiver_excuses_one_failure_of_several() -> None:
    """Another failure of the same requirement stays one."""
    other = replace(FAILED, case="other", signature="s9")
    waivers = with_states([WAIVER], [FAILED, other], TODAY)
    assert [one.case for one in failures(with_waivers([FAILED, other], waivers))] == ["other"]
    assert waiver_accepts(WAIVER, FAILED) and not waiver_accepts(WAIVER, other)


def test_a_waiver_of_a_cause_excuses_all_that_the_cause_explains() -> None:
    """Also a failure of another requirement, but no failure of that other requirement with a cause of its own."""
    waiver = replace(WAIVER, signature="c1")
    of_cause = replace(FAILED, cause=f"{WAIVER.requirement} answered 200", cause_signature="c1")
    collateral = replace(of_cause, requirement="CONF-1")
    assert waiver_accepts(waiver, of_cause) and waiver_accepts(waiver, collateral)
    assert not waiver_accepts(waiver, replace(collateral, cause="CONF-1 refused", cause_signature="c2"))


@given(results, st.lists(st.sampled_from(["", "s0", "s1", "s2", "s3"]), max_size=3))
@many
def test_waivers_never_worsen_and_never_hide_the_broken(drawn: list[Result], signatures: list[str]) -> None:
    """A waiver takes failures away, and nothing else."""
    waivers = [Waiver(f"A-{i}", "r", "o", "i", "2031-01-01", signature=one) for i, one in enumerate(signatures)]
    told = with_states(waivers, drawn, TODAY)
    before, after = verdict_of(drawn, whole=True), judged(drawn, told)
    assert GOODNESS[after] >= GOODNESS[before]
    assert (before is Verdict.BROKEN) == (after is Verdict.BROKEN)


# The matrix


@given(st.lists(st.sampled_from(Outcome), max_size=6))
@many
def test_the_worst_of_a_cell(outcomes: list[Outcome]) -> None:
    """A cell is as bad as the worst of its results; an empty one is untested."""
    expected = min(outcomes, key=WORST_FIRST.index) if outcomes else Outcome.UNTESTED
    assert worst_outcome(outcomes) is expected
    assert set(WORST_FIRST) == set(Outcome)


def test_rows_of_the_matrix() -> None:
    """A row for each requirement that has a result, in the catalogue's order, a cell for each operation."""
    catalogue = [Requirement(name, Level.REQUIRED, "s", "t", "h") for name in ("A-2", "A-1", "A-9")]
    rows = requirement_rows(
        catalogue, [PASSED, FAILED, replace(FAILED, operation="candidateOne", outcome=Outcome.PASSED)]
    )
    assert [(row.id, row.outcome) for row in rows] == [("A-2", Outcome.FAILED), ("A-1", Outcome.PASSED)]
    assert rows[0].operations == {"stableOne": Outcome.FAILED, "candidateOne": Outcome.PASSED}


def test_a_waived_result_is_counted_apart() -> None:
    """Once, under `waived`, and not under its outcome; what no waiver accepts stays where it was."""
    waived, other = with_waivers([FAILED, replace(FAILED, operation="candidateOne")], [replace(WAIVER, state="active")])
    assert (waived.counted_as, other.counted_as) == (WAIVED, "failed")
    counts = counts_of([PASSED, waived, other])
    assert {name: count for name, count in counts.items() if count} == {"passed": 1, "failed": 1, WAIVED: 1}


@pytest.mark.parametrize(
    ("others", "shown"),
    [
        ([], WAIVED),
        ([Outcome.PASSED, Outcome.INAPPLICABLE, Outcome.WARNED], WAIVED),
        ([Outcome.INCONCLUSIVE], "inconclusive"),
        ([Outcome.FAILED], "failed"),
    ],
)
def test_a_cell_is_waived_where_nothing_else_in_it_is_open_or_failed(others: list[Outcome], shown: str) -> None:
    """A waiver hides neither a gap nor another failure of the same requirement, in the cell and in the row."""
    catalogue = [Requirement("A-2", Level.REQUIRED, "s", "t", "h")]
    found = [replace(FAILED, waived_by=0), *(replace(FAILED, outcome=outcome, case="other") for outcome in others)]
    (row,) = requirement_rows(catalogue, [*found, replace(PASSED, requirement="A-2", operation="candidateOne")])
    assert (row.cell("stableOne"), row.cell("candidateOne"), row.cell("none")) == (shown, "passed", None)
    assert row.counted_as == shown


def test_a_result_that_passed_has_no_waiver() -> None:
    """A journal from elsewhere may name one that there is not."""
    (cleared,) = with_waivers([replace(PASSED, waived_by=7)], [])
    assert cleared.waived_by is None
