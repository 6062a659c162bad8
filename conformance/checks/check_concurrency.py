"""Several at once, and calls left unanswered: Endpoints, rule 2, and Errors, 409 (IDEM-7, CONF-2)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.effects import Oracle
from conformance.checks.support.races import AT_ONCE, ROUNDS, expect_declared, together
from conformance.checks.support.registry import check
from conformance.checks.support.replays import expect_same, replay
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.transitions import CONFLICT, Place, States, into_conflict
from conformance.client.raw_socket import MOMENTS, Moment
from conformance.client.request import Request
from conformance.contract import Operation
from conformance.profile.model import Profile, Transition


async def _watch(case: Case, request: Request) -> Oracle | None:
    return await Oracle.watching(case, request) if case.operation.id in case.profile.effects else None


@check("IDEM-7", cases={str(number): number for number in range(1, ROUNDS + 1)})
async def duplicates_at_once_are_one_call(case: Case, number: int) -> None:
    """Equal calls at once are each answered the same 200, 409 or 429; the key settles on the 200; one effect."""
    request = await case.arrange()
    oracle = await _watch(case, request)
    answers = await together(case, [request] * AT_ONCE, "duplicate at once")
    broken = [answer for answer in answers if answer.status not in (200, 409, 429)]
    good = [answer for answer in answers if answer.ok]
    settled = await replay(case, request, "after the duplicates")
    if broken or not settled.ok:
        await case.control(await case.arrange())  # one that is refused too has another reason: there are enough of them
    if broken:
        if 200 < (broken[0].status or 0) < 300:
            raise control_failed(broken[0])  # which success it is, is STA-2's question
        raise case.violated(
            "a duplicate at once was answered otherwise", settled, broken[0], expected="200, 409 or 429"
        )
    if not settled.ok:
        raise case.violated("the key did not settle on a 200", *answers[:2], settled, expected="200")
    for answer in good:
        expect_same(case, answer, settled)
    if oracle is not None and oracle.counts:
        await oracle.happened_once(case, "the one call of the duplicates", *good)


@check("IDEM-7")
async def a_failed_attempt_does_not_keep_the_key_in_use(case: Case) -> None:
    """The same bad call again, with its key, is refused again: not as one that is still under way."""
    request = await case.arrange()
    bad = request.with_raw_body(b'{"unfinished": ')
    first = await case.send(bad, "a bad call")
    again = await replay(case, bad, "the same bad call")
    if first.refused and first.status != 409 and again.status == 409:
        raise case.violated("a failed call keeps its key in use", first, again, expected=first.summary)
    await case.control(request.with_fresh_key())


@check("IDEM-7", cases={moment: moment for moment in MOMENTS})
async def a_call_left_unanswered_can_be_repeated(case: Case, moment: Moment) -> None:
    """After its connection was lost a call is sent again with its key: it settles on a 200, and there is one effect."""
    request = await case.arrange()
    oracle = await _watch(case, request)
    await case.runtime.flow.abandon(request, moment)
    answer = await replay(case, request, f"after it was left {moment}")
    if not answer.ok:
        await case.control(await case.arrange())
        raise case.violated(f"a call left {moment} cannot be repeated", answer, expected="200")
    expect_same(case, answer, await replay(case, request))
    if oracle is not None and oracle.counts:
        await oracle.happened_once(case, f"a call left {moment}", answer)


def _single_winners(profile: Profile, operation: Operation) -> Mapping[str, str]:
    """The fixtures on which only one of several equal calls may win, each so often."""
    found = [t.fixture for t in profile.transitions if t.operation == operation.id and t.single_winner]
    return {f"{fixture}-{number}": fixture for fixture in found for number in range(1, ROUNDS + 1)} or {"": ""}


@check("CONF-2", cases=_single_winners)
async def one_of_several_at_once_wins(case: Case, fixture: str) -> None:
    """Several calls at once, each with a key of its own, for a transition that only one may make: at most one 200."""
    stated = any(t.operation == case.operation.id and t.single_winner is False for t in case.profile.transitions)
    case.exists(fixture or not stated, "the profile says that several calls at once may succeed")
    what = "a transition that only one of several may win is needed"
    case.need(fixture, f"transitions.{case.operation.id}.single_winner", what)
    request = await into_conflict(case, Transition(case.operation.id, fixture))
    answers = await together(case, [request.with_fresh_key() for _ in range(AT_ONCE)], "rival at once")
    winners = [answer for answer in answers if answer.ok]
    if len(winners) > 1:
        await _only_at_once(case, fixture, case.operation.id)
        raise case.violated("several rivals at once were answered 200", *winners, expected="at most one 200")
    expect_declared(case, answers)
    if not winners and not (await case.send(request.with_fresh_key(), "after the rivals")).ok:
        raise Inconclusive("none of the rivals won, nor the one that came after them", *answers[:2])


async def _only_at_once(case: Case, fixture: str, *names: str) -> None:
    """Inconclusive where two that won succeed one after the other, too: that is CONF-1's question, and no race."""
    kind, _, state = fixture.partition(".")
    for first, second in product(sorted(set(names)), repeat=2):
        before = await case.arrange(case.contract.operations[first], use={kind: state}, proven=False)
        members = case.fixture_of(before, kind)
        after = await case.arrange(case.contract.operations[second], given={kind: members}, proven=False)
        if (await case.send(before, f"{first}, alone")).ok:
            answer = await case.send(after, f"{second} after {first}")
            if answer.ok and (first == second or _excluded(case, fixture, first, second)):
                raise Inconclusive(f"{second} succeeds after {first} without any race", answer, cause="transitions")


def _excluded(case: Case, fixture: str, first: str, second: str) -> bool:
    return States(case.profile.transitions).expected(Place(fixture, (first,)), second) == CONFLICT


def _exclusions(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, str]]:
    """Where the profile tells that two operations rule each other out: (fixture, the other one), each so often."""
    states = States(profile.transitions)
    found = [
        (told.fixture, other)
        for told in profile.transitions
        if told.operation == operation.id and len(told.after) == 1 and (other := told.after[0]) != operation.id
        if not told.leads_to and states.expected(Place(told.fixture, (operation.id,)), other) == CONFLICT
    ]
    return {
        f"{fixture}-{other}-{number}": (fixture, other) for fixture, other in found for number in range(1, ROUNDS + 1)
    } or {"": ("", "")}


@check("CONF-2", cases=_exclusions)
async def one_of_two_that_rule_each_other_out_wins(case: Case, told: tuple[str, str]) -> None:
    """Different operations at once on one resource: by the profile's states, some order explains their answers."""
    fixture, other = told
    known = any(one.operation == case.operation.id for one in case.profile.transitions)
    what = "two operations that conflict with each other, in either order, are needed"
    case.need(fixture or known, f"transitions.{case.operation.id}", what)
    case.exists(fixture, "the profile's transitions of this operation rule no other operation out")
    request = await into_conflict(case, Transition(case.operation.id, fixture))
    kind = fixture.partition(".")[0]
    rival = await case.arrange(case.contract.operations[other], given={kind: case.fixture_of(request, kind)})
    calls = [request.with_fresh_key() if turn % 2 else rival.with_fresh_key() for turn in range(AT_ONCE // 2)]
    answers = await together(case, calls, "rival at once")
    history = [(answer.request.operation.id, answer.ok) for answer in answers]
    if not States(case.profile.transitions).explains(fixture, history):
        winners = [answer for answer in answers if answer.ok]
        await _only_at_once(case, fixture, case.operation.id, other)
        raise case.violated("no order of the rivals explains their answers", *winners, expected="409 for all but one")
    expect_declared(case, answers)
