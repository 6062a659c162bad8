"""The judge names the cause of each result once; whoever prints it only puts together what has the same."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import conformance
from conformance.contract import load_contract
from conformance.core.outcomes import Outcome, Verdict
from conformance.judge.assemble import assemble
from conformance.judge.causes import causes_of, deviation, with_causes
from tests.support.journals import END, exchange, journal, result
from tests.support.values import replace

PACKAGE = Path(conformance.__file__).parent


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        (Outcome.FAILED, "AUTH-1 answered 200"),
        (Outcome.WARNED, "AUTH-1 answered 200, a warning"),
        (Outcome.BROKEN, "AUTH-1 check_a::a"),
    ],
)
def test_a_failure_has_its_requirement_and_deviation_for_a_cause(outcome: Outcome, cause: str) -> None:
    """Unless its check knows better."""
    first, second = with_causes(
        [result("a", outcome, observed="200"), result("b", outcome, cause="control:getApiKeyIdentity")]
    )
    assert (first.cause, second.cause) == (cause, "control:getApiKeyIdentity")


@pytest.mark.parametrize(
    ("check", "observed", "expected"),
    [
        ("check_a::a", "200", "answered 200"),
        ("invariant::STA-1", "status:422", "answered 422"),
        ("invariant::ERR-1", "schema:404", "schema"),
        ("check_a::a", "no answer (reset)", "no answer"),
        ("check_a::a", "200 times", "another value"),
        ("check_a::a", "another value at /data/id", "another value"),
        ("check_a::a", "<script>1</script>", "another value"),
        ("check_a::a", "999", "another value"),
    ],
)
def test_a_deviation_holds_nothing_of_the_target(check: str, observed: str, expected: str) -> None:
    """No id, number or text that differs from run to run."""
    assert deviation(replace(result("a", Outcome.FAILED, observed=observed), check=check)) == expected


def test_what_rests_on_a_failure_has_its_cause() -> None:
    """Named by its check, or by the control that STA-2 is about; what rests on nothing that failed keeps its own."""
    head = result("a", Outcome.FAILED, observed="200")
    control = result("c", Outcome.FAILED, requirement="STA-2", observed="201")
    dependents = [
        result("b", Outcome.INCONCLUSIVE, cause=cause)
        for cause in ("check:check_a::a", "control:getApiKeyIdentity", "control:other", "")
    ]
    causes = [one.cause for one in with_causes([*dependents, head, control])]
    assert causes[:4] == ["AUTH-1 answered 200", "STA-2 answered 201", "control:other", ""]


def test_a_failure_that_the_effect_of_a_refused_call_explains_has_the_cause_of_that_effect() -> None:
    """Where that effect failed on that operation; else the failure has its own, as any other failure."""
    walk = result("w", Outcome.FAILED, requirement="CONF-1", observed="409", cause="effect:SCO-4:getApiKeyIdentity")
    effect = result("a", Outcome.FAILED, requirement="SCO-4")
    other = replace(effect, operation="getInstallationCredentialReadiness")
    assert [one.cause for one in with_causes([walk, effect])] == ["SCO-4 another value"] * 2
    for rest in ([], [other], [replace(effect, outcome=Outcome.PASSED)]):
        assert with_causes([walk, *rest])[0].cause == "CONF-1 answered 409"
    (cause,) = causes_of(with_causes([walk, effect]), [])
    assert (cause.requirement, cause.results) == ("SCO-4", 2)


def test_what_rests_on_a_check_that_failed_has_its_cause_and_is_no_part_of_its_signature() -> None:
    """On the same operation, or anywhere where that check failed on three operations: where it shows may be chance."""
    operations = ["quotePublicCart", "createInstallationWebhook", "checkoutPublicCart"]
    base = replace(result("a", Outcome.FAILED, requirement="IDEM-1"), check="check_idempotency::a", kind="not replayed")
    bases = [replace(base, operation=operation) for operation in operations]
    resting = [
        replace(
            result("b", outcome, requirement="IDEM-4", observed="200"),
            operation=operation,
            cause=f"effect:check_idempotency::a:{operation}",
        )
        for operation, outcome in [(operations[0], Outcome.FAILED), ("updateInstallationWebhook", Outcome.WARNED)]
    ]
    assert {one.cause for one in with_causes([*bases, *resting])} == {"IDEM-1 not replayed"}
    assert {one.cause_signature for one in with_causes([*bases, *resting])} == {with_causes(bases)[0].cause_signature}
    apart = with_causes([*bases[:2], *resting, replace(resting[0], outcome=Outcome.WARNED)])
    warning = "IDEM-4 answered 200, a warning"
    assert [one.cause for one in apart[2:]] == ["IDEM-1 not replayed", warning, warning]
    passed = [replace(one, outcome=Outcome.PASSED) for one in bases]
    assert with_causes([*passed, *resting])[3].cause == "IDEM-4 answered 200"


def test_a_cause_is_named_by_the_requirement_that_it_violates_and_shows_its_own_checks_first() -> None:
    """Whatever rests on it stands in the results before it: their files come first in the alphabet."""
    base = replace(result("b", Outcome.FAILED, requirement="IDEM-1", message="at /data/id"), kind="not replayed")
    resting = result("a", Outcome.FAILED, requirement="IDEM-7", cause=f"effect:{base.check}:{base.operation}")
    requirements = load_contract().requirements
    (cause,) = causes_of(with_causes([resting, base]), requirements.values())
    assert cause.title == f"{requirements['IDEM-1'].statement} Instead: not replayed."
    assert cause.checks == (base.check, resting.check)


def test_a_cause_is_named_by_what_no_chance_has_found() -> None:
    """A random walk's message tells its steps, which differ from run to run; another check's does not."""
    walk = replace(result("a", Outcome.FAILED, message="the walk 7"), check="check_walks::w")
    (cause,) = causes_of(with_causes([walk, result("b", Outcome.FAILED, message="another id")]), [])
    assert cause.title.endswith("Instead: another id.")


@pytest.mark.parametrize(
    ("expected", "end"),
    [
        ("400", "answered 429"),
        ("", "answered 429"),
        ("a declared 4xx", "answered 429"),
        ("a refusal", "answered 429"),
        ("Retry-After", "no Retry-After"),
    ],
)
def test_a_title_names_a_status_only_where_the_law_is_about_one(expected: str, end: str) -> None:
    """`Instead: answered 429` says nothing of a 429 that lacks a header."""
    failed = result("a", Outcome.FAILED, observed="429", message="no Retry-After", expected=expected)
    (cause,) = causes_of(with_causes([failed]), [])
    assert cause.title.endswith(f"Instead: {end}.")


def test_a_warning_is_no_failure() -> None:
    """They have separate causes, though one check reports both; and nothing that passed has a cause."""
    failed, warned, passed = with_causes(
        [result("a", Outcome.FAILED), result("a", Outcome.WARNED), result("a", Outcome.PASSED)]
    )
    assert (failed.cause, warned.cause) == ("AUTH-1 another value", "AUTH-1 another value, a warning")
    assert passed.cause == passed.cause_signature == ""


def _signature(*checks: str, operation: str = "getApiKeyIdentity") -> str:
    found = [replace(result("a", Outcome.FAILED, observed="200", operation=operation), check=check) for check in checks]
    (signature,) = {one.cause_signature for one in with_causes(found)}
    return signature


def test_a_signature_is_the_same_on_every_operation_and_in_every_run() -> None:
    """Checks that find a defect by chance do not change it; another check that finds one does."""
    signature = _signature("check_a::a", "check_b::b")
    assert signature == _signature("check_b::b", "check_a::a", operation="other")
    assert signature == _signature("check_a::a", "check_generated::c", "check_b::b")
    assert signature != _signature("check_a::a")
    assert _signature("check_generated::c") == _signature("check_generated::d")


def test_causes_stand_in_the_run_with_what_they_explain() -> None:
    """One for each requirement and deviation, and the one that blocks most is first."""
    found = [
        result("a", Outcome.FAILED, observed="200"),
        result("b", Outcome.FAILED, observed="200", operation="getInstallationCredentialReadiness"),
        result("c", Outcome.FAILED, observed="500"),
        result("d", Outcome.INCONCLUSIVE, cause="check:check_a::c"),
    ]
    run = assemble(journal([exchange(1)], found, end=END))
    causes = [cause for cause in run.causes if cause.requirement == "AUTH-1"]
    assert [(cause.id, cause.results, cause.blocked) for cause in causes] == [
        ("AUTH-1 answered 500", 1, 1),
        ("AUTH-1 answered 200", 2, 0),
    ]
    assert causes[1].operations == ("getApiKeyIdentity", "getInstallationCredentialReadiness")
    assert len({cause.title for cause in run.causes}) == len(run.causes)


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
