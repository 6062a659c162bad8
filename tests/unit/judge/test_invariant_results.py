"""What the invariants saw, row by row, and which cells of operations and statuses were seen, or why not."""

from __future__ import annotations

import json

import pytest

from conformance.checks.support.registry import all_checks
from conformance.core.model import STATUSES, Exchange, Finding, Requirement, Result
from conformance.core.outcomes import Level, Outcome, Verdict
from conformance.judge.assemble import assemble
from conformance.judge.coverage import coverage, reasons, unreachable
from conformance.judge.invariant_results import INVARIANTS, SHOWN_BY, Evidence, invariant_results
from conformance.judge.invariants import DISCARDED_CODE, UNREAD_CODE
from tests.support.journals import CONTRACT, END, IDENTITY, by_check, exchange, journal, result
from tests.support.values import replace

# Rows of the invariants

SCHEMA = "ApiKeyIdentityResponse"
NO_SCHEMA = f"a schema of the answer is needed: state schemas.{SCHEMA}"


def test_every_invariant_has_a_row_for_each_of_its_operations() -> None:
    """No cell is forgotten, not even in an empty run."""
    run = assemble(journal())
    cells = {(one.requirement, one.operation) for one in run.results}
    assert cells == {(name, operation) for name in INVARIANTS for operation in CONTRACT.requirements[name].operations}
    assert {one.outcome for one in run.results} <= {Outcome.UNTESTED, Outcome.UNSTATED}
    assert run.verdict is Verdict.INCOMPLETE


def test_what_was_looked_at_and_clean_has_passed() -> None:
    """It says how many answers there were, and shows one."""
    row = by_check(assemble(journal([exchange(1), exchange(2)])), "invariant::ENV-1")
    assert (row.outcome, row.message, row.exchanges) == (Outcome.PASSED, "2 answers", ("x2",))


def test_a_violation_fails_its_row_and_no_other() -> None:
    """It says what was expected and observed, and in how many of its answers; the decisive exchange stands last."""
    defect = Finding("ENV-2", "data", "data is an array, not an object")
    run = assemble(journal([exchange(1), exchange(2, 200, defect), exchange(3, 200, defect)], end=END))
    failed = [one for one in run.results if one.outcome is Outcome.FAILED]
    (row,) = failed
    assert (row.check, row.kind, row.exchanges) == ("invariant::ENV-2", "data", ("x3", "x2"))
    assert row.message == row.observed == "data is an array, not an object"
    assert row.expected == "an object whose member data is an object"
    assert (row.violations, row.answers, row.notes) == (2, 3, ())
    assert run.verdict is Verdict.NONCONFORMANT


@pytest.mark.parametrize(("code", "outcome"), [(DISCARDED_CODE, Outcome.PASSED), (UNREAD_CODE, Outcome.INCONCLUSIVE)])
def test_a_body_that_the_run_had_no_memory_for_keeps_nothing_open(code: str, outcome: Outcome) -> None:
    """Where other bodies of the operation were read; one that is too long for any memory does."""
    unread = Finding("ENV-1", code, "it was not read", Level.OBSERVED)
    row = by_check(assemble(journal([exchange(1), exchange(2, 200, unread)])), "invariant::ENV-1")
    assert row.outcome is outcome
    alone = by_check(assemble(journal([exchange(1, 200, unread)])), "invariant::ENV-1")
    assert (alone.outcome, alone.message) == (Outcome.INCONCLUSIVE, "it was not read")


def test_several_kinds_of_violation_are_counted() -> None:
    """Where answers violate an invariant in several ways, each way has its number of answers and an example."""
    seen = [
        exchange(n, 200, Finding("ENV-2", code, f"it is {code}")) for n, code in enumerate(("data", "none", "data"))
    ]
    row = by_check(assemble(journal(seen)), "invariant::ENV-2")
    assert (row.violations, row.notes) == (3, ("2 x it is data", "1 x it is none"))


@pytest.mark.parametrize(
    ("senders", "command"),
    [
        (("check_a::a[{}]", "check_a::b[{}-case]", "check_a::b[{}-case]"), "run a"),
        (("check_a::b[{}-case]", "check_a::b[{}-case]"), "run b"),
        (("control",), "run a"),
    ],
)
def test_the_cheapest_check_that_showed_it_repeats_it(senders: tuple[str, ...], command: str) -> None:
    """The command is that of the check with the fewest requests of those that showed it; of any, after a control."""
    checks = [result("a", reproduce="run a"), result("b", reproduce="run b", case="case")]
    operation = checks[0].operation
    defect = Finding("ENV-2", "data", "data is an array")
    names = [name.format(operation) for name in senders]
    seen = [replace(exchange(n, 200, defect), check=name) for n, name in enumerate(names, 10)]
    others = [f"check_a::a[{operation}]"] + [f"check_a::b[{operation}-case]"] * 2
    seen += [replace(exchange(n), check=name) for n, name in enumerate(others, 30)]
    row = by_check(assemble(journal(seen, checks)), "invariant::ENV-2")
    assert (row.outcome, row.reproduce) == (Outcome.FAILED, command)


def test_every_invariant_is_shown_by_checks() -> None:
    """`-k STA-2` selects a check: each invariant names requirements that have one."""
    checked = {check.requirement for check in all_checks()}
    assert {name for name in INVARIANTS if set(SHOWN_BY[name]) & checked} == set(INVARIANTS) == set(SHOWN_BY)


def test_the_signature_names_the_kind_of_failure_only() -> None:
    """Ids, times and numbers of answers do not change it; another kind of violation does."""

    def signature(*codes: str) -> str:
        seen = [exchange(n, 200, Finding("ENV-2", code, f"m{n}")) for n, code in enumerate(codes)]
        return by_check(assemble(journal(seen)), "invariant::ENV-2").signature

    assert signature("data") == signature("data", "data", "data") != ""
    assert signature("data") != signature("no-data") != signature("data", "no-data")


def test_a_warning_warns() -> None:
    """What only a standard says does not fail; beside a binding violation it is not the one that is told."""
    warning = Finding("ENV-1", "no-media-type", "none", Level.RECOMMENDED)
    row = by_check(assemble(journal([exchange(1, 200, warning)])), "invariant::ENV-1")
    assert (row.outcome, row.level) == (Outcome.WARNED, Level.RECOMMENDED)
    both = [exchange(1, 200, warning), exchange(2, 200, Finding("ENV-1", "not-json", "no JSON"))]
    row = by_check(assemble(journal(both)), "invariant::ENV-1")
    assert (row.outcome, row.kind, row.level) == (Outcome.FAILED, "not-json", Level.REQUIRED)


def test_a_warning_is_not_explained_by_another_warning() -> None:
    """A required row that only warns is decided: that a recommended check warned of the same answer leaves it so."""
    warning = Finding("ENV-1", "no-media-type", "none", Level.RECOMMENDED)
    other = result("a", Outcome.WARNED, exchanges=("x1",), level=Level.RECOMMENDED, requirement="AUTH-3")
    row = by_check(assemble(journal([exchange(1, 200, warning)], [other])), "invariant::ENV-1")
    assert row.outcome is Outcome.WARNED


def test_what_a_failed_check_shows_is_not_counted_twice() -> None:
    """The decisive exchange of a failed check explains such violations on that operation: one cause, one failure."""
    defect = Finding("STA-1", "status:422", "answered 422")
    failed = result("a", Outcome.FAILED, exchanges=("x1", "x2"))
    seen = [exchange(1), exchange(2, 422, defect), exchange(3, 422, defect), exchange(4)]
    run = assemble(journal(seen, [failed]))
    row = by_check(run, "invariant::STA-1")
    assert (row.outcome, row.cause) == (Outcome.INCONCLUSIVE, "AUTH-1 another value")
    assert [one.check for one in run.results if one.outcome is Outcome.FAILED] == ["check_a::a"]


@pytest.mark.parametrize(
    ("check", "outcome"), [(f"check_a::a[{IDENTITY}]", Outcome.INCONCLUSIVE), ("check_a::b", Outcome.FAILED)]
)
def test_what_most_answers_show_is_no_matter_of_one_failed_check(check: str, outcome: Outcome) -> None:
    """A schema that every answer breaks has another cause than one replay; not so where that check sent them all."""
    defect = Finding("STA-1", "status:422", "answered 422")
    failed = result("a", Outcome.FAILED, exchanges=("x1", "x2"))
    seen = [
        exchange(1),
        exchange(2, 422, defect, check=f"check_a::a[{IDENTITY}]"),
        exchange(3, 422, defect, check=check),
    ]
    assert by_check(assemble(journal(seen, [failed])), "invariant::STA-1").outcome is outcome


@pytest.mark.parametrize(
    "check",
    [
        result("a", Outcome.PASSED, exchanges=("x2",)),
        result("a", Outcome.FAILED, exchanges=("x2", "x1")),
        result("a", Outcome.FAILED, exchanges=()),
        result("a", Outcome.FAILED, exchanges=("lost",)),
        result("a", Outcome.WARNED, exchanges=("x2",), level=Level.RECOMMENDED),
        result("a", Outcome.FAILED, exchanges=("x2",), requirement="STA-1"),
    ],
)
def test_what_no_failed_check_shows_stays_the_invariants(check: Result) -> None:
    """A check that passed, failed for another exchange, or only warned explains no binding violation."""
    seen = [exchange(1), exchange(2, 422, Finding("STA-1", "status:422", "answered 422"))]
    assert by_check(assemble(journal(seen, [check])), "invariant::STA-1").outcome is Outcome.FAILED


def test_another_kind_is_not_explained() -> None:
    """A check that failed for a 422 does not excuse a 500."""
    seen = [
        exchange(1, 422, Finding("STA-1", "status:422", "m")),
        exchange(2, 500, Finding("STA-1", "status:500", "m")),
    ]
    row = by_check(assemble(journal(seen, [result("a", Outcome.FAILED, exchanges=("x1",))])), "invariant::STA-1")
    assert (row.outcome, row.kind, row.observed) == (Outcome.FAILED, "status:500", "500")


@pytest.mark.parametrize(
    ("name", "seen", "results", "outcome", "message"),
    [
        ("ENV-2", [], [], Outcome.UNTESTED, "nothing was sent"),
        ("ENV-2", [exchange(1, 401)], [], Outcome.INCONCLUSIVE, "no 200 was seen"),
        ("STA-2", [exchange(1, 401)], [], Outcome.INCONCLUSIVE, "no 200 was seen"),
        ("ERR-1", [exchange(1)], [], Outcome.UNSTATED, "no error was seen: state rate_limit.provoke = true"),
        ("STA-1", [exchange(1, None, judged=())], [], Outcome.INCONCLUSIVE, "no answer was seen"),
        (
            "ENV-4",
            [exchange(1)],
            [],
            Outcome.UNSTATED,
            NO_SCHEMA,
        ),
        ("RATE-2", [exchange(1)], [], Outcome.UNSTATED, "no 429 was seen: state rate_limit.provoke = true"),
        (
            "ENV-2",
            [],
            [result("a", Outcome.UNSTATED, message="no key", fact="credentials")],
            Outcome.UNSTATED,
            "no key",
        ),
        (
            "ENV-2",
            [],
            [
                result("a", Outcome.PASSED),
                result("b", Outcome.UNSTATED, message="no path", fact="operations.x.path"),
                result("c", Outcome.INAPPLICABLE, message="a further case"),
            ],
            Outcome.UNSTATED,
            "no path",
        ),
        (
            "ENV-2",
            [],
            [
                result("a", Outcome.UNSTATED, message="no lifetime", fact="hosted.ticket_lifetime_s"),
                result("b", Outcome.UNSTATED, message="no body", fact="operations.x.body"),
                result("c", Outcome.UNSTATED, message="no body", fact="operations.x.body"),
            ],
            Outcome.UNSTATED,
            "no body",
        ),
        ("ENV-2", [], [result("a", Outcome.PASSED)], Outcome.UNTESTED, "nothing was sent"),
        (
            "ENV-2",
            [],
            [
                result("a", Outcome.UNSTATED, message="no key", fact="credentials"),
                result("b", Outcome.INCONCLUSIVE),
            ],
            Outcome.UNTESTED,
            "nothing was sent",
        ),
    ],
)
def test_why_an_invariant_saw_nothing(
    name: str, seen: list[Exchange], results: list[Result], outcome: Outcome, message: str
) -> None:
    """An unseen cell says why: nothing sent, no 200, no error, no fact; a fact names its key.

    A check of the operation that passed with requests of other operations hides no missing fact. Of several missing
    facts the one that most checks need is named: it is what the good request lacks.
    """
    row = by_check(assemble(journal(seen, results)), f"invariant::{name}")
    assert (row.outcome, row.message) == (outcome, message)
    assert bool(row.fact) == (outcome is Outcome.UNSTATED)


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("ERR-1", "rate_limit"),
        ("RATE-2", "rate_limit.provoke"),
        ("ENV-4", "schemas"),
        ("ENV-4", "schemas.names.ApiKeyIdentityResponse"),
    ],
)
def test_what_the_profile_excludes_is_inapplicable_with_its_reason(name: str, fact: str) -> None:
    """The fact, or the whole table, is excluded: the owner's word stands in the row."""
    row = by_check(assemble(journal([exchange(1)], exclusions={fact: "not on staging"})), f"invariant::{name}")
    assert (row.outcome, row.fact, row.exclusion) == (Outcome.INAPPLICABLE, fact, "not on staging")


@pytest.mark.parametrize("name", ["ERR-1", "RATE-2"])
def test_a_limit_that_may_be_provoked_and_was_not_seen_is_an_observation_that_is_missing(name: str) -> None:
    """Nobody is asked to state what is stated."""
    row = by_check(assemble(journal([exchange(1)], provokes=True)), f"invariant::{name}")
    assert (row.outcome, row.fact) == (Outcome.INCONCLUSIVE, "")


def test_errors_of_drifting_shapes_warn() -> None:
    """Without a schema, errors that share no member with the others are a warning on their operation, no failure."""
    other = "listInstallationWebhookDeliveries"
    shape = lambda names: Finding("ERR-1", "shape", json.dumps(names), Level.OBSERVED)
    seen = [exchange(n, 401, shape(["code", "message"])) for n in range(3)]
    drifting = exchange(9, 401, shape(["error"]), operation=other)
    run = assemble(journal([*seen, drifting]))
    assert by_check(run, "invariant::ERR-1").outcome is Outcome.PASSED
    row = by_check(run, "invariant::ERR-1", other)
    assert (row.outcome, row.exchanges, row.level) == (Outcome.WARNED, ("x9",), Level.RECOMMENDED)
    akin = exchange(9, 401, shape(["code", "details"]), operation=other)
    assert by_check(assemble(journal([*seen, akin])), "invariant::ERR-1", other).outcome is Outcome.PASSED


def test_requirements_that_the_head_lacks_have_no_rows() -> None:
    """A journal of an older suite is judged by its own catalogue."""
    only = Requirement("STA-1", Level.REQUIRED, "s", "t", "h", operations=(IDENTITY,))
    assert {one.requirement for one in invariant_results({"STA-1": only}, Evidence.of([], []))} == {"STA-1"}


# Coverage


def test_each_of_the_140_cells_is_seen_or_says_why_not() -> None:
    """20 operations, 7 declared statuses: a count, or a reason in words, for every one of them."""
    seen = [exchange(n, status) for n, status in enumerate((200, 401, 418, None))]
    run = assemble(journal(seen, [result("a", Outcome.INAPPLICABLE, requirement="RATE-1", message="not allowed")]))
    for operation in CONTRACT.operations:
        for status in map(str, STATUSES):
            seen_here = run.coverage[operation].get(status, 0)
            assert bool(seen_here) != bool(run.coverage_reasons[operation].get(status))
    assert run.coverage[IDENTITY] == {"200": 1, "401": 1, "418": 1, "none": 1}
    assert run.coverage_reasons[IDENTITY]["429"] == "RATE-1 inapplicable: not allowed"


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome.FAILED, "AUTH-1 failed: m"),
        (Outcome.INCONCLUSIVE, "AUTH-1 inconclusive: m"),
        (Outcome.INAPPLICABLE, "AUTH-1 inapplicable: m"),
        (Outcome.UNTESTED, "AUTH-1 untested: m"),
        (Outcome.PASSED, "AUTH-1 was satisfied with another answer"),
    ],
)
def test_a_reason_out_of_what_became_of_the_checks(outcome: Outcome, reason: str) -> None:
    """What was tried for a status, and what came of it."""
    told = reasons({IDENTITY: {}}, {}, [result("a", outcome, message="m")])
    assert told[IDENTITY]["401"] == reason
    assert told[IDENTITY]["409"] == "no check that provokes it was selected"


def test_what_the_interface_leaves_no_way_to_is_said_so() -> None:
    """A read without a query cannot miss the contract, a public operation cannot fail to authenticate."""
    assert set(unreachable(CONTRACT.operations[IDENTITY])) == {"400", "403", "404", "409"}
    assert set(unreachable(CONTRACT.operations["getPublicRuntimeConfig"])) == {"400", "401", "403", "404", "409"}
    assert unreachable(CONTRACT.operations["quotePublicCart"]) == {}
    for operation in CONTRACT.all:
        assert not {"200", "429"} & set(unreachable(operation))


def test_exchanges_of_no_operation_are_not_counted() -> None:
    """What went elsewhere is in no cell."""
    assert coverage([exchange(1, operation="elsewhere")], [IDENTITY]) == {IDENTITY: {}}
