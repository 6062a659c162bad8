"""Concurrent calls, and calls without an answer: Endpoints, rule 2, and Errors, 409 (IDEM-7, IDEM-15, CONF-2)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.case_sampling import every_nth
from conformance.checks.support.context import control_failed
from conformance.checks.support.effects import Oracle
from conformance.checks.support.equal_calls import another_call
from conformance.checks.support.races import (
    ROUNDS,
    Duplicates,
    concurrent_calls,
    duplicates,
    expect_declared,
    expect_one_effect,
    expect_overlap,
    send_together,
    without_accidents,
)
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY, expect_same, repeat, replay
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.transitions import ALLOWED, CONFLICT, Place, States, into_conflict
from conformance.client.raw_socket import MOMENTS, Moment
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core.outcomes import Level
from conformance.profile.behavior import Transition
from conformance.profile.model import Profile

_LEASE_S: Final = 12.0
"""Seconds, plus twice the duration of a call, for which the key of a call whose connection was lost may be in use: what
carried it out may hold the key for a lease of ten."""
_ABANDONED_CALLS: Final = 3
_LONG_LEASE: Final = "a key outlived its lease"
"""In the memory of a run: no further key is waited for as long."""
_BURSTS = 4
"""At most this many bursts, until a duplicate is sent before the first answer."""
_NO_JSON: Final = b'{"unfinished": '
_LIMITED_PAUSE_S = 0.5
"""Seconds after a burst that got 429 only; the next request waits for the rate that the target accepts."""
_REPLAYS = 3
_MAX_ROUNDS = 12
_ROUNDS_OF_ENDS: Final = 2
_BURSTS_OF_ENDS: Final = 3
"""At most this many bursts in a round, until a call is carried out beside the one that rules it out."""
_CALLS_OF_A_ROUND = 3
"""The call, its duplicate and the read beside it."""
_HEAD_STARTS_S = (0.01, 0.0, 0.003)
"""Seconds between a call and its duplicate, in turn: a call in progress may be so for a few milliseconds only."""
_LATEST_S = 0.025
"""A duplicate that was sent later after its call proves nothing."""
_WAIT_S = 0.05
"""Seconds by which a duplicate that waits takes longer than a replay: more than requests differ by the network."""


@check(
    "IDEM-7", cases={str(number): number for number in range(1, ROUNDS + 1)}, rests_on=PLAIN_REPLAY, shares="duplicates"
)
async def duplicates_at_once_are_one_call(case: Case, number: int) -> None:
    """Concurrent equal calls have one effect and one 200; each is answered with it, or with 409 or 429."""
    burst = await duplicates(case, number)
    request, answers, final = burst.request, burst.answers, burst.final
    unexpected = [answer for answer in without_accidents(case, answers) if answer.status not in (200, 409, 429)]
    good = [answer for answer in answers if answer.ok]
    if unexpected or not final.ok:
        await case.control(await case.arrange())  # a refused control explains the refusals
        if not good and not final.ok:
            await _expect_not_ended(case, request)
    if unexpected:
        if 200 < (unexpected[0].status or 0) < 300:
            raise control_failed(unexpected[0])  # STA-2 judges which 2xx it is
        raise case.violation(
            "a concurrent duplicate got another status", final, unexpected[0], expected="200, 409 or 429"
        )
    if not final.ok:
        raise case.violation("the key did not settle on a 200", *answers[:2], final, expected="200")
    for answer in good:
        expect_same(case, answer, final)
    if burst.oracle is not None:
        await expect_one_effect(case, burst.oracle, request, "the one call of the duplicates", *good)
    conflict = next((answer for answer in answers if answer.status == 409), None)
    waits = case.profile.idempotency is not None and case.profile.idempotency.in_flight == "waits"
    if waits and good and conflict and await burst.is_second_call(case, conflict):
        message = "a duplicate was answered 409 as another call is, and idempotency.in_flight is 'waits'"
        raise case.violation(message, good[0], conflict, expected="200", level=Level.DECLARED)
    expect_overlap(case, answers)


async def _expect_not_ended(case: Case, request: Request) -> None:
    """Inconclusive where the call is refused under another key too: what it rests on may have ended before its turn."""
    answer = await case.send(request.with_fresh_key(), "the call, another key")
    if not answer.ok:
        raise Inconclusive(f"the call is answered {answer.summary} under another key as well", answer)


@check("IDEM-15", shares="duplicates")
async def a_duplicate_in_flight_is_treated_as_stated(case: Case) -> None:
    """A duplicate of a call in progress waits for the same answer, or is answered 409, as stated."""
    idempotency = case.profile.idempotency
    case.need(idempotency, "idempotency", "the key's carrier is needed")
    assert idempotency is not None
    case.need(idempotency.in_flight, "idempotency.in_flight", "the answer to a duplicate in flight is needed")
    for number in range(1, _BURSTS + 1):
        burst = await duplicates(case, number)
        request, answers, repeat = burst.request, burst.answers, burst.final
        good, conflicts = [a for a in answers if a.ok], [a for a in answers if a.status == 409]
        if not good and any(answer.status == 429 for answer in answers):
            await asyncio.sleep(_LIMITED_PAUSE_S)
            continue
        if not good or not repeat.ok:
            raise Inconclusive("the duplicates did not settle on a 200", *answers[:2], cause="IDEM-7")
        if idempotency.in_flight == "conflict":
            if conflicts:
                return None
            if number < ROUNDS:
                continue  # the duplicates may have missed a call that takes a few milliseconds
            return await _expect_no_wait(case, request)
        if conflicts:
            await _expect_no_second_call(case, burst, conflicts[0])
            message = "a duplicate in flight was answered 409, and idempotency.in_flight is 'waits'"
            raise case.violation(message, good[0], repeat, conflicts[0], expected="200")
        first_end = min(answer.at + answer.duration_s for answer in good)
        if [answer for answer in good if answer.at < first_end][1:]:
            return None
    if not good:
        raise Inconclusive("the duplicates were limited in each burst", *answers[:2], cause="rate limit")
    raise Inconclusive("no duplicate was sent before the first answer", *good[:2])


async def _expect_no_second_call(case: Case, burst: Duplicates, conflict: Answer) -> None:
    if await burst.is_second_call(case, conflict):
        raise Inconclusive("a duplicate is answered as another call is", conflict, cause="IDEM-7")


async def _expect_no_wait(case: Case, request: Request) -> None:
    """Violated where duplicates wait for the call in progress; inconclusive where none is seen to overlap it.

    One that waits takes longer than a replay alone, in several rounds in a row, while a read beside it is answered at
    once. A round shows nothing if the duplicate was sent late, or if the read was slow as well: then this machine or
    the target is busy with other work, and another round follows. A 409 in any round is what the profile states.
    """
    replay_s = max([(await case.send(request, "a replay alone")).duration_s for _ in range(_REPLAYS)])
    look = await case.arrange(case.contract.operations["getPublicRuntimeConfig"], prove_control=False)
    rounds = 0
    for turn in range(_MAX_ROUNDS):
        call = await case.arrange()
        async with case.runtime.sender.reserve_starts(_CALLS_OF_A_ROUND):
            sent = asyncio.create_task(send_together(case, [call], "a call"))
            await asyncio.sleep(_HEAD_STARTS_S[turn % len(_HEAD_STARTS_S)])
            duplicate, read = await send_together(case, [call, look], "a duplicate, and a read beside it")
            (first,) = await sent
        if {first.status, duplicate.status} == {200, 409}:
            return
        if 429 in {first.status, duplicate.status, read.status}:
            await asyncio.sleep(_LIMITED_PAUSE_S)
            continue
        if not (first.ok and duplicate.ok and read.ok):
            raise Inconclusive("a call, its duplicate or a read beside it was refused", first, duplicate, read)
        is_late = duplicate.duration_s > replay_s + _WAIT_S
        is_read_late = read.duration_s >= duplicate.duration_s / 2
        is_sent_late = duplicate.at > first.at + _LATEST_S
        if is_sent_late or (is_late and is_read_late):
            continue
        rounds = rounds + 1 if is_late else 0
        if rounds == _REPLAYS:
            message = "duplicates in flight wait for the call in progress, and idempotency.in_flight is 'conflict'"
            raise case.violation(message, first, duplicate, expected="409")
    raise Inconclusive("no duplicate was seen to overlap the call in progress", first, duplicate, read)


@check("IDEM-7")
async def a_failed_attempt_does_not_keep_the_key_in_use(case: Case) -> None:
    """The same invalid call with the same key is refused again, and not as one that is still in progress."""
    request = await case.arrange()
    bad = request.with_raw_body(_NO_JSON)
    first = await case.send(bad, "an invalid call")
    repeat = await replay(case, bad, "the same invalid call")
    if first.is_refused and first.status != 409 and repeat.status == 409:
        raise case.violation("a failed call keeps its key in use", first, repeat, expected=first.summary)
    await case.control(request.with_fresh_key())


def _moments(profile: Profile, operation: Operation) -> Mapping[str, Moment]:
    """The end of the request, and one of the other moments on every second operation."""
    others: list[Moment] = [moment for moment in MOMENTS if moment != "after-last-byte"]
    return {moment: moment for moment in ("after-last-byte", *every_nth(others, profile, operation))}


async def _abandon(case: Case, request: Request, moment: Moment) -> bool:
    """Whether a call was sent and abandoned at `moment`. One that fails is repeated: accidents are not evidence."""
    for _ in range(_ABANDONED_CALLS):
        if await case.runtime.sender.abandon(request, moment):
            return True
    return False


async def _invalid_call_uses_key_up(case: Case, refusal: Answer) -> bool:
    """Whether a good call under the key of a whole body that is not JSON is refused as `refusal` was."""
    request = await case.arrange()
    await case.send(request.with_raw_body(_NO_JSON), "an invalid call")
    return (await repeat(case, request, "a good call under its key")).status == refusal.status


@check("IDEM-7", cases=_moments, rests_on=PLAIN_REPLAY)
async def a_call_left_unanswered_can_be_repeated(case: Case, moment: Moment) -> None:
    """After a lost connection a call is repeated with its key: it settles on a 200, with one effect."""
    request = await case.arrange()
    oracle = await Oracle.watch_if_visible(case, request)
    if not await _abandon(case, request, moment):
        raise Inconclusive(f"no connection got as far as {moment}", cause="no answer")
    lease_s = 0.0 if case.runtime.memory.get(_LONG_LEASE) else _LEASE_S
    answer = await repeat(case, request, f"after the connection was closed {moment}", lease_s=lease_s)
    if not answer.ok:
        case.runtime.memory[_LONG_LEASE] = answer.status == 409
        await case.control(await case.arrange())
        if moment == "mid-body":
            is_used_up = await _invalid_call_uses_key_up(case, answer)
            case.require_case(not is_used_up, "an invalid body uses its key up, and the half of one may be such a body")
        raise case.violation(f"a call abandoned {moment} cannot be repeated", answer, expected="200")
    expect_same(case, answer, await replay(case, request))
    if oracle is not None:
        await expect_one_effect(case, oracle, request, f"a call abandoned {moment}", answer)


def _single_winners(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, int]]:
    """The fixtures on which only one of several concurrent calls may win, repeated for every round, with its number."""
    found = [t.fixture for t in profile.transitions if t.operation == operation.id and t.single_winner]
    rounds = range(1, ROUNDS + 1)
    return {f"{fixture}-{number}": (fixture, number) for fixture in found for number in rounds} or {"": ("", 0)}


@check("CONF-2", cases=_single_winners)
async def one_of_several_at_once_wins(case: Case, single_winner: tuple[str, int]) -> None:
    """Concurrent calls, each with its own key, for a transition that only one may make: at most one 200.

    In the last round they are of two credentials of the installation, where it has two: a lock may be one of a caller.
    """
    fixture, number = single_winner
    is_excluded = any(t.operation == case.operation.id and t.single_winner is False for t in case.profile.transitions)
    case.require_applicable(fixture or not is_excluded, "the profile says that several concurrent calls may succeed")
    message = (
        "a transition that only one of several may win is needed, or single_winner = false in one that several may, or "
        'none = "..." for the operation'
    )
    case.need(fixture, f"transitions.{case.operation.id}.single_winner", message)
    request = await into_conflict(case, Transition(case.operation.id, fixture))
    callers = _callers(case, request) if number == ROUNDS else [request]
    rivals = [await another_call(case, callers[turn % len(callers)]) for turn in range(concurrent_calls(case))]
    answers = await send_together(case, rivals, "concurrent rival")
    winners = [answer for answer in answers if answer.ok]
    if len(winners) > 1:
        await _only_at_once(case, fixture, case.operation.id)
        raise case.violation("several concurrent rivals were answered 200", *winners, expected="at most one 200")
    await expect_declared(case, answers)
    if not winners and not (await case.send(request.with_fresh_key(), "after the rivals")).ok:
        raise Inconclusive("none of the rivals succeeded, nor the call after them", *answers[:2])
    expect_overlap(case, answers)


def _callers(case: Case, request: Request) -> list[Request]:
    """The request, and the same one of another credential of its installation that has the scope, if there is one."""
    spare = case.profile.rate_limit.credential
    others = [
        credential.name
        for credential in case.runtime.arranger.credentials(scope=case.operation.scope or "")
        if credential.name not in (request.credential, spare)
    ]
    return [request, *(case.as_credential(request, name) for name in others[:1] if request.credential)]


async def _only_at_once(case: Case, fixture: str, *names: str) -> None:
    """Inconclusive where two winners also succeed in sequence: that is CONF-1's question, and no race."""
    kind, _, state = fixture.partition(".")
    for first, second in product(sorted(set(names)), repeat=2):
        first_request = await case.arrange(case.contract.operations[first], use={kind: state}, prove_control=False)
        members = case.fixture_of(first_request, kind)
        second_request = await case.arrange(
            case.contract.operations[second], preset={kind: members}, prove_control=False
        )
        if (await case.send(first_request, f"{first}, alone")).ok:
            answer = await case.send(second_request, f"{second} after {first}")
            if answer.ok and (first == second or _is_conflict(case, fixture, first, second)):
                raise Inconclusive(f"{second} succeeds after {first} without any race", answer, cause="transitions")


def _is_conflict(case: Case, fixture: str, first: str, second: str) -> bool:
    return States(case.profile.transitions).expected_outcome(Place(fixture, (first,)), second) == CONFLICT


def _pairs(profile: Profile, operation: Operation, outcome: str) -> list[tuple[str, str]]:
    """(fixture, other operation) such that the operation conflicts after the other one, with that outcome otherwise."""
    states = States(profile.transitions)
    return [
        (transition.fixture, other)
        for transition in profile.transitions
        if transition.operation == operation.id
        and len(transition.after) == 1
        and (other := transition.after[0]) != operation.id
        if not transition.leads_to
        and states.expected_outcome(Place(transition.fixture, (operation.id,)), other) == outcome
    ]


def _rounds_of(pairs: Sequence[tuple[str, str]], rounds: int) -> Mapping[str, tuple[str, str]]:
    """Each pair as a case, repeated for every round."""
    return {
        f"{fixture}-{other}-{number}": (fixture, other) for fixture, other in pairs for number in range(1, rounds + 1)
    } or {"": ("", "")}


def _exclusions(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, str]]:
    """Operations that exclude each other by the profile."""
    return _rounds_of(_pairs(profile, operation, CONFLICT), ROUNDS)


@check("CONF-2", cases=_exclusions)
async def one_of_two_that_rule_each_other_out_wins(case: Case, pair: tuple[str, str]) -> None:
    """Concurrent different operations on one resource: by the profile's states, some order explains their answers."""
    fixture, other = pair
    has_transitions = any(transition.operation == case.operation.id for transition in case.profile.transitions)
    message = "two operations that conflict with each other, in either order, are needed"
    case.need(fixture or has_transitions, f"transitions.{case.operation.id}", message)
    case.require_applicable(fixture, "the profile's transitions of this operation rule no other operation out")
    request = await into_conflict(case, Transition(case.operation.id, fixture))
    kind = fixture.partition(".")[0]
    rival = await case.arrange(case.contract.operations[other], preset={kind: case.fixture_of(request, kind)})
    number = max(4, concurrent_calls(case) // 2)
    calls = [(rival, request)[turn % 2].with_fresh_key() for turn in range(number)]
    answers = await send_together(case, calls, "concurrent rival")
    history = [(answer.request.operation.id, answer.ok) for answer in answers]
    if not States(case.profile.transitions).explains(fixture, history):
        winners = [answer for answer in answers if answer.ok]
        await _only_at_once(case, fixture, case.operation.id, other)
        raise case.violation("no order of the rivals explains their answers", *winners, expected="409 for all but one")
    await expect_declared(case, answers)
    expect_overlap(case, answers)


def _ends(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, str]]:
    """Operations that end what this one may do, and that are allowed after it."""
    return _rounds_of(_pairs(profile, operation, ALLOWED), _ROUNDS_OF_ENDS)


@check("CONF-2", cases=_ends)
async def what_ends_a_state_ends_it_for_calls_at_that_time(case: Case, pair: tuple[str, str]) -> None:
    """Where another operation has led to a conflict, calls at its time do not lift it: one after them all is refused.

    A call that was carried out before is answered 200 as well: what is judged is the state that remains.
    """
    fixture, other = pair
    case.require_case(fixture, "no other operation is allowed after this one and rules it out")
    for _ in range(_BURSTS_OF_ENDS):
        request, answers = await _send_beside(case, fixture, other)
        if any(answer.ok and answer.request.operation == case.operation for answer in answers):
            break  # otherwise the other operation came first, and no call could have lifted the conflict
    names = [answer.request.operation.id for answer in answers if answer.ok]
    is_known = all(answer.ok or answer.is_refused or answer.status == 429 for answer in answers)
    case.require_case(
        other in names and is_known, f"{other} was not carried out beside the others, or all are not known"
    )
    expected = States(case.profile.transitions).outcomes_after(fixture, names, case.operation.id)
    case.require_case(expected == {CONFLICT}, "some order of the calls leaves a state that allows another one")
    final = await case.send(request.with_fresh_key(), f"after {other} and what was sent beside it")
    if final.ok:
        await _expect_conflict_alone(case, fixture, other)
        message = f"{case.operation.id} is possible after {other}, beside which it was sent"
        raise case.violation(message, *answers, final, expected="a refusal")
    expect_overlap(case, answers)


async def _send_beside(case: Case, fixture: str, other: str) -> tuple[Request, list[Answer]]:
    """A call in the state of the fixture, and the answers to it, to the other operation and to it again, at once."""
    request = await into_conflict(case, Transition(case.operation.id, fixture))
    kind = fixture.partition(".")[0]
    rival = await case.arrange(case.contract.operations[other], preset={kind: case.fixture_of(request, kind)})
    calls = [call.with_fresh_key() for call in (request, rival, request)]
    return request, await send_together(case, calls, "concurrent rival")


async def _expect_conflict_alone(case: Case, fixture: str, other: str) -> None:
    """Inconclusive where the operation succeeds after the other one in sequence, too: that is CONF-1's question."""
    kind, _, state = fixture.partition(".")
    first = await case.arrange(case.contract.operations[other], use={kind: state}, prove_control=False)
    second = await case.arrange(preset={kind: case.fixture_of(first, kind)}, prove_control=False)
    await case.control(first, f"{other}, alone")
    answer = await case.send(second, f"{case.operation.id} after {other}")
    if answer.ok:
        message = f"{case.operation.id} succeeds after {other} without any race"
        raise Inconclusive(message, answer, cause="transitions")
