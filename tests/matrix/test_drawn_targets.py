"""Sound beyond what anybody thought of: targets drawn at random from all legitimate readings are conformant.

A few of them here, the same in every run; `conformance faults --all` draws three hundred.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.core.errors import UsageError
from conformance.core.outcomes import Outcome
from conformance.reference.random_targets.choices import RandomTarget, target_from
from conformance.reference.random_targets.strategy import random_targets
from conformance.runner import kill_matrix as matrix
from conformance.runner.embedded_reference import EmbeddedReference
from conformance.runner.random_target import is_sound
from conformance.runner.random_target_runs import judge_random_target

pytestmark = pytest.mark.e2e

KEY_IN_A_MADE_BODY = {
    "carrier": "body",
    "key_name": "idem_token",
    "key_pointer": "/_key",
    "key_format": "[a-z0-9]{16,64}",
    "key_in_schema": True,
    "fingerprint": "bytes",
    "omitted_facts": ["body.removePublicCartPromotion"],
}
"""A body that is made of its schema holds the key's own member: no check may take that for one that can be changed."""
TARGETS = [*random_targets(3, seed=2)[1:], target_from(KEY_IN_A_MADE_BODY)]
"""Without the first one drawn, which hypothesis always draws as plain as can be."""
EXAMPLES = 4
"""So many of each generated request, where a run of its own sends eight: every check is there all the same."""


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=range(len(TARGETS)))
def test_a_drawn_target_is_judged_soundly(target: RandomTarget, served: EmbeddedReference, tmp_path: Path) -> None:
    """Whatever it chose and however much its profile states: no check fails, and what stays open lacks a fact."""
    run = judge_random_target(target, f"R{TARGETS.index(target) + 900}", served, tmp_path, EXAMPLES)
    bad = [r for r in run.results if r.outcome in (Outcome.FAILED, Outcome.INCONCLUSIVE, Outcome.BROKEN)]
    shown = [(r.requirement, r.operation, r.outcome.value, r.message) for r in bad[:10]]
    assert is_sound(target, run), (target.differences(), shown)


@pytest.mark.slow
@pytest.mark.parametrize("limiter", ["steady", "switched"])
def test_every_operation_of_a_target_that_limits_is_limited(
    limiter: str, served: EmbeddedReference, tmp_path: Path
) -> None:
    """Whether its limit is met by the first requests of a burst or by four times as many, and for each.

    Of a target that takes its time: a burst must not be drawn out over more than the limit's window.
    """
    target = target_from({"limiter": limiter, "latency_ms": 30})
    run = judge_random_target(target, f"R{len(limiter)}90", served, tmp_path, 1)
    told = [one for one in run.results if one.requirement in ("RATE-1", "RATE-3")]
    assert len(told) == 2 * len(run.operations)
    assert {one.outcome for one in told} == {Outcome.PASSED}
    assert not {"RATE-1", "RATE-3", "RATE-4", "IDEM-8"} & set(matrix.unjudged_requirements(run))


def _row(name: str, *, fine: bool, choices: dict[str, object]) -> matrix.Row:
    failing = () if fine else ("failed 2 x check_search::pages [searchPublicProducts ]: too long",)
    verdict = "conformant" if fine else "nonconformant"
    return matrix.Row(name, "nonce=True", "all", fine, verdict, (), (), 0, 9, 1.0, "", choices, failing)


def test_a_red_row_says_what_failed_and_how_to_draw_it_again() -> None:
    choices = {"authorization": "it's {key}", "nonce": True}
    told = matrix.format_row(_row("R002", fine=False, choices=choices)).split("\n")
    assert told[0].startswith("R002   NONCONFORMANT")
    assert told[1].strip().startswith("failed 2 x check_search::pages")
    assert told[2].strip() == """--draw '{"authorization": "it'"'"'s {key}", "nonce": true}'"""
    assert "\n" not in matrix.format_row(_row("R003", fine=True, choices={}))


def test_a_variant_that_is_failed_says_by_what() -> None:
    """Some failures are seen once in a hundred runs: the row is all that is left of one."""
    failing = tuple(f"failed 1 x check_oauth::a{number} [exchangeOAuthToken ]: refused" for number in range(30))
    row = matrix.Row("V490", "t", "RATE-5", False, "nonconformant", ("OA-1",), ("OA-1",), 0, 9, 1.0, failing=failing)
    lines = matrix.format_row(row).split("\n")
    assert lines[1].strip().startswith("failed 1 x check_oauth::a0")
    assert len(lines) == 21
    assert len(matrix.summarize([row])["rows"][0]["failing"]) == 30


def test_drawn_targets_are_counted_by_themselves() -> None:
    told = matrix.summarize([_row("R001", fine=True, choices={}), _row("R002", fine=False, choices={"nonce": True})])
    assert (told["random_targets"], told["random_targets_sound"], told["false_alarms"]) == (2, 1, ["R002"])
    assert (told["faults"], told["variants"]) == (0, 0)
    assert [row["choices"] for row in json.loads(json.dumps(told))["rows"]] == [{}, {"nonce": True}]
    assert "1 of 2 random targets judged correctly" in matrix.format_summary(told)


def test_what_is_drawn_follows_from_the_seed() -> None:
    one, again, other = (matrix.random_subjects(5, seed) for seed in (1, 1, 2))
    assert one == again != other
    assert [subject.id for subject in one] == ["R001", "R002", "R003", "R004", "R005"]
    assert matrix.random_subjects(0, 0, ['{"nonce": true}']) == [matrix.Subject("R001", target_from({"nonce": True}))]


def test_nothing_else_is_judged_where_targets_are_drawn() -> None:
    assert matrix.select_subjects((), with_variants=False, only_random=True) == []
    assert [subject.id for subject in matrix.select_subjects(("D07",), with_variants=False, only_random=True)] == [
        "D07"
    ]


@pytest.mark.parametrize("choices", ["{", "[]", '{"colour": "red"}', '{"nonce": "yes"}'])
def test_choices_that_there_are_not_are_refused(choices: str) -> None:
    with pytest.raises(UsageError):
        matrix.random_subjects(0, 0, [choices])
    assert CliRunner().invoke(main, ["faults", "--draw", choices]).exit_code == 2


def test_a_fault_that_only_warns_is_counted_apart() -> None:
    """A verdict on it is still conformant, so `killed` alone would say more than the run has shown."""
    rows = [
        matrix.Row(name, "t", "OA-10", True, verdict, ("OA-10",), (), 0, 9, 1.0, is_warning=is_warning)
        for name, verdict, is_warning in (("F161", "conformant", True), ("F001", "nonconformant", False))
    ]
    assert [matrix.format_row(row).split()[1] for row in rows] == ["warned", "killed"]
    assert "2 of 2 faults killed, 1 of them by a warning" in matrix.format_summary(matrix.summarize(rows))
    assert [row.get("warned") for row in matrix.kills_record(rows)["faults"].values()] == [None, True]
