"""States and their conflicts: Errors, 409 (CONF-1)."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.checks.case import Case
from conformance.checks.effects import Oracle, shown
from conformance.checks.registry import check
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.contract import Operation
from conformance.profile.model import Profile, Transition


def declared_transitions(profile: Profile, operation: Operation) -> Mapping[str, Transition | None]:
    found = [t for t in profile.transitions if t.operation == operation.id and not t.leads_to]
    none = {"": None} if operation.idempotent else {}  # that a read conflicts is seldom meant: nobody misses it
    return {"-".join((t.fixture, *(f"after-{name}" for name in t.after))): t for t in found} or none


async def into_conflict(case: Case, transition: Transition) -> Request:
    """A good request on a resource that the transition has brought into a state where it conflicts."""
    kind, _, state = transition.fixture.partition(".")
    request = await case.arrange(use={kind: state})
    members: Members = case.fixture_of(request, kind)
    for name in transition.after:
        operation = case.contract.operations[name]
        await shown(case, await case.arrange(operation, given={kind: members}), f"{name} before")
    return request


async def expect_conflict(case: Case, transition: Transition | None) -> None:
    """409 in a state that conflicts; 404 is a warning: the resource may count as gone."""
    what = "a state in which the operation conflicts is needed"
    case.need(transition, f"transitions.{case.operation.id}", what)
    assert transition is not None
    request = await into_conflict(case, transition)
    oracle = await Oracle.watching(case, request) if case.operation.id in case.profile.effects else None
    answer = await case.send(request, f"in the state {transition.fixture}")
    if answer.status == 404:
        case.warn("the state conflict was answered 404", answer, expected="409")
    elif answer.status != 409:
        raise case.violated("the state conflict was not answered 409", answer, expected="409")
    if oracle is not None and (happened := await oracle.happened()):
        what = f"the state conflict was answered {answer.summary} and yet took effect"
        raise case.violated(what, answer, expected="no effect", observed=str(happened))


@check("CONF-1", cases=declared_transitions)
async def a_state_conflict_is_answered_409(case: Case, transition: Transition | None) -> None:
    """An operation that the resource's state no longer allows is answered 409. Hosted sessions are HO-4's."""
    await expect_conflict(case, transition)
