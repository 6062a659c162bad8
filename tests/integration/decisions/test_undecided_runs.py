"""There is no way to exit 0 with a scope that is not complete, excluded or waived, whatever a run holds."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.core.errors import UsageError
from conformance.core.exit_codes import EXIT_CODES
from conformance.core.model import Result, Run, Waiver
from conformance.core.outcomes import Level, Outcome
from conformance.decisions import certificate
from conformance.decisions.gate import ALL, Policy, decide
from conformance.journal.lines import CheckConcluded, ExchangeRecorded
from conformance.judge.assemble import assemble
from conformance.reports import runjson
from tests.support.journals import CONTRACT, END, conformant_lines, write_journal
from tests.support.values import replace
from tests.unit.decisions.test_certificate import PRIVATE, PUBLIC

DAY = "2030-01-15"
NAMES = [operation.id for operation in CONTRACT.all[:3]]
SOME = ("VER-1", "STA-2", "AUTH-1", "TEN-1", "AUTH-3")


@st.composite
def a_waiver(draw: st.DrawFn) -> Waiver:
    return Waiver(
        requirement=draw(st.sampled_from(SOME)),
        reason="r",
        owner="o",
        issue="I-1",
        until=draw(st.sampled_from(["2030-01-14", "2031-01-01"])),
        operation=draw(st.sampled_from(["", *NAMES])),
        signature=draw(st.sampled_from(["", "s1"])),
    )


@st.composite
def a_result(draw: st.DrawFn) -> CheckConcluded:
    requirement = draw(st.sampled_from(SOME))
    level = CONTRACT.requirements[requirement].level
    outcome = draw(st.sampled_from([o for o in Outcome if o is not Outcome.FAILED or level is not Level.RECOMMENDED]))
    inapplicable = outcome is Outcome.INAPPLICABLE
    result = Result(
        check=f"check_b::{draw(st.integers(0, 2))}",
        requirement=requirement,
        operation=draw(st.sampled_from(["", *NAMES])),
        case="",
        outcome=outcome,
        level=level,
        signature="s1" if outcome is Outcome.FAILED else "",
        exclusion="not there" if inapplicable and draw(st.booleans()) else "",
        further=inapplicable and draw(st.booleans()),
    )
    return CheckConcluded(result)


@st.composite
def a_run(draw: st.DrawFn) -> Run:
    """A conformant run, spoilt in some way or in none."""
    waivers = tuple(draw(st.lists(a_waiver(), max_size=3)))
    lines = conformant_lines(waivers=waivers, filtered=draw(st.sampled_from([False] * 4 + [True])))
    unproven = draw(st.lists(st.sampled_from(NAMES), max_size=1))
    for number, line in enumerate(lines):
        if isinstance(line, ExchangeRecorded) and line.exchange.operation in unproven:
            lines[number] = ExchangeRecorded(replace(line.exchange, purpose="no Authorization"))
    end = msgspec.structs.replace(END, interrupted=draw(st.sampled_from([""] * 5 + ["SIGINT"])))
    return assemble([*lines[:-1], *draw(st.lists(a_result(), max_size=3)), end])


def _in_force(waivers: list[Waiver], requirement: str, operation: str) -> list[Waiver]:
    return [
        w for w in waivers if w.until >= DAY and w.requirement == requirement and w.operation in ("", operation)
    ]  # fmt: skip


def complaint(run: Run, tier: str, allowed: frozenset[str], waivers: list[Waiver]) -> str:
    """Why a run must not pass, by the words of the design and nothing of the judge's; empty where it may."""
    names = {o.id for o in run.operations if tier in (ALL, o.stability)}
    if not run.complete or run.filtered:
        return "it is not a whole run"
    proven = {e.operation for e in run.exchanges if e.purpose == "control" and e.status == 200}
    given_up = {w.operation for w in waivers if w.until >= DAY and w.requirement == "STA-2" and not w.signature}
    if missing := names - proven - given_up:
        return f"{missing} were never answered 200"
    cells = defaultdict(list)
    for result in run.results:
        if result.operation in names or not result.operation:
            cells[result.requirement, result.operation].append(result)
    for (requirement, operation), results in cells.items():
        fitting = _in_force(waivers, requirement, operation)
        given_up_here = operation not in proven and operation in given_up
        accepted = requirement in allowed or given_up_here or any(not w.signature for w in fitting)
        if why := _of_a_cell(results, fitting, accepted=accepted):
            return f"{requirement} on {operation} {why}"
    return ""


def _of_a_cell(results: list[Result], waivers: list[Waiver], *, accepted: bool) -> str:
    """`accepted`: gaps of this requirement on this operation are."""
    for result in results:
        required = result.level is Level.REQUIRED and not accepted
        if result.outcome is Outcome.BROKEN:
            return "is broken"
        if result.outcome is Outcome.FAILED and not any(w.signature in ("", result.signature) for w in waivers):
            return "failed"
        if required and result.outcome in (Outcome.INCONCLUSIVE, Outcome.UNTESTED, Outcome.UNSTATED):
            return f"is {result.outcome}"
        if required and all(one.further for one in results):
            return "rests on further cases alone"
    return ""


@given(a_run())
@settings(max_examples=120, deadline=None)
def test_no_run_exits_with_0_that_leaves_something_open(run: Run) -> None:
    """By its own verdict, and for each tier that says conformant."""
    waivers = list(run.waivers)
    if EXIT_CODES[run.verdict] == 0:
        assert complaint(run, ALL, frozenset(), waivers) == ""
    for name, tier in run.tiers.items():
        if EXIT_CODES[tier.verdict] == 0:
            assert complaint(run, name, frozenset(), waivers) == ""


@given(
    a_run(),
    st.sampled_from([ALL, "stable", "candidate"]),
    st.frozensets(st.sampled_from(SOME), max_size=2),
    st.lists(a_waiver(), max_size=2),
    st.none() | a_run(),
    st.booleans(),
)
@settings(max_examples=120, deadline=None)
def test_no_gate_exits_with_0_that_leaves_something_open(
    run: Run, tier: str, allowed: frozenset[str], waivers: list[Waiver], baseline: Run | None, strict: bool
) -> None:
    """Whatever the policy and the baseline: what it lets pass is what it says that it allows."""
    further = tuple(waivers)
    decision = decide(run, Policy(tier, allowed, strict, further), baseline, today=DAY)
    if decision.exit_code == 0:
        assert complaint(run, tier, allowed, [*run.waivers, *further]) == ""
        assert decision.passed
        in_force = [waiver for waiver in further if waiver.until >= DAY]
        assert bool(decision.policy) == bool(tier != ALL or allowed or in_force)
        if not decision.policy:
            assert EXIT_CODES[run.verdict] == 0
    else:
        assert not decision.passed


@given(a_run(), st.sampled_from([ALL, "stable"]))
@settings(max_examples=100, deadline=None)
def test_no_certificate_is_signed_or_verified_that_leaves_something_open(
    tmp_path_factory: pytest.TempPathFactory, run: Run, tier: str
) -> None:
    """What is signed says what it rests on."""
    folder: Path = write_journal(tmp_path_factory.mktemp("run"), [])
    runjson.write_file(run, folder)
    try:
        signed = certificate.create_certificate(run, folder, PRIVATE, tier=tier, today=DAY, days=10)
    except (UsageError, certificate.CertificateRefusal):
        return
    assert complaint(run, tier, frozenset(), list(run.waivers)) == ""
    scope = run.scope if tier == ALL else run.tiers[tier].scope
    assert scope.summary in next(iter(certificate.lines(certificate.read_certificate(signed, PUBLIC))))


def test_a_run_that_holds_all_that_it_must_passes() -> None:
    """The runs above are spoilt forms of one that exits with 0 everywhere."""
    run = assemble(conformant_lines())
    assert EXIT_CODES[run.verdict] == 0
    assert complaint(run, ALL, frozenset(), []) == ""
    assert decide(run, Policy()).exit_code == 0
