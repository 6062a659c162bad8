"""The states of a resource by the profile's transitions: pure functions over its history."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from conformance.checks.support.case import Case
from conformance.checks.support.effects import Oracle, control_with_effect
from conformance.checks.support.equal_calls import another_call, expect_another_call
from conformance.checks.support.signals import Inconclusive
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core.errors import FixtureError
from conformance.core.messages import plural
from conformance.core.outcomes import Level
from conformance.profile.behavior import Transition
from conformance.profile.model import Profile
from conformance.profile.render import placeholders
from conformance.profile.resources import foreign_states

SETTLE_S: Final = 1.5
"""Seconds for which a resource may be in use after a call on it, and others on it be answered 409."""
LATER_S: Final = 1.6
"""Seconds after which what was refused is tried again: a state, and a used ticket, do not pass by themselves."""
ALLOWED: Final = "allowed"
CONFLICT: Final = "conflict"
UNKNOWN: Final = ""
_SAME_WITH_ANY_BODY: Final = frozenset({"quotePublicCart", "checkoutPublicCart", "revokePublicCart"})
"""What they ask for does not depend on their body."""


@dataclass(frozen=True)
class Place:
    """The state of a resource: its fixture state and the operations that succeeded since."""

    fixture: str
    """`kind.state`"""
    after: tuple[str, ...] = ()

    def extend(self, operation: str) -> Place:
        return Place(self.fixture, (*self.after, operation))


class States:
    """The state machine that the transitions describe."""

    def __init__(self, transitions: Iterable[Transition]) -> None:
        transition_list = list(transitions)
        self._edges = {
            (t.operation, Place(t.fixture, t.after)): Place(t.leads_to) for t in transition_list if t.leads_to
        }
        self._conflicts = {
            (t.operation, self.normalize(Place(t.fixture, t.after))) for t in transition_list if not t.leads_to
        }
        self._passable = {
            (t.after[index], self.normalize(Place(t.fixture, t.after[:index])))
            for t in transition_list
            for index in range(len(t.after))
        }

    def names(self, operation: str) -> bool:
        """Whether an operation leads from some state to a stated one, or comes before another one."""
        return any(operation == name for name, _ in (*self._edges, *self._passable))

    def normalize(self, place: Place) -> Place:
        """The place in its shortest form, by transitions that name the resulting state."""
        found = Place(place.fixture)
        for operation in place.after:
            found = self._edges.get((operation, found), found.extend(operation))
        return found

    def expected_outcome(self, place: Place, operation: str) -> str:
        """ALLOWED, CONFLICT, or UNKNOWN where the profile does not state it."""
        normalized = self.normalize(place)
        if (operation, normalized) in self._conflicts:
            return CONFLICT
        return (
            ALLOWED if (operation, normalized) in self._edges or (operation, normalized) in self._passable else UNKNOWN
        )

    def explains(self, fixture: str, calls: Sequence[tuple[str, bool]]) -> bool:
        """Whether concurrent calls, (operation, answered 200), are possible in some order.

        They are if in some order none is answered 200 where the profile states a conflict.
        """
        return self._possible(Place(fixture), Counter(operation for operation, ok in calls if ok))

    def outcomes_after(self, fixture: str, operations: Sequence[str], operation: str) -> frozenset[str]:
        """What is expected of an operation after these, which were all answered 200, in each order that is possible."""
        return frozenset(self._outcomes(Place(fixture), Counter(operations), operation))

    def _outcomes(self, place: Place, remaining: Counter[str], operation: str) -> Iterator[str]:
        if not remaining:
            yield self.expected_outcome(place, operation)
        for name in remaining:
            if self.expected_outcome(place, name) != CONFLICT:
                yield from self._outcomes(place.extend(name), remaining - Counter([name]), operation)

    def _possible(self, place: Place, remaining: Counter[str]) -> bool:
        return not remaining or any(
            self.expected_outcome(place, operation) != CONFLICT
            and self._possible(place.extend(operation), remaining - Counter([operation]))
            for operation in remaining
        )


def declared_transitions(profile: Profile, operation: Operation) -> Mapping[str, Transition | None]:
    found = [t for t in profile.transitions if t.operation == operation.id and not t.leads_to and t.status == 409]
    no_transition = {"": None} if operation.idempotent else {}  # transitions of reads are rare, and no gap
    return {name_of(t): t for t in found} or no_transition


def name_of(transition: Transition) -> str:
    """The name of the case of a transition."""
    return "-".join((transition.fixture, *(f"after-{name}" for name in transition.after)))


def stated_otherwise(profile: Profile, operation: Operation) -> dict[str, Transition]:
    """The conflicts of an operation whose status is stated, and is not 409."""
    found = [t for t in profile.transitions if t.operation == operation.id and not t.leads_to and t.status != 409]
    return {name_of(t): t for t in found}


def is_allowed_in_each_state(profile: Profile, operation: Operation) -> bool:
    """Whether the transitions allow an operation in each state that the profile names of what it is called on."""
    states = States(profile.transitions)
    kinds = {t.fixture.partition(".")[0] for t in profile.transitions if t.operation == operation.id}
    places = {place for t in profile.transitions for place in (t.fixture, t.leads_to) if place}
    for kind in kinds:
        fixtures = profile.fixtures.get(kind, {})
        places |= {f"{kind}.{state}" for state in fixtures.keys() - foreign_states(fixtures)}
    stated = [Place(place) for place in places if place.partition(".")[0] in kinds]
    return bool(stated) and all(states.expected_outcome(place, operation.id) == ALLOWED for place in stated)


async def send_settled(case: Case, request: Request, purpose: str) -> Answer:
    """The answer to a call under a fresh key; to another one later where the resource may be in use for a moment."""
    answer = await case.send(request.with_fresh_key(), purpose)
    if answer.status != 409:
        return answer
    await asyncio.sleep(SETTLE_S)
    return await case.send(request.with_fresh_key(), f"{purpose}, some time later")


def stated_lag_s(profile: Profile, names: Iterable[str]) -> float:
    """Seconds after which the effects of these operations show, by the profile; 0 where it states none."""
    return max((sign.within_s or 0.0 for name in names for sign in profile.effects.get(name, ())), default=0.0)


def distinguishing_operation(profile: Profile, transition: Transition) -> str:
    """An operation that one of the two states of a transition allows and the other refuses; empty without one.

    Of several, another one than the transition's own.
    """
    states, kind = States(profile.transitions), transition.fixture.partition(".")[0]
    before, after = Place(transition.fixture, transition.after), Place(transition.leads_to)
    names = {t.operation for t in profile.transitions if t.fixture.partition(".")[0] == kind}
    for name in sorted(names, key=lambda name: (name == transition.operation, name)):
        outcomes = states.expected_outcome(before, name), states.expected_outcome(after, name)
        if UNKNOWN not in outcomes and outcomes[0] != outcomes[1]:
            return name
    return ""


class WayOut(NamedTuple):
    """A state in which the operation conflicts, and an operation after which it is allowed."""

    transition: Transition
    change: str


def find_ways_out(profile: Profile, operation: Operation) -> Iterator[WayOut]:
    states = States(profile.transitions)
    for transition in declared_transitions(profile, operation).values():
        if transition is None:
            continue
        place = Place(transition.fixture, transition.after)
        for change in dict.fromkeys(t.operation for t in profile.transitions):
            if (
                states.expected_outcome(place, change) == ALLOWED
                and states.expected_outcome(place.extend(change), operation.id) == ALLOWED
            ):
                yield WayOut(transition, change)


async def into_conflict(case: Case, transition: Transition) -> Request:
    """A valid request on a resource that the transition has brought into a conflicting state."""
    kind, _, state = transition.fixture.partition(".")
    request = await case.arrange(use={kind: state})
    members: Members = case.fixture_of(request, kind)
    moves = any(t.leads_to not in ("", t.fixture) for t in case.profile.transitions if t.operation == case.operation.id)
    if case.operation.is_read and transition.after and not moves:
        await case.send(request, "before the change")  # what a cache may keep
    for name in transition.after:
        operation = case.contract.operations[name]
        call = await case.arrange(operation, preset={kind: members})
        expect_another_call(case, await control_with_effect(case, call, f"{name} before"))
    return request


async def expect_conflict(case: Case, transition: Transition | None) -> None:
    """Expects the stated status in a conflicting state.

    Instead of 409, 404 is a warning: it may count as gone for this operation, though a read finds it.
    """
    is_judged = transition is None and bool(stated_otherwise(case.profile, case.operation))
    case.require_case(not is_judged, "the profile states another status of each refusal, which CONF-3 judges")
    is_free = transition is None and is_allowed_in_each_state(case.profile, case.operation)
    case.require_applicable(not is_free, "the profile's transitions allow the operation in each state that it names")
    description = "a state in which the operation conflicts is needed"
    case.need(transition, f"transitions.{case.operation.id}", description)
    assert transition is not None
    request = await another_call(case, await into_conflict(case, transition))
    if case.operation.is_read:  # of several copies, the last one shows the change by then
        await asyncio.sleep(stated_lag_s(case.profile, transition.after))
    oracle = await Oracle.watch_if_visible(case, request)
    answer = await case.send(request, f"in the state {transition.fixture}")
    is_read_too_soon = case.operation.is_read and answer.ok  # of a copy that is behind
    if answer.status == 409 != transition.status or is_read_too_soon:
        await asyncio.sleep(SETTLE_S)
        answer = await case.send(request.with_fresh_key(), f"in the state {transition.fixture}, some time later")
    expected = str(transition.status)
    if answer.status == 404 and transition.status == 409:
        case.warn("the state conflict was answered 404", answer, expected=expected)
    elif answer.status != transition.status:
        raise case.violation(f"the state conflict was not answered {expected}", answer, expected=expected)
    await _expect_lasting_conflict(case, request, transition, answer)
    if oracle is not None and (effects := await oracle.count_visible_effects()):
        description = f"the state conflict was answered {answer.summary} and yet took effect"
        raise case.violation(description, answer, expected="no effect", observed=plural(effects, "effect"))


async def _expect_lasting_conflict(case: Case, request: Request, transition: Transition, first: Answer) -> None:
    """Violated where another attempt succeeds, with another valid body where that does not say what is asked for.

    In one case of each operation it comes some time later: a state may be known for a moment only, as by a cache. A
    resource that ends by its age is refused then as well.
    """
    if request.key is not None:  # without one, an equal call may be taken for a retry of an earlier one
        same = await case.send(request, f"the same call again in the state {transition.fixture}")
        if same.ok:
            message = "a conflict with the state was lifted by a repeat under the same key"
            raise case.violation(message, first, same, expected=str(transition.status))
        is_bound = case.operation.auth == "api_key"  # a ticket, or a proof, may end with any call that presents it
        if is_bound and (first.status, same.status) == (409, 400):
            message = "a repeat of the call under the same key was answered 400: the call matches the contract"
            raise case.violation(message, first, same, expected="409")
    if _is_tried_later(case, transition):
        await asyncio.sleep(max(0.0, first.at + LATER_S - case.runtime.sender.elapsed_s))
    repeat = await another_call(case, request)
    if case.facts.bodies and case.operation.id in _SAME_WITH_ANY_BODY and repeat.body == request.body:
        repeat = repeat.with_body(await case.runtime.arranger.render_body(request, case.facts.bodies[0]))
    second = await case.send(repeat, f"another attempt in the state {transition.fixture}")
    if second.ok:
        message = "a conflict with the state was lifted by another attempt"
        raise case.violation(message, first, second, expected=str(transition.status))
    read = None if transition.after else await _read_resource(case, request, transition)
    if read is not None:
        third = await case.send(repeat.with_fresh_key(), f"an attempt after a read in the state {transition.fixture}")
        if third.ok:
            message = "a conflict with the state was lifted by a read, which changes no state (RFC 9110, section 9.2.1)"
            expected = str(transition.status)
            raise case.violation(message, second, read, third, expected=expected, level=Level.RECOMMENDED)


async def _read_resource(case: Case, request: Request, transition: Transition) -> Answer | None:
    """The answer to a read of the resource by an operation that leads to no other state; None without one."""
    kind = transition.fixture.partition(".")[0]
    movers = {t.operation for t in case.profile.transitions if t.leads_to}
    for operation in case.contract.all:
        facts = case.profile.operations.get(operation.id)
        is_read = operation.is_read and operation.id not in movers
        if is_read and facts and kind in {name.partition(".")[0] for name in placeholders(dict(facts.path))}:
            with contextlib.suppress(MissingFact, FixtureError, Inconclusive):
                read = await case.arrange(operation, preset={kind: case.fixture_of(request, kind)}, prove_control=False)
                return await case.send(read, "the resource is read")
    return None


def _is_tried_later(case: Case, transition: Transition) -> bool:
    """Whether it is the last of the operation's conflicts with a state that a call has led to.

    What a fixture is in, such as a payment under way, may pass by itself.
    """
    conflicts = [t for t in case.profile.transitions if t.operation == case.operation.id and not t.leads_to and t.after]
    return conflicts[-1:] == [transition] and case.profile.limits.depth != "quick"
