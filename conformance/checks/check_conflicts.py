"""States: refusals (CONF-1, CONF-3), and transitions that lead to another state (CONF-4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import pairwise

from conformance.checks.support.case import Case
from conformance.checks.support.effects import Oracle, missing_effect
from conformance.checks.support.equal_calls import expect_another_call
from conformance.checks.support.fixture_states import states_in_path
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.transitions import (
    ALLOWED,
    CONFLICT,
    SETTLE_S,
    Place,
    States,
    declared_transitions,
    distinguishing_operation,
    expect_conflict,
    into_conflict,
    name_of,
    stated_lag_s,
    stated_otherwise,
)
from conformance.checks.support.unknown_ids import is_distinctive
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.profile.behavior import Transition
from conformance.profile.model import Profile
from conformance.profile.render import placeholders


@check("CONF-1", cases=declared_transitions)
async def a_state_conflict_is_answered_409(case: Case, transition: Transition | None) -> None:
    """An operation that the resource's state no longer allows is answered 409. Hosted sessions are HO-4's."""
    await expect_conflict(case, transition)


def _conflicting_bodies(profile: Profile, operation: Operation) -> Mapping[str, int]:
    facts = profile.operations.get(operation.id)
    return {f"body-{index + 1}": index for index in range(len(facts.conflicts if facts else ()))}


@check("CONF-1", on=("body api-key idempotent",), cases=_conflicting_bodies)
async def a_body_that_conflicts_is_answered_409(case: Case, index: int) -> None:
    """A valid body that the profile states as a conflict, such as one with an outdated version, is answered 409."""

    async def refuse(request: Request) -> Answer:
        body = await case.runtime.arranger.render_body(request, case.facts.conflicts[index])
        bad = request.with_body(body).with_fresh_key()
        return await case.refusal(bad, {409}, "a body that conflicts as stated", control=request)

    await case.share_control(refuse, "a body that conflicts as stated")


def _other_statuses(profile: Profile, operation: Operation) -> Mapping[str, Transition | None]:
    return {**stated_otherwise(profile, operation)} or {"": None}


@check("CONF-3", cases=_other_statuses)
async def a_state_conflict_has_the_stated_status(case: Case, transition: Transition | None) -> None:
    """An operation that the resource's state does not allow is answered with the status that the profile states."""
    case.require_case(transition, "the profile states no other status than 409")
    await expect_conflict(case, transition)


def _transition_cases(profile: Profile, operation: Operation) -> Mapping[str, Transition | None]:
    found = {name_of(t): t for t in profile.transitions if t.operation == operation.id and t.leads_to}
    return {**found} or {"": None}


@check("CONF-4", cases=_transition_cases)
async def an_allowed_transition_leads_to_the_stated_state(case: Case, transition: Transition | None) -> None:
    """An operation that the state allows is answered 200; then its effect shows, and the resource is in that state."""
    case.need(transition, f"transitions.{case.operation.id}.leads_to", "a state that allows the operation is needed")
    assert transition is not None
    await _expect_usual_state(case, transition)
    keeps_state = transition.leads_to == transition.fixture
    has_sign = case.operation.id in case.profile.effects and not keeps_state
    for change in (_with_least_body, _with_usual_body):  # whether each body suits each state is not stated
        request = await change(case, await into_conflict(case, transition))
        oracle = await Oracle.watch(case, request) if has_sign else None
        answer = await case.send_with_retry(request, f"in the state {transition.fixture}")
        if answer.status == 409:  # what led to that state may have the resource in use for a moment
            await asyncio.sleep(SETTLE_S)
            answer = await case.send_with_retry(request.with_fresh_key(), f"in the state {transition.fixture}, later")
        if answer.ok or not case.facts.bodies:
            break
    if not answer.ok:
        await case.control(await case.arrange())  # it may be refused everywhere by now: a plan has a quota
        message = f"{case.operation.id} was refused in the state {transition.fixture}, which allows it"
        raise case.violation(message, answer, expected="200")
    members = case.fixture_of(request, transition.fixture.partition(".")[0])
    if oracle is not None and not await oracle.effects_within():
        if not case.runtime.signs.has_moved(case.operation.id):  # such a sign says nothing, but the state may
            await _expect_state(case, transition, members, answer)
        raise missing_effect(case, "the allowed transition took no effect", answer, expected="an effect")
    await _expect_state(case, transition, members, answer)


async def _expect_usual_state(case: Case, transition: Transition) -> None:
    """Violated where the control itself was answered 409 in the state of the transition.

    The fixture must have been made in the run, and another operation that its state allows be answered 200 on it: one
    that is listed may be of an earlier run, and a plan may have a quota for all of them.
    """
    try:
        await case.runtime.controls.prove(case.operation)
    except Inconclusive as doubt:
        refused, fixture = doubt.answers[-1], case.runtime.fixtures.find(*transition.fixture.split(".", 1))
        members = refused.request.fixtures.members.get(transition.fixture)
        if refused.status != 409 or members is None or fixture is None or fixture.values or transition.after:
            raise
        states, place = States(case.profile.transitions), Place(transition.fixture)
        names = {t.operation for t in case.profile.transitions} - {case.operation.id}
        allowed = (name for name in sorted(names) if states.expected_outcome(place, name) == ALLOWED)
        await asyncio.sleep(max(SETTLE_S, stated_lag_s(case.profile, fixture.via)))
        later = await _call(case, case.operation.id, members)
        if later.status != 409 or not (witness := next(allowed, "")):
            raise
        known = await _call(case, witness, members)
        if not known.ok:
            raise
        message = f"{case.operation.id} was refused in the state {transition.fixture}, which allows it"
        raise case.violation(message, refused, later, known, expected="200", observed=later.summary) from doubt


async def _with_least_body(case: Case, request: Request) -> Request:
    """With the shortest valid body of the profile: the controls prove the usual one."""
    if not case.facts.bodies:
        return request
    shortest = min((case.facts.body, *case.facts.bodies), key=lambda body: len(str(body)))
    return request.with_body(await case.runtime.arranger.render_body(request, shortest))


async def _with_usual_body(_case: Case, request: Request) -> Request:
    return request


def _chains(profile: Profile, operation: Operation) -> Mapping[str, tuple[Transition, ...] | None]:
    """The longest sequences of stated transitions through different states that begin with the operation.

    One of two is of use where its second operation is another one than CONF-4's first check tries after the first.
    """
    edges = [t for t in profile.transitions if t.leads_to and not t.after and t.leads_to != t.fixture]

    def extend(chain: tuple[Transition, ...]) -> list[tuple[Transition, ...]]:
        seen = {chain[0].fixture, *(t.leads_to for t in chain)}
        further = [t for t in edges if t.fixture == chain[-1].leads_to and t.leads_to not in seen]
        longer = [found for t in further if len(chain) < _LONGEST_CHAIN for found in extend((*chain, t))]
        return longer or [chain]

    starts = [(t,) for t in edges if t.operation == operation.id]
    chains = [chain for start in starts for chain in extend(start) if len(chain) > 2]
    chains += [
        (start, last)
        for (start,) in starts
        for last in edges
        if last.fixture == start.leads_to and not any(chain[:2] == (start, last) for chain in chains)
        if last.leads_to != start.fixture and last.operation != distinguishing_operation(profile, start)
    ]
    return {"-".join((c[0].fixture, *(t.operation for t in c[1:]))): c for c in chains[:_MAX_CHAINS]} or {"": None}


_PAUSES_S = (0.3, 1.0, 0.0)
_LONGEST_CHAIN = 4
_MAX_CHAINS = 6


@check("CONF-4", on="idempotent path", cases=_chains)
async def a_sequence_of_allowed_transitions_is_allowed(case: Case, chain: tuple[Transition, ...] | None) -> None:
    """Each of several stated transitions, one after the other on one resource, is answered 200.

    Then an operation that the last state rules out is refused.
    """
    case.require_case(chain, "the profile states no further sequence of transitions that begins with the operation")
    assert chain is not None
    request = await into_conflict(case, chain[0])
    kind = _kind_of(case)
    members, first = case.fixture_of(request, kind), await case.control(request)
    for before, transition in pairwise(chain):
        await asyncio.sleep(stated_lag_s(case.profile, [before.operation]))
        for pause_s in _PAUSES_S:  # a copy that reads lag behind
            answer = await _call(case, transition.operation, members)
            if answer.ok:
                break
            await asyncio.sleep(pause_s)
        if answer.ok:
            expect_another_call(case, answer)
            continue
        fixture = case.runtime.fixtures.find(*transition.fixture.split(".", 1))
        assert fixture is not None
        known = await _call(case, transition.operation, await case.runtime.fixtures.get_fresh(fixture, {}))
        if not known.ok:
            raise Inconclusive(
                f"{transition.operation} is answered {known.summary} on {transition.fixture} itself", known
            )
        _expect_no_version(case, transition.operation, members, answer, known)
        calls = ", ".join(t.operation for t in chain[: chain.index(transition)])
        message = f"after {calls} the resource is {transition.fixture}, and {transition.operation} is refused"
        raise case.violation(message, first, known, answer, expected="200")
    if ruled_out := _ruled_out_operation(case.profile, chain[-1]):
        await asyncio.sleep(stated_lag_s(case.profile, [chain[-1].operation]))
        await _probe_state(case, chain, members, first, ruled_out)


async def _expect_state(case: Case, transition: Transition, members: Members, first: Answer) -> None:
    """Operations that tell the new state from the old one, and from others, are answered as in the stated state."""
    probe_name = distinguishing_operation(case.profile, transition) or _operation_of_state(case.profile, transition)
    # what is refused leaves the resource as it is, so it comes first
    names = [name for name in (_ruled_out_operation(case.profile, transition), probe_name) if name]
    if not names:
        case.note(f"no stated transition tells {transition.leads_to} from {transition.fixture}")
    for name in dict.fromkeys(names):
        await _probe_state(case, (transition,), members, first, name)


async def _probe_state(
    case: Case, calls: Sequence[Transition], members: Members, first: Answer, probe_name: str
) -> None:
    """Violated where the operation is not answered as in the state that the last of these calls leads to."""
    state = calls[-1].leads_to
    is_allowed = States(case.profile.transitions).expected_outcome(Place(state), probe_name) == ALLOWED
    answer = await _call(case, probe_name, members)
    is_behind = answer.ok and case.contract.operations[probe_name].is_read  # the copy that is read
    if answer.status == 409 if is_allowed else is_behind:
        await asyncio.sleep(max(SETTLE_S, stated_lag_s(case.profile, [call.operation for call in calls])))
        answer = await _call(case, probe_name, members)
    if answer.ok == is_allowed:
        return
    fixture = case.runtime.fixtures.find(*state.split(".", 1))
    assert fixture is not None
    known = await _call(case, probe_name, await case.runtime.fixtures.get_fresh(fixture, {}))
    if known.ok != is_allowed:  # CONF-1's question, or another allowed transition's
        raise Inconclusive(f"{probe_name} is answered {known.summary} on {state} itself", answer, known)
    if is_allowed:
        _expect_no_version(case, probe_name, members, answer, known)
    names = ", ".join(call.operation for call in calls)
    message = f"after {names} the resource is not in the state {state}: {probe_name} shows it"
    expected = "200" if is_allowed else "a refusal"
    raise case.violation(message, first, known, answer, expected=expected)


def _ruled_out_operation(profile: Profile, transition: Transition) -> str:
    """An operation that the new state refuses, and that most of the other states of the resource allow, if any does."""
    states, kind = States(profile.transitions), transition.fixture.partition(".")[0]
    stated = [t for t in profile.transitions if t.fixture.partition(".")[0] == kind]
    others = {t.fixture for t in stated} - {transition.fixture, transition.leads_to}
    allowing = {
        name: sum(states.expected_outcome(Place(other), name) == ALLOWED for other in others)
        for name in sorted({t.operation for t in stated})
        if states.expected_outcome(Place(transition.leads_to), name) == CONFLICT
    }
    return max(allowing, key=allowing.__getitem__, default="") if any(allowing.values()) else ""


def _operation_of_state(profile: Profile, transition: Transition) -> str:
    """For a transition that keeps the state: an operation that this state allows and another one refuses, if any."""
    kind = transition.fixture.partition(".")[0]
    states, place = States(profile.transitions), Place(transition.leads_to)
    if states.normalize(Place(transition.fixture, transition.after)) != place:
        return ""
    others = {t.fixture for t in profile.transitions if t.fixture.partition(".")[0] == kind} - {transition.leads_to}
    names = sorted({t.operation for t in profile.transitions if t.fixture.partition(".")[0] == kind})
    refused = (n for n in names if any(states.expected_outcome(Place(o), n) == CONFLICT for o in others))
    return next((n for n in refused if n != transition.operation and states.expected_outcome(place, n) == ALLOWED), "")


def _expect_no_version(case: Case, name: str, members: Members, *answers: Answer) -> None:
    """Inconclusive where the body names what an earlier call may have changed, such as the revision of a cart.

    It may be a number or a digest. A hosted session has a ticket in that place, which stays the same.
    """
    operation, kind = case.contract.operations[name], _kind_of(case)
    facts = case.runtime.arranger.facts(operation)
    in_path = {placeholder.rpartition(".")[2] for placeholder in placeholders(dict(facts.path))}
    for placeholder in sorted(placeholders(facts.body)) if facts.body is not None else ():
        member = placeholder.rpartition(".")[2]
        value = None if member in in_path else members.get(member)
        may_change = operation.auth == "api_key" or not is_distinctive(str(value))
        if placeholder.startswith(f"{kind}.") and value is not None and may_change:
            message = f"its body names {{{placeholder}}}, which an earlier call may have changed"
            raise Inconclusive(message, *answers, cause=placeholder)


async def _call(case: Case, name: str, members: Members, kind: str = "") -> Answer:
    """Another operation on the same resource. Hosted sessions are named by the same fixture in path and body."""
    operation = case.contract.operations[name]
    request = await case.arrange(operation, preset={kind or _kind_of(case): members}, prove_control=False)
    return await case.send_with_retry(request, f"{name} afterwards", request)


def _kind_of(case: Case) -> str:
    return next(t.fixture.partition(".")[0] for t in case.profile.transitions if t.operation == case.operation.id)


@check("CONF-4", on="api-key idempotent path")
async def what_was_read_allows_what_it_allowed_before(case: Case) -> None:
    """A read changes no state: what a resource allows is answered 200 afterwards, and what its state refuses is not."""
    request = await case.arrange()
    kinds = _kinds_in_path(case, case.operation)
    reads = [other for other in case.contract.select("api-key read path") if kinds & _kinds_in_path(case, other)]
    answers = []
    for read in reads:
        members = {kind: case.fixture_of(request, kind) for kind in kinds}
        look = await case.arrange(read, preset=members, prove_control=False)
        answers.append(await case.send_with_retry(look, "a read before the call"))
    case.require_case(any(answer.ok for answer in answers), "no operation reads such a resource in that state")
    await _expect_still_refused(case, request, answers)
    answer = await case.send_with_retry(request, "the call of what was read")
    if answer.status == 409:
        await asyncio.sleep(SETTLE_S)
        answer = await case.send_with_retry(request.with_fresh_key(), "the call of what was read, later")
    if not answer.ok:
        control = await case.control(await case.arrange(), "a call of what was not read")
        message = f"{case.operation.id} is refused after its resource was read"
        raise case.violation(message, control, *answers, answer, expected="200")


async def _expect_still_refused(case: Case, request: Request, answers: Sequence[Answer]) -> None:
    """Violated where an operation that the state of what was read refuses is answered 200.

    Without that read it must be refused. A read that the profile states as a transition may change the state.
    """
    states = States(case.profile.transitions)
    kinds = _kinds_in_path(case, case.operation)
    for place in map(Place, request.fixtures.members):
        kind, _, state = place.fixture.partition(".")
        stated = sorted({t.operation for t in case.profile.transitions if t.fixture.partition(".")[0] == kind})
        name = next((name for name in stated if states.expected_outcome(place, name) == CONFLICT), "")
        fixture = case.runtime.fixtures.find(kind, state)
        moves = [t for t in case.profile.transitions if t.fixture == place.fixture and t.leads_to != t.fixture]
        changes = {t.operation for t in moves if t.leads_to} & {answer.request.operation.id for answer in answers}
        if not name or fixture is None or kind not in kinds or changes:
            continue
        answer = await _call(case, name, case.fixture_of(request, kind), kind)
        if not answer.ok:
            continue
        known = await _call(case, name, await case.runtime.fixtures.get_fresh(fixture, {}), kind)
        if known.ok:
            raise Inconclusive(f"{name} is answered {known.summary} on {place.fixture} itself", known, cause="CONF-1")
        message = f"{name}, which {place.fixture} refuses, is answered {answer.summary} after the resource was read"
        raise case.violation(message, known, *answers, answer, expected="409")


def _kinds_in_path(case: Case, operation: Operation) -> set[str]:
    return {kind for kind, _ in states_in_path(case.profile, operation.id).values()}
