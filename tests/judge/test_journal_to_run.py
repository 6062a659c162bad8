"""Journal -> Run: pure, whole or as far as it went; every planned check and every empty cell is accounted for."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.codec import to_json
from conformance.contract import load_contract
from conformance.errors import JournalError
from conformance.judge.coverage import coverage, reasons, unreachable
from conformance.judge.rows import INVARIANTS, Evidence, invariant_results
from conformance.judge.run import assemble, load
from conformance.model import (
    STATUSES,
    Exchange,
    Finding,
    Level,
    Message,
    Outcome,
    Requirement,
    Result,
    Run,
    Verdict,
    Waiver,
)

CONTRACT = load_contract()
IDENTITY = "getApiKeyIdentity"
ALL = tuple(INVARIANTS)


def exchange(
    number: int, status: int | None = 200, *findings: Finding, operation: str = IDENTITY, **changes: Any
) -> Exchange:
    judged = ("STA-1", "STA-2", "ENV-1", "ENV-2", "ERR-2") if status == 200 else ("STA-1", "ERR-1", "ERR-2")
    plain = Exchange(
        f"x{number}",
        operation,
        "GET",
        "http://t/a",
        Message(),
        status,
        Message(),
        number / 10,
        5.0 + number,
        judged=judged,
    )
    return replace(plain, findings=findings, **changes)


def result(name: str, outcome: Outcome = Outcome.PASSED, *, requirement: str = "AUTH-1", **changes: Any) -> Result:
    return replace(Result(f"check_a::{name}", requirement, IDENTITY, "", outcome), **changes)


def journal(
    exchanges: Iterable[Exchange] = (),
    results: Iterable[Result] = (),
    *,
    planned: Iterable[Result] = (),
    end: Any = None,
    **head: Any,
) -> list[dict[str, Any]]:
    """The lines of a run; `end` None means that it was killed."""
    results = list(results)
    first = {
        "kind": "run",
        "suite": {"version": "1", "contract": "c", "checks": "d"},
        "target": "http://t",
        "profile": {"name": "p", "digest": "d"},
        "seed": 7,
        "started_at": "2030-01-15T00:00:00Z",
        "filtered": False,
        "requirements": [to_json(requirement) for requirement in CONTRACT.requirements.values()],
        "operations": [to_json(operation.info) for operation in CONTRACT.all],
        "unreachable": {operation.id: unreachable(operation) for operation in CONTRACT.all},
        "waivers": [],
        "planned": [to_json(one) for one in (*results, *planned)],
        **head,
    }
    lines = [first]
    lines += [{"kind": "exchange", **to_json(one)} for one in exchanges]
    lines += [{"kind": "result", **to_json(one)} for one in results]
    return [*lines, {"kind": "end", **end}] if end is not None else lines


END = {"finished_at": "2030-01-15T00:01:00Z", "interrupted": "", "waited_s": 1.5}


def by_check(run: Run, check: str, operation: str = IDENTITY) -> Result:
    (found,) = [one for one in run.results if (one.check, one.operation) == (check, operation)]
    return found


def test_the_same_lines_give_the_same_run() -> None:
    """Twice, and after a journey through a file's text; the lines are not changed."""
    lines = journal([exchange(1), exchange(2, 401)], [result("a")], end=END)
    before = copy.deepcopy(lines)
    first = assemble(lines)
    assert assemble(json.loads(json.dumps(line)) for line in lines) == first
    assert lines == before


def test_a_whole_run() -> None:
    """Complete, with its times, traffic, latency and waiting."""
    run = assemble(journal([exchange(1), exchange(2, 401), exchange(3, None, retry_of="x2")], [result("a")], end=END))
    assert (run.complete, run.interrupted, run.finished_at) == (True, "", END["finished_at"])
    assert (run.traffic.requests, run.traffic.retries, run.traffic.waited_s) == (3, 1, 1.5)
    assert run.traffic.latency[""].count == run.traffic.latency[IDENTITY].count == 2
    assert run.coverage[IDENTITY] == {"200": 1, "401": 1, "none": 1}


def test_a_killed_run_is_incomplete_and_forgets_nothing() -> None:
    """No last line: what was planned and has no result is untested, and says why."""
    run = assemble(journal([exchange(1)], [result("a")], planned=[result("b", reproduce="run b")]))
    assert (run.complete, run.interrupted, run.finished_at) == (False, "killed", "")
    assert run.verdict is Verdict.INCOMPLETE
    lost = by_check(run, "check_a::b")
    assert (lost.outcome, lost.message, lost.reproduce) == (Outcome.UNTESTED, "not run: killed", "run b")


@pytest.mark.parametrize("length", range(4))
def test_a_run_cut_anywhere_is_as_complete_as_it_went(length: int) -> None:
    """Whatever number of lines were written, all planned checks have a result, and it is incomplete."""
    planned = [result(name) for name in "abc"]
    lines = journal([exchange(1)], planned, end=END)
    run = assemble(lines[: 2 + length])
    assert {one.check for one in run.results if "check_a" in one.check} == {"check_a::a", "check_a::b", "check_a::c"}
    assert sum(one.outcome is Outcome.UNTESTED for one in run.results if "check_a" in one.check) == 3 - length
    assert run.verdict is Verdict.INCOMPLETE


def test_a_killed_run_that_saw_a_failure_is_nonconformant() -> None:
    """What was proven stays proven."""
    assert assemble(journal([exchange(1)], [result("a", Outcome.FAILED)])).verdict is Verdict.NONCONFORMANT


@pytest.mark.parametrize("ends", [[END, {**END, "interrupted": "SIGINT"}], [{**END, "interrupted": "SIGINT"}, END]])
def test_one_interrupted_shard_interrupts_the_run(ends: list[dict[str, Any]]) -> None:
    """Joined journals have several last lines: any interruption counts, waiting is summed up."""
    run = assemble([*journal([exchange(1)], [result("a")]), *({"kind": "end", **end} for end in ends)])
    assert (run.complete, run.interrupted, run.traffic.waited_s) == (False, "SIGINT", 3.0)
    assert run.verdict is not Verdict.CONFORMANT


def test_the_later_result_of_a_check_counts() -> None:
    """A check that was run again has its last result."""
    run = assemble(journal([exchange(1)], [result("a", Outcome.FAILED), result("a")], end=END))
    assert by_check(run, "check_a::a").outcome is Outcome.PASSED


def test_the_order_of_exchanges_and_results_mixed() -> None:
    """Lines of several workers come in any order: every verdict, count and cell is the same."""
    defects = (Finding("STA-1", "status:422", "m"),)
    lines = journal(
        [exchange(n, 422 if n == 3 else 200, *(defects if n == 3 else ())) for n in range(6)],
        [result(name) for name in "abc"],
        end=END,
    )
    first = assemble(lines)
    for seed in range(5):
        body = lines[1:-1]
        random.Random(seed).shuffle(body)
        other = assemble([lines[0], *body, lines[-1]])
        assert (other.verdict, other.counts, other.coverage, other.requirements) == (
            first.verdict,
            first.counts,
            first.coverage,
            first.requirements,
        )


def test_filtered_runs_and_waivers() -> None:
    """A filtered run is never conformant; waivers are told their state on the day of the run."""
    failed = result("a", Outcome.FAILED, signature="s")
    waivers = [to_json(Waiver("AUTH-1", "r", "o", "i", until)) for until in ("2030-01-15", "2030-01-14")]
    run = assemble(journal([exchange(1)], [failed], end=END, waivers=waivers))
    assert [waiver.state for waiver in run.waivers] == ["active", "expired"]
    assert run.verdict is Verdict.INCOMPLETE
    assert assemble(journal([exchange(1)], [result("a")], end=END, filtered=True)).filtered


@pytest.mark.parametrize(
    "bad",
    [
        {"kind": "exchange"},
        {"kind": "exchange", "id": "x", "request": []},
        {"kind": "result", "check": "a"},
        {"kind": "result", **to_json(result("a")), "outcome": "excellent"},
        {"kind": "exchange", **to_json(exchange(1)), "request": [1]},
        {"kind": "exchange", **to_json(exchange(1)), "findings": 5},
        {"kind": "exchange", **to_json(exchange(1)), "response": "text"},
        {"kind": "run"},
    ],
)
def test_a_line_of_another_shape_is_an_error(bad: dict[str, Any]) -> None:
    """What cannot be a run's line makes a JournalError, never a traceback."""
    lines = [bad] if bad == {"kind": "run"} else [*journal(), bad]
    with pytest.raises(JournalError, match="another shape"):
        assemble(lines)


def test_a_journal_without_its_first_line(tmp_path: Path) -> None:
    """Nobody knows which run it is: JournalError, from a file as well."""
    with pytest.raises(JournalError, match="no first line"):
        assemble([{"kind": "end", **END}])
    (tmp_path / "journal.ndjson").write_text("")
    with pytest.raises(JournalError, match=r"journal\.ndjson"):
        load(tmp_path)


# Rows of the invariants


def test_every_invariant_has_a_row_for_each_of_its_operations() -> None:
    """No cell is forgotten, not even in an empty run."""
    run = assemble(journal())
    cells = {(one.requirement, one.operation) for one in run.results}
    assert cells == {(name, operation) for name in INVARIANTS for operation in CONTRACT.requirements[name].operations}
    assert {one.outcome for one in run.results} <= {Outcome.UNTESTED, Outcome.INAPPLICABLE}
    assert run.verdict is Verdict.INCOMPLETE


def test_what_was_looked_at_and_clean_has_passed() -> None:
    """It says how many answers there were, and shows one."""
    row = by_check(assemble(journal([exchange(1), exchange(2)])), "invariant::ENV-1")
    assert (row.outcome, row.message, row.exchanges) == (Outcome.PASSED, "2 answers", ("x2",))


def test_a_violation_fails_its_row_and_no_other() -> None:
    """The first answer is told, how many there were and of how many kinds; the decisive exchange stands last."""
    defect = Finding("ENV-2", "data", "data is an array, not an object")
    run = assemble(journal([exchange(1), exchange(2, 200, defect), exchange(3, 200, defect)], end=END))
    failed = [one for one in run.results if one.outcome is Outcome.FAILED]
    (row,) = failed
    assert (row.check, row.observed, row.exchanges) == ("invariant::ENV-2", "data", ("x3", "x2"))
    assert row.message == "data is an array, not an object (2 answers in all, 1 kinds)"
    assert run.verdict is Verdict.NONCONFORMANT


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
    assert (row.outcome, row.observed, row.level) == (Outcome.FAILED, "not-json", Level.REQUIRED)


def test_what_a_failed_check_shows_is_not_counted_twice() -> None:
    """The decisive exchange of a failed check explains such violations on that operation: one cause, one failure."""
    defect = Finding("STA-1", "status:422", "answered 422")
    failed = result("a", Outcome.FAILED, exchanges=("x1", "x2"))
    seen = [exchange(1), exchange(2, 422, defect), exchange(3, 422, defect)]
    run = assemble(journal(seen, [failed]))
    row = by_check(run, "invariant::STA-1")
    assert (row.outcome, row.cause) == (Outcome.INCONCLUSIVE, "check:check_a::a")
    assert [one.check for one in run.results if one.outcome is Outcome.FAILED] == ["check_a::a"]


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
    assert (row.outcome, row.observed) == (Outcome.FAILED, "status:500")


@pytest.mark.parametrize(
    ("name", "seen", "results", "outcome", "message"),
    [
        ("ENV-2", [], [], Outcome.UNTESTED, "nothing was sent"),
        ("ENV-2", [exchange(1, 401)], [], Outcome.INCONCLUSIVE, "no 200 was seen"),
        ("STA-2", [exchange(1, 401)], [], Outcome.INCONCLUSIVE, "no 200 was seen"),
        ("ERR-1", [exchange(1)], [], Outcome.INAPPLICABLE, "no error was seen"),
        ("STA-1", [exchange(1, None, judged=())], [], Outcome.INCONCLUSIVE, "no answer was seen"),
        ("ENV-4", [exchange(1)], [], Outcome.INAPPLICABLE, "the profile has no schema for the answer"),
        ("RATE-2", [exchange(1)], [], Outcome.INAPPLICABLE, "no 429 was seen"),
        (
            "ENV-2",
            [],
            [result("a", Outcome.INAPPLICABLE, message="no key", fact="credentials")],
            Outcome.INAPPLICABLE,
            "no key",
        ),
        (
            "ENV-2",
            [],
            [
                result("a", Outcome.INAPPLICABLE, message="no key", fact="credentials"),
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
    """An unseen cell says why: nothing sent, no 200, no error, no fact; a fact names its key."""
    row = by_check(assemble(journal(seen, results)), f"invariant::{name}")
    assert (row.outcome, row.message) == (outcome, message)
    assert bool(row.fact) == (outcome is Outcome.INAPPLICABLE)


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
