"""The scope of a verdict: what it rests on, and that nothing undecided hides in it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.model import OperationInfo, Requirement, Result, Waiver
from conformance.core.outcomes import Level, Outcome, Stability, Verdict
from conformance.judge.assemble import assemble
from conformance.judge.scope import proven_operations, scope_of
from conformance.judge.verdict import verdict_of, with_states, with_waivers
from tests.support.journals import CONTRACT, END, exchange, journal, result
from tests.support.values import replace

OPERATIONS = (
    OperationInfo("one", "GET", "/a", Stability.STABLE),
    OperationInfo("two", "GET", "/b", Stability.CANDIDATE),
)
CATALOGUE = [
    Requirement("A-1", Level.REQUIRED, "s", "t", "h", operations=("one", "two")),
    Requirement("A-2", Level.DECLARED, "s", "t", "h", operations=("two",)),
    Requirement("A-3", Level.OBSERVED, "s", "t", "h", operations=("one",)),
]
BOTH = ("one", "two")


def of(requirement: str, operation: str, outcome: Outcome, **changes: Any) -> Result:
    level = next(row.level for row in CATALOGUE if row.id == requirement)
    return replace(Result("check_a::a", requirement, operation, "", outcome, level=level), **changes)


def passed(requirement: str, operation: str) -> Result:
    return of(requirement, operation, Outcome.PASSED)


def test_a_requirement_is_judged_when_it_is_on_every_operation_that_it_is_about() -> None:
    """One operation that is open keeps it out of the count; what is only observed is not counted."""
    whole = [passed("A-1", "one"), passed("A-1", "two"), passed("A-2", "two")]
    assert (
        scope_of(whole, CATALOGUE, OPERATIONS, BOTH).summary == "2 of 2 operations, 2 of 2 requirements, 0 exclusions"
    )
    part = [passed("A-1", "one"), of("A-1", "two", Outcome.UNSTATED, fact="search"), passed("A-2", "two")]
    scope = scope_of(part, CATALOGUE, OPERATIONS, ["one"])
    assert scope.summary == "1 of 2 operations, 1 of 2 requirements, 0 exclusions, 1 open"
    assert [(gap.requirement, gap.operation, gap.fact) for gap in scope.open] == [("A-1", "two", "search")]
    assert scope.unproven == ("two",)


def test_a_requirement_without_any_result_is_not_judged() -> None:
    """A filtered run counts what it did not ask for."""
    assert scope_of([passed("A-1", "one")], CATALOGUE, OPERATIONS, BOTH).judged == ("A-1",)
    assert scope_of([passed("A-1", "one")], CATALOGUE, OPERATIONS, BOTH).requirements == 2


@pytest.mark.parametrize(
    ("others", "judged"),
    [
        ({"further": True}, True),
        ({"exclusion": "no such thing", "fact": "oauth"}, True),
        ({}, True),
    ],
)
def test_what_cannot_exist_beside_what_was_judged_keeps_nothing_open(others: dict[str, Any], judged: bool) -> None:
    """A further case, an exclusion, or what the interface rules out."""
    found = [passed("A-1", "one"), of("A-1", "one", Outcome.INAPPLICABLE, **others)]
    scope = scope_of(found, CATALOGUE[:1], OPERATIONS, BOTH)
    assert ("A-1" in scope.judged) is judged
    assert verdict_of(found, whole=True) is Verdict.CONFORMANT


def test_further_cases_alone_carry_no_requirement() -> None:
    """Where every check of a required cell is a further case, nothing was judged: the verdict stays open."""
    found = [passed("A-1", "two"), of("A-1", "one", Outcome.INAPPLICABLE, further=True)]
    assert verdict_of(found, whole=True) is Verdict.INCOMPLETE
    assert [gap.operation for gap in scope_of(found, CATALOGUE, OPERATIONS, BOTH).open] == ["one"]


def test_exclusions_are_counted_by_what_the_profile_says_and_listed() -> None:
    """One exclusion may cover many results."""
    excluded = {"fact": "rate_limit", "exclusion": "bursts are not allowed"}
    found = [of(name, "two", Outcome.INAPPLICABLE, **excluded) for name in ("A-1", "A-2")]
    scope = scope_of([passed("A-1", "one"), *found], CATALOGUE, OPERATIONS, BOTH)
    (one,) = scope.exclusions
    assert (one.fact, one.reason, one.requirements, one.results) == (
        "rate_limit", "bursts are not allowed", ("A-1", "A-2"), 2,
    )  # fmt: skip
    assert scope.summary.endswith("1 exclusion")
    assert "A-2" not in scope.judged


def test_an_operation_that_was_never_answered_200_keeps_its_tier_open() -> None:
    """Whatever passed on it, and whatever the profile excludes."""
    found = [passed("A-1", "one"), passed("A-1", "two")]
    assert verdict_of(found, whole=True, unproven=["two"]) is Verdict.INCOMPLETE


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, Verdict.CONFORMANT),
        ({"until": "2030-01-01"}, Verdict.INCOMPLETE),
        ({"operation": "one"}, Verdict.INCOMPLETE),
        ({"operation": ""}, Verdict.INCOMPLETE),
        ({"requirement": "A-1"}, Verdict.INCOMPLETE),
    ],
)
def test_only_a_waiver_that_names_the_operation_accepts_that(changes: dict[str, str], verdict: Verdict) -> None:
    """A waiver of STA-2 on that very operation, until its last day; it accepts what stayed open there, too."""
    waiver = replace(Waiver("STA-2", "not deployed", "me", "#1", "2030-12-31", operation="two"), **changes)
    found = [passed("A-1", "one"), of("A-1", "two", Outcome.INCONCLUSIVE, cause="control:two")]
    found.append(Result("invariant::STA-2", "STA-2", "two", "", Outcome.INCONCLUSIVE))
    waivers = with_states([waiver], found, "2030-06-01", ["two"])
    results = with_waivers(found, waivers, ["two"])
    assert verdict_of(results, waivers, whole=True, unproven=["two"]) is verdict


@pytest.mark.parametrize(("signature", "verdict"), [("", Verdict.CONFORMANT), ("s1", Verdict.INCOMPLETE)])
def test_a_waiver_of_one_failure_is_none_of_an_operation_that_never_worked(signature: str, verdict: Verdict) -> None:
    """It excuses the cause that it names, and says nothing of an operation that was never answered 200."""
    waiver = Waiver("STA-2", "known", "me", "#1", "2030-12-31", operation="two", signature=signature)
    found = [passed("A-1", "one"), Result("c::s", "STA-2", "two", "", Outcome.FAILED, signature="s1")]
    waivers = with_states([waiver], found, "2030-06-01", ["two"])
    results = with_waivers(found, waivers, ["two"])
    assert verdict_of(results, waivers, whole=True, unproven=["two"]) is verdict


def test_a_control_is_what_proves_an_operation() -> None:
    """A 200 to anything else, a defective request even, proves nothing."""
    seen = [exchange(1, 200, purpose="no Authorization"), exchange(2, 403, purpose="control")]
    assert not proven_operations(seen)
    assert proven_operations([*seen, exchange(3, 200, purpose="control")])


def test_a_run_of_few_facts_is_incomplete_and_says_what_it_rests_on() -> None:
    """Nine results that passed are not conformance."""
    run = assemble(journal([exchange(1, purpose="control")], [result("a")], end=END))
    assert run.verdict is Verdict.INCOMPLETE
    assert run.scope.summary.startswith(f"1 of {len(CONTRACT.all)} operations")
    assert all(tier.verdict is Verdict.INCOMPLETE for tier in run.tiers.values())
