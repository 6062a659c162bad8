"""The judge names the cause of each result once; whoever prints it only puts together what has the same."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import conformance
from conformance.core.model import BAD_OUTCOMES, Outcome, Verdict
from conformance.judge.assemble import assemble
from conformance.judge.causes import with_causes
from tests.support.journals import END, exchange, journal, result

PACKAGE = Path(conformance.__file__).parent


@pytest.mark.parametrize("outcome", [*BAD_OUTCOMES, Outcome.WARNED])
def test_a_failure_has_its_requirement_and_check_for_a_cause(outcome: Outcome) -> None:
    """Unless its check knows better."""
    first, second = with_causes([result("a", outcome), result("b", outcome, cause="control:getApiKeyIdentity")])
    assert (first.cause, second.cause) == ("AUTH-1 check_a::a", "control:getApiKeyIdentity")


def test_what_rests_on_a_failure_has_its_cause() -> None:
    """Named by its check, or by the control that STA-2 is about; what rests on nothing that failed keeps its own."""
    head = result("a", Outcome.FAILED)
    control = result("c", Outcome.FAILED, requirement="STA-2")
    open_ = [
        result("b", Outcome.INCONCLUSIVE, cause=cause)
        for cause in ("check:check_a::a", "control:getApiKeyIdentity", "control:other", "")
    ]
    assert [one.cause for one in with_causes([*open_, head, control])] == [
        "AUTH-1 check_a::a", "STA-2 check_a::c", "control:other", "", "AUTH-1 check_a::a", "STA-2 check_a::c",
    ]  # fmt: skip


def test_a_warning_never_rests_on_a_failure_of_its_check() -> None:
    """It is told among the warnings; and nothing that passed has a cause."""
    failed, warned, passed = with_causes(
        [result("a", Outcome.FAILED), result("a", Outcome.WARNED), result("a", Outcome.PASSED)]
    )
    assert failed.cause == warned.cause == "AUTH-1 check_a::a"
    assert passed.cause == ""


def test_causes_stand_in_the_run() -> None:
    run = assemble(journal([exchange(1)], [result("a", Outcome.FAILED)], end=END))
    assert {one.cause for one in run.results if one.outcome is Outcome.FAILED} == {"AUTH-1 check_a::a"}


def test_one_function_computes_a_verdict() -> None:
    """`judge.verdict.verdict_of`: no other gives one that it did not take from a run or from that function."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and any(
                map(_gives_verdict, _own(function))
            ):
                found.add(f"{path.relative_to(PACKAGE)}:{function.name}")
    assert found == {"judge/verdict.py:verdict_of"}


def _own(function: ast.AST) -> list[ast.AST]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Return | ast.keyword | ast.Assign)]


def _gives_verdict(node: ast.AST) -> bool:
    """`return Verdict.X`, `verdict=Verdict.X`, `verdict = Verdict.X`, also as a branch of a conditional expression."""
    value = node.value if isinstance(node, ast.Return | ast.keyword | ast.Assign) else None
    branches = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    return any(
        isinstance(one, ast.Attribute)
        and isinstance(one.value, ast.Name)
        and one.value.id == "Verdict"
        and one.attr in Verdict.__members__
        for one in branches
    )
