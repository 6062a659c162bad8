"""What a profile's transitions say of a resource's states: pure functions over what happened to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.effects import Oracle, shown
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.contract import Operation
from conformance.profile.model import Profile, Transition

ALLOWED: Final = "allowed"
CONFLICT: Final = "conflict"
UNKNOWN: Final = ""


@dataclass(frozen=True)
class Place:
    """Where a resource is: the state of the fixture that it was, and what succeeded on it since."""

    fixture: str
    """`kind.state`"""
    after: tuple[str, ...] = ()

    def then(self, operation: str) -> Place:
        return Place(self.fixture, (*self.after, operation))


class States:
    """The automaton that the transitions describe, as far as they do."""

    def __init__(self, transitions: Iterable[Transition]) -> None:
        told = list(transitions)
        self._edges = {(t.operation, Place(t.fixture, t.after)): Place(t.leads_to) for t in told if t.leads_to}
        self._conflicts = {(t.operation, self.settled(Place(t.fixture, t.after))) for t in told if not t.leads_to}
        self._passable = {
            (t.after[index], self.settled(Place(t.fixture, t.after[:index])))
            for t in told
            for index in range(len(t.after))
        }

    def settled(self, place: Place) -> Place:
        """The same place by its shortest name: what is known to lead to a state is that state."""
        found = Place(place.fixture)
        for operation in place.after:
            found = self._edges.get((operation, found), found.then(operation))
        return found

    def expected(self, place: Place, operation: str) -> str:
        """ALLOWED, CONFLICT, or UNKNOWN where the profile does not tell."""
        here = self.settled(place)
        if (operation, here) in self._conflicts:
            return CONFLICT
        return ALLOWED if (operation, here) in self._edges or (operation, here) in self._passable else UNKNOWN

    def explains(self, fixture: str, calls: Sequence[tuple[str, bool]]) -> bool:
        """Whether calls that were made at once, (operation, answered 200), could have come one after the other.

        They could if there is an order in which none was answered 200 where the profile tells of a conflict.
        """
        return self._possible(Place(fixture), Counter(operation for operation, ok in calls if ok))

    def _possible(self, place: Place, left: Counter[str]) -> bool:
        return not left or any(
            self.expected(place, operation) != CONFLICT
            and self._possible(place.then(operation), left - Counter([operation]))
            for operation in left
        )


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
