"""One cause is told once, with all that rests on it."""

from __future__ import annotations

from conformance.core.model import Run, Waiver
from conformance.core.outcomes import BAD_OUTCOMES, Level, Outcome
from conformance.reports import terminal
from conformance.reports.shaping import grouping
from conformance.reports.shaping.bounded_run import identities, identity
from tests.support.runs import OPERATIONS, result, run_of
from tests.support.values import replace

IDENTITY, READINESS = "getApiKeyIdentity", "getInstallationCredentialReadiness"


def test_a_failed_control_explains_what_rests_on_it() -> None:
    """Its dependants are counted with it and not among what is merely inconclusive."""
    cause = f"control:{IDENTITY}"
    head = result("STA-2", IDENTITY, Outcome.FAILED)
    resting = [result(name, IDENTITY, Outcome.INCONCLUSIVE, cause=cause) for name in ("AUTH-1", "AUTH-2")]
    for control in (head, replace(head, cause=cause), replace(head, requirement="ENV-1", cause=cause)):
        run = run_of([*resting, control])
        (group,) = grouping.failures(run)
        assert [r.requirement for r in group.dependents] == [r.requirement for r in resting]
        assert grouping.shortfalls(run) == ()


def test_a_failed_check_explains_what_names_it() -> None:
    """So does any check that another names as its cause; what has no known cause stays among the inconclusive."""
    head = result("IDEM-1", IDENTITY, Outcome.FAILED)
    resting = result("IDEM-2", IDENTITY, Outcome.INCONCLUSIVE, cause=f"check:{head.check}", message="rests on a replay")
    stray = result("IDEM-7", IDENTITY, Outcome.INCONCLUSIVE, cause="rate limit", message="limited for 3 s")
    run = run_of([head, resting, stray])
    assert [r.requirement for r in grouping.failures(run)[0].dependents] == [resting.requirement]
    assert [s.reason for s in grouping.shortfalls(run)] == ["limited for 3 s"]


def test_the_same_violation_on_many_operations_is_one_cause(small: Run) -> None:
    """Four operations that serve without a credential are one entry with its clause."""
    (group,) = [g for g in grouping.failures(small) if g.clauses[0].id == "AUTH-1"]
    assert len(group.results) == len(group.operations) == 4
    assert group.clauses[0].statement.startswith("A request whose authentication fails is answered 401")
    assert len(grouping.alike(group.results)) == 1


def test_messages_that_differ_only_by_their_operation_are_told_once() -> None:
    """`a was refused` and `b was refused` are one way in which a cause shows."""
    failed = [result("AUTH-4", o.id, Outcome.FAILED, message=f"{o.id} was served") for o in OPERATIONS[:3]]
    (group,) = grouping.failures(run_of(failed))
    assert group.title.endswith("Instead: the operation was served.")
    assert len(grouping.alike(group.results)) == 1
    stuck = [replace(r, outcome=Outcome.INCONCLUSIVE, cause=f"control:{r.operation}") for r in failed]
    (shortfall,) = grouping.shortfalls(run_of(stuck))
    assert (shortfall.reason, len(shortfall.results)) == ("the operation was served", 3)


def test_a_failure_has_the_level_that_binds() -> None:
    """HO-5 is recommended; where the profile states that the projection is shared, a difference counts as declared."""
    operation = "consumeHostedCheckoutBrowserTicket"
    run = run_of([replace(result("HO-5", operation, Outcome.FAILED), level=Level.DECLARED)])
    (group,) = grouping.failures(run)
    assert (group.clauses[0].level, group.level) == (Level.RECOMMENDED, Level.DECLARED)
    assert any("clause    declared; " in line for line in terminal.summary_lines(run))


def test_every_failure_is_in_exactly_one_group(big: Run) -> None:
    """Nothing is told twice, nothing is forgotten."""
    told = [r for group in grouping.failures(big) for r in group.results]
    assert sorted(map(id, told)) == sorted(id(r) for r in big.results if r.outcome in BAD_OUTCOMES)


def test_only_an_active_waiver_that_matches_excuses() -> None:
    """Requirement, operation, case and signature must all agree where the waiver names them."""
    failed = result("ERR-1", IDENTITY, Outcome.FAILED, signature="s")
    waiver = Waiver("ERR-1", "r", "o", "i", "2030-01-01", operation=IDENTITY, signature="s", state="active")

    def waived(change: Waiver) -> bool:
        return grouping.failures(run_of([failed], waivers=(change,)))[0].waiver is not None

    assert waived(waiver)
    assert waived(replace(waiver, operation="", signature=""))
    assert not waived(replace(waiver, state="expired"))
    assert not waived(replace(waiver, operation=READINESS))
    assert not waived(replace(waiver, signature="other"))


def test_what_the_profile_excludes_comes_before_what_cannot_exist(small: Run) -> None:
    """An exclusion is its owner's word, with the reason."""
    assert [reason.excluded for reason in grouping.inapplicable(small)] == [True, False]


def test_operations_of_which_nothing_could_be_said_are_named() -> None:
    """A profile that does not tell how to call them leaves a run without a verdict; nobody has to guess why."""
    names = [operation.id for operation in OPERATIONS]
    some = [result("STA-1", name, Outcome.PASSED) for name in names[:-2]]
    rest = [result("STA-1", name, Outcome.UNSTATED, fact="oauth") for name in names[-2:]]
    (line,) = grouping.limits(replace(run_of([*some, *rest]), complete=True, filtered=False))
    assert line.startswith("Nothing could be judged on 2 operations")
    assert all(name in line for name in names[-2:])
    whole = [*some, *(replace(one, outcome=Outcome.PASSED) for one in rest)]
    assert grouping.limits(replace(run_of(whole), complete=True, filtered=False)) == []


def test_a_run_that_was_to_change_nothing_blames_no_profile_for_writes() -> None:
    """What it did not call because it is a write is named apart from what the profile does not say."""
    names = [operation.id for operation in OPERATIONS]
    some = [result("STA-1", name, Outcome.PASSED) for name in names[:-2]]
    write = result("STA-1", names[-2], Outcome.UNTESTED, cause="read-only")
    unstated = result("STA-1", names[-1], Outcome.UNSTATED, fact="oauth")
    lines = grouping.limits(replace(run_of([*some, write, unstated]), complete=True, filtered=False))
    assert ["a read-only run does not call" in line and names[-2] in line for line in lines] == [True, False]
    assert "the profile does not say" in lines[1] and names[-1] in lines[1]


def test_an_excluded_operation_is_not_said_to_lack_facts() -> None:
    """The profile's owner has said that it is not there: nothing remains to be stated."""
    names = [operation.id for operation in OPERATIONS]
    some = [result("STA-1", name, Outcome.PASSED) for name in names[:-1]]
    excluded = result("STA-1", names[-1], Outcome.INAPPLICABLE, fact=f"operations.{names[-1]}", exclusion="later")
    (line,) = grouping.limits(replace(run_of([*some, excluded]), complete=True, filtered=False))
    assert line == f"Nothing could be judged on 1 operation: the profile excludes {names[-1]}."


def test_a_run_whose_answers_were_all_404_asks_for_the_prefix() -> None:
    """A base URL without its path prefix looks like a service without any resource."""
    some = [result("STA-1", operation.id, Outcome.PASSED) for operation in OPERATIONS]
    run = replace(run_of(some), complete=True, filtered=False, coverage={OPERATIONS[0].id: {"404": 3, "200": 0}})
    (line,) = grouping.limits(run)
    assert "path prefix" in line
    assert grouping.limits(replace(run, coverage={OPERATIONS[0].id: {"404": 3, "200": 1}})) == []


def test_a_filtered_run_blames_no_profile_for_what_was_deselected() -> None:
    """Of the operations that were selected alone it can be said that nothing could be judged."""
    names = [operation.id for operation in OPERATIONS]
    one = [result("STA-1", names[0], Outcome.PASSED)]
    assert len(grouping.limits(replace(run_of(one), filtered=True))) == 1
    two = [*one, result("STA-1", names[1], Outcome.UNSTATED, fact="oauth")]
    _, line = grouping.limits(replace(run_of(two), filtered=True))
    assert line.startswith("Nothing could be judged on 1 operation") and names[1] in line


def test_identities_are_stable_and_distinct() -> None:
    """The same result has the same name in every run; twins are numbered."""
    one = result("ERR-1", IDENTITY, Outcome.FAILED)
    assert identity(one) == identity(replace(one, outcome=Outcome.PASSED, message="else", duration_ms=1))
    names = identities([one, one, replace(one, operation=OPERATIONS[0].id)])
    assert len(set(names)) == 3
    assert names[1] == names[0] + "-2"


def test_less_than_a_whole_run_says_so(small: Run) -> None:
    """Filtered, interrupted and unfinished runs are announced; a whole one is not."""
    assert grouping.limits(small) == []
    assert "certifies nothing" in grouping.limits(replace(small, filtered=True))[0]
    assert "SIGINT" in grouping.limits(replace(small, interrupted="SIGINT", complete=False))[0]
    assert grouping.limits(replace(small, complete=False))
