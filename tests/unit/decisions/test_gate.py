"""Whether a release passes: the run's verdict, waivers, allowances, and what is worse than a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.core.errors import ProfileError, UsageError
from conformance.core.model import Result, Run, Waiver
from conformance.core.outcomes import Level, Outcome, Verdict
from conformance.decisions import gate_report as verdicts
from conformance.decisions.gate import Decision, ObstacleKind, Policy, decide
from conformance.decisions.gate_policy import known_requirements, load_policy
from tests.support.runs import OPERATIONS, PAYLOADS, result, run_of
from tests.support.values import replace

TODAY = "2025-12-01"
STABLE, CANDIDATE = "getApiKeyIdentity", "checkoutPublicCart"


def failing(operation: str = STABLE, **changes: Any) -> Result:
    given = {"message": "served", "signature": "s1", **changes}
    return result("AUTH-1", operation, Outcome.FAILED, **given)


def passing(operation: str = STABLE, requirement: str = "AUTH-1", **changes: Any) -> Result:
    return result(requirement, operation, Outcome.PASSED, **changes)


def waiver(**changes: Any) -> Waiver:
    return replace(Waiver("AUTH-1", "a proxy", "edge", "EDGE-1", "2026-01-01", STABLE, signature="s1"), **changes)


STATED = '[[waivers]]\nrequirement = "ERR-1"\nreason = "r"\nowner = "o"\nissue = "i"\n'
"""A waiver as a policy states it, without its last day."""
GOOD = [result("VER-1", name, Outcome.PASSED) for name in (STABLE, CANDIDATE)]
"""Something that passed in each tier."""


def decided(
    results: list[Result], policy: Policy | None = None, baseline: list[Result] | None = None, **run: Any
) -> Decision:
    before = None if baseline is None else run_of([*GOOD, *baseline])
    return decide(run_of([*GOOD, *results], **run), policy or Policy(), before, today=TODAY)


@pytest.mark.parametrize(
    ("outcome", "level", "code"),
    [
        (Outcome.PASSED, Level.REQUIRED, 0),
        (Outcome.WARNED, Level.RECOMMENDED, 0),
        (Outcome.INAPPLICABLE, Level.REQUIRED, 0),
        (Outcome.INCONCLUSIVE, Level.DECLARED, 0),
        (Outcome.FAILED, Level.REQUIRED, 1),
        (Outcome.INCONCLUSIVE, Level.REQUIRED, 3),
        (Outcome.UNTESTED, Level.REQUIRED, 3),
        (Outcome.UNSTATED, Level.REQUIRED, 3),
        (Outcome.UNSTATED, Level.DECLARED, 0),
        (Outcome.BROKEN, Level.REQUIRED, 5),
    ],
)
def test_without_a_baseline_the_verdict_answers(outcome: Outcome, level: Level, code: int) -> None:
    """The exit codes of the design, whatever else passed."""
    decision = decided([result("IDEM-1", CANDIDATE, outcome, level=level)])
    assert (decision.exit_code, decision.passed) == (code, code == 0)


@pytest.mark.parametrize("changes", [{"filtered": True}, {"complete": False, "interrupted": "SIGINT"}])
def test_a_part_of_a_run_passes_nothing(changes: dict[str, Any]) -> None:
    """Filtered, or cut short: exit 3, and why."""
    decision = decided([passing()], **changes)
    assert decision.exit_code == 3
    assert decision.reasons


def test_a_tier_counts_its_own_operations() -> None:
    """What fails in candidate operations holds no stable release back."""
    results = [passing(), failing(CANDIDATE)]
    assert decided(results, Policy(tier="stable")).exit_code == 0
    assert decided(results, Policy(tier="candidate")).exit_code == 1
    assert decided(results).exit_code == 1


def test_what_is_allowed_need_not_be_judged() -> None:
    """Only the requirement that is named, and never a failure of it."""
    undecided = result("IDEM-1", CANDIDATE, Outcome.INCONCLUSIVE)
    allowed = Policy(allow_incomplete=frozenset({"IDEM-1"}))
    assert decided([passing(), undecided]).exit_code == 3
    assert decided([passing(), undecided], allowed).exit_code == 0
    assert decided([passing(), result("IDEM-1", CANDIDATE, Outcome.FAILED)], allowed).exit_code == 1


@pytest.mark.parametrize(
    ("changes", "code", "state"),
    [
        ({}, 0, "active"),
        ({"signature": ""}, 0, "active"),
        ({"signature": "s2"}, 1, "mismatch"),
        ({"until": "2025-11-30"}, 1, "expired"),
        ({"operation": CANDIDATE}, 1, "unmatched"),
        ({"case": "another"}, 1, "unmatched"),
        ({"requirement": "IDEM-1", "operation": ""}, 1, "unneeded"),
    ],
)
def test_a_waiver_excuses_the_failure_that_it_names(changes: dict[str, Any], code: int, state: str) -> None:
    """That one and no other, as long as it holds; what became of it is told."""
    given = [failing(), passing(requirement="IDEM-1", operation=CANDIDATE)]
    decision = decided(given, Policy(waivers=(waiver(**changes),)))
    assert decision.exit_code == code
    assert [one.state for one in decision.waivers] == [state]


@pytest.mark.parametrize("changes", [{"until": "2025-11-30"}, {"operation": CANDIDATE}, {"requirement": "IDEM-1"}])
def test_idle_waivers_fail_where_they_must(changes: dict[str, Any]) -> None:
    """Expired, unmatched or not needed: reported always, and a failure under --strict-waivers."""
    given, idle = [passing(), passing(requirement="IDEM-1")], (waiver(**changes),)
    assert decided(given, Policy(waivers=idle)).exit_code == 0
    strict = decided(given, Policy(waivers=idle, strict_waivers=True))
    assert (strict.exit_code, len(strict.reasons)) == (1, 1)
    assert strict.reasons[0] in verdicts.answer(strict, run_of([])), "the one line of -q says why"
    assert any("further waiver" in words for words in strict.policy) is ("until" not in changes), strict.policy


@pytest.mark.parametrize(
    ("before", "now", "code", "why"),
    [
        ([passing()], [failing()], 1, ObstacleKind.REGRESSED),
        ([failing()], [failing()], 1, ObstacleKind.FAILED),
        ([failing(signature="s0")], [failing()], 1, ObstacleKind.REGRESSED),
        ([failing()], [passing()], 0, None),
        ([], [failing()], 1, ObstacleKind.REGRESSED),
        ([passing()], [result("AUTH-1", STABLE, Outcome.INCONCLUSIVE)], 3, ObstacleKind.NO_LONGER_JUDGED),
        ([passing()], [result("AUTH-1", STABLE, Outcome.UNSTATED)], 3, ObstacleKind.NO_LONGER_JUDGED),
        (
            [passing()],
            [result("AUTH-1", STABLE, Outcome.UNSTATED, level=Level.DECLARED)],
            1,
            ObstacleKind.NO_LONGER_JUDGED,
        ),
        (
            [passing()],
            [result("AUTH-1", STABLE, Outcome.INAPPLICABLE, exclusion="no")],
            1,
            ObstacleKind.NO_LONGER_JUDGED,
        ),
        ([passing()], [result("AUTH-1", STABLE, Outcome.INAPPLICABLE, level=Level.RECOMMENDED)], 0, None),
        (
            [passing(), passing(case="optional")],
            [passing(), result("AUTH-1", STABLE, Outcome.INAPPLICABLE, case="optional", further=True)],
            0,
            None,
        ),
        (
            [result("AUTH-1", STABLE, Outcome.UNTESTED)],
            [result("AUTH-1", STABLE, Outcome.INCONCLUSIVE)],
            3,
            ObstacleKind.UNDECIDED,
        ),
        ([passing()], [passing(requirement="IDEM-1")], 1, ObstacleKind.MISSING),
        ([passing()], [result("AUTH-1", STABLE, Outcome.BROKEN)], 5, ObstacleKind.BROKEN),
    ],
)
def test_a_baseline_only_adds(before: list[Result], now: list[Result], code: int, why: ObstacleKind | None) -> None:
    """A new failure, another one, what is no longer judged, and what is gone; what was so before stays what it is."""
    decision = decided(now, baseline=before)
    assert decision.exit_code == code
    assert [obstacle.kind for obstacle in decision.obstacles] == ([why] if why else [])


def test_what_is_worse_than_in_the_baseline_comes_first() -> None:
    """Before the failures that were there already."""
    silent = result("IDEM-4", CANDIDATE, Outcome.INAPPLICABLE, exclusion="it takes too long")
    decision = decided([failing(), silent], baseline=[failing(), passing(CANDIDATE, "IDEM-4")])
    assert [obstacle.kind for obstacle in decision.obstacles] == [ObstacleKind.NO_LONGER_JUDGED, ObstacleKind.FAILED]
    assert "1 result worse than in the baseline" in verdicts.answer(decision, run_of([]))


def test_what_narrows_stands_in_the_answer() -> None:
    """Tier, allowed requirements and further waivers: nobody takes the answer for the run's own verdict."""
    policy = Policy(tier="stable", allow_incomplete=frozenset({"IDEM-1"}), waivers=(waiver(),))
    decision = decided([failing(), result("IDEM-1", STABLE, Outcome.UNSTATED)], policy)
    answer, *_ = verdicts.lines(decision, run_of([]))
    assert decision.passed
    for words in (
        "only the tier stable counts",
        "allowed to stay open: IDEM-1",
        "1 further waiver: EDGE-1",
        "operations",
    ):
        assert words in answer


def test_no_policy_makes_up_for_an_operation_that_was_never_answered_200() -> None:
    """But a waiver that names the operation does."""
    proven = {operation.id for operation in OPERATIONS} - {CANDIDATE}
    allowed = Policy(allow_incomplete=frozenset({"STA-2", "AUTH-1"}))
    gap = result("STA-2", CANDIDATE, Outcome.INCONCLUSIVE)
    assert decided([gap], allowed, proven=proven).exit_code == 3
    named = waiver(requirement="STA-2", operation=CANDIDATE, signature="")
    assert decided([gap], Policy(waivers=(named,)), proven=proven).exit_code == 0
    assert decided([gap], Policy(tier="stable"), proven=proven).exit_code == 0


def test_a_part_of_a_run_passes_nothing_against_a_baseline_either() -> None:
    """Nothing regressed in what ran, but not everything ran."""
    decision = decided([passing()], baseline=[passing()], filtered=True)
    assert (decision.exit_code, decision.passed) == (3, False)


def test_what_was_fixed_is_told() -> None:
    """And is not an obstacle."""
    assert [one.requirement for one in decided([passing()], baseline=[failing()]).fixed] == ["AUTH-1"]


def test_annotations_are_one_line_each_and_say_no_command_of_the_target() -> None:
    """GitHub obeys `::name::` at the beginning of a line: no text of a target may bring one about."""
    evil = "served\n::set-output name=x::y\r\n::error::z" + PAYLOADS[7]
    decision = decided([failing(message=evil, case="a,b:c\n::warning::")])
    told = list(verdicts.workflow_commands(decision, run_of([])))
    assert told
    for line in told:
        assert line.splitlines() == [line]
        assert line.startswith("::error title=")
        assert "\x1b" not in line


def test_the_lines_begin_with_the_answer(small: Run) -> None:
    """Then each cause with the command that runs it again, and what is waived, with the reason."""
    decision = decide(small, Policy(), today=TODAY)
    lines = list(verdicts.lines(decision, small))
    assert lines[0].startswith("✕ blocked")
    assert any(line.strip().startswith("again") for line in lines)
    (waived,) = [line for line in lines if line.startswith("◇")]
    reason = "waived until 2026-01-31 by team-edge (EDGE-41): the gateway answers for the shop"
    assert waived == f"◇ ERR-1 in 1 result on quotePublicCart: {reason}"


def test_the_document_holds_what_the_lines_say(small: Run) -> None:
    """For machines: exit code, verdict, obstacles."""
    decision = decide(small, Policy(), today=TODAY)
    document = verdicts.document(decision, small)
    assert document["exit_code"] == decision.exit_code == 1
    assert len(document["obstacles"]) == len(decision.obstacles)
    assert Verdict(document["verdict"]) is Verdict.NONCONFORMANT


# The policy file


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "gate.toml"
    path.write_text(text)
    return path


def test_a_policy_is_read(tmp_path: Path) -> None:
    """All that a release can be held to."""
    path = written(
        tmp_path,
        f'tier = "stable"\nallow_incomplete = ["RATE-3"]\nstrict_waivers = true\n{STATED}until = 2026-01-31\n',
    )
    policy = load_policy(path)
    assert policy["tier"] == "stable"
    assert policy["waivers"] == (Waiver("ERR-1", "r", "o", "i", "2026-01-31"),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('teir = "stable"', "gate.toml:1: teir: unknown key (did you mean tier?)"),
        ('tier = "best"', "'best' is not allowed"),
        ('allow_incomplete = ["RATE-33"]', "unknown requirement RATE-33 (did you mean RATE-3?)"),
        ('[[waivers]]\nrequirement = "ERR-1"', "lacks the key"),
        ("[[waivers", "is not valid TOML"),
        ("waivers = 5", "gate.toml:1: waivers: must be an array, not an integer"),
        ("waivers = true", "gate.toml:1: waivers: must be an array, not a boolean"),
        ("waivers = inf", "gate.toml:1: waivers: inf is not a JSON number"),
        (f"{STATED}until = 12:00:00", "gate.toml:6: waivers[0].until: '12:00:00' is not a date (YYYY-MM-DD)"),
        (f"{STATED}until = 2026-01-31T12:00:00Z", "'2026-01-31T12:00:00+00:00' is not a date (YYYY-MM-DD)"),
        (f"waivers = {'[' * 300}{']' * 300}", "gate.toml: is nested too deeply"),
    ],
)
def test_a_wrong_policy_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    """As a profile's mistakes are."""
    with pytest.raises(ProfileError) as caught:
        load_policy(written(tmp_path, text))
    assert told in str(caught.value)


def test_an_unknown_requirement_is_refused() -> None:
    """With the nearest one."""
    with pytest.raises(UsageError, match="did you mean RATE-3"):
        known_requirements(["RATE-33"])


def test_results_of_one_cause_are_one_line_and_one_annotation() -> None:
    """With the title of the cause and its operations; another cause of the same requirement is another line."""
    same = [failing(operation.id, observed="200") for operation in OPERATIONS[:6]]
    run = run_of([*GOOD, *same, failing(observed="500", case="other")])
    decision = decide(run, Policy(), None, today=TODAY)
    lines = [line for line in verdicts.lines(decision, run) if line.startswith("✕ failed")]
    assert len(lines) == 2
    assert "AUTH-1 in 6 results on" in lines[0]
    assert "and 2 more: A request whose authentication fails is answered 401. Instead: answered 200." in lines[0]
    errors = [line for line in verdicts.workflow_commands(decision, run) if line.startswith("::error title=failed")]
    assert len(errors) == 2


def test_a_waiver_of_a_cause_excuses_its_results_and_no_other_failure() -> None:
    """One waiver for six results; another deviation from the same requirement still blocks."""
    same = [failing(operation.id, observed="200", signature=f"s{n}") for n, operation in enumerate(OPERATIONS[:6])]
    (signature,) = {cause.signature for cause in run_of([*GOOD, *same]).causes}
    excuse = waiver(operation="", signature=signature)
    assert decided(same, Policy(waivers=(excuse,))).exit_code == 0
    assert decided([*same, failing(observed="500", case="other")], Policy(waivers=(excuse,))).exit_code == 1


def test_what_one_fact_would_decide_is_one_line() -> None:
    """Twelve results for want of one fact are one obstacle to read; with --verbose each has its line."""
    lacking = {"message": "state search.valid", "fact": "search.valid"}
    gaps = [result("SRCH-1", operation.id, Outcome.UNSTATED, **lacking) for operation in OPERATIONS[:12]]
    run = run_of([*GOOD, *gaps])
    decision = decide(run, Policy(), None, today=TODAY)
    found = [line for line in verdicts.lines(decision, run) if line.startswith("✕ not judged")]
    names = ", ".join(operation.id for operation in OPERATIONS[:4])
    assert found == [f"✕ not judged: SRCH-1 in 12 results on {names} and 8 more: state search.valid"]
    verbose = list(verdicts.lines(decision, run, verbose=True))
    assert sum(line.startswith("    SRCH-1 on ") for line in verbose) == 12


def test_a_hundred_waived_results_are_one_line_and_one_notice() -> None:
    """With the waiver's reason, in text and for GitHub; none of them is an error."""
    same = [failing(operation.id, observed="200", signature=f"s{n}") for n, operation in enumerate(OPERATIONS)]
    run = run_of([*GOOD, *same])
    decision = decide(run, Policy(waivers=(waiver(operation="", signature=""),)), None, today=TODAY)
    assert [line[:34] for line in verdicts.lines(decision, run) if line.startswith("◇")] == [
        "◇ AUTH-1 in 20 results on " + OPERATIONS[0].id[:8]
    ]
    commands = list(verdicts.workflow_commands(decision, run))
    assert commands[0].startswith("::notice title=waived::AUTH-1 in 20 results")
    assert "a proxy" in commands[0]
    assert not [line for line in commands if line.startswith("::error")]


def test_no_line_for_a_terminal_holds_a_command_of_the_runner() -> None:
    """GitHub's runner obeys `##[name]` anywhere in a line, and `::name::` at its beginning, in what a step prints."""
    evil = "served ##[add-mask]x\n::error::y %0A"
    run = run_of([*GOOD, failing(message=evil, case=evil, reproduce=evil), failing(CANDIDATE, message=evil, case=evil)])
    decision = decide(run, Policy(), None, today=TODAY)
    for line in [*verdicts.lines(decision, run, verbose=True), *verdicts.workflow_commands(decision, run)]:
        assert line.splitlines() == [line]
        assert "##[" not in line
    assert not [line for line in verdicts.lines(decision, run) if line.lstrip().startswith("::")]
    (command, *_) = verdicts.workflow_commands(decision, run)
    assert "%250A" in command
