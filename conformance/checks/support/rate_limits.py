"""Provoking the rate limit of every operation, once in a run: what the checks of rate limits look at.

All operations are limited, and only then is anything waited for: one recovery, not twenty.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from conformance.checks.support.bursts import TAKEN, Burst, at_once, exceeds, is_small, send_burst, too_slow
from conformance.checks.support.case import Case
from conformance.checks.support.effects import Oracle
from conformance.checks.support.recovery import Wait, settle, wait_for
from conformance.checks.support.registry import cause_of
from conformance.checks.support.retry_after import SLACK_S, answered_in_time, stated_s
from conformance.checks.support.separate_counts import Separation, observe, other_request
from conformance.checks.support.signals import Inconclusive, Signal, Violated
from conformance.client.fixtures import NotSent
from conformance.client.recorder import current_check
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.client.sender import StillLimited
from conformance.client.throttle import hurried
from conformance.core.errors import FixtureError

_BURSTS = 6
"""At most, for one operation, until a good request was limited."""
_AROUND = 4
"""Requests of a burst before and behind a good one that is to be limited among them."""
_DEFAULT_RECOVERY_S = 2.0
_RETRY_AFTER_WAITS = 2
"""Operations whose Retry-After is waited for by itself; once it was wrong for as many, it is known to be."""
_MEMORY = "limits"

Failure = Signal | MissingFact | NotSent | FixtureError | StillLimited
FAILURES = (Signal, MissingFact, NotSent, FixtureError, StillLimited)


@dataclass(frozen=True)
class Provoked:
    """What the bursts for one operation brought, and what came after them."""

    burst: Burst
    """The first one."""
    limited: Answer | None = None
    """A 429; None where no burst met any."""
    limited_at: float = 0.0
    recovered_after_s: float | None = None
    last: Answer | None = None
    waited_s: float = 0.0
    """How long it was waited for with nothing sent, at most."""
    spare: Answer | None = None
    """A 429 to a good request that nothing else was sent of, where there was one."""
    happened: int | None = None
    """Effects of that request while it was limited, where the profile shows them."""
    retried: Answer | None = None
    """The same request, after the limit."""
    after: int | None = None
    """Effects of that retry."""
    retry_after: tuple[Answer, ...] = ()
    """A 429 and the answer after its Retry-After, where that was waited for by itself."""
    separation: Separation | Failure | None = None


@dataclass
class _Prepared:
    case: Case
    request: Request
    spare: Request | None = None
    """A good request of its own, which is to be limited, and asked again later."""
    oracle: Oracle | None = None

    async def find_spare(self) -> None:
        self.spare = _with_spare_credential(self.case, await self.case.arrange())
        if self.case.operation.id in self.case.profile.effects:
            self.oracle = await Oracle.watching(self.case, self.spare)


_Outcomes = dict[str, Provoked | Failure]
_Step = Callable[[_Prepared, Provoked | None], Awaitable[Provoked]]


async def provoke(case: Case) -> Provoked:
    """What became of the case's operation. Raises what stood in the way of limiting it."""
    provoked = await measure(case)
    if provoked.limited is None:
        raise _never_limited(case, provoked.burst)
    case.answers.append(provoked.limited.counted)
    return provoked


async def measure(case: Case) -> Provoked:
    """As `provoke`, where a burst that met no 429 is an answer as well.

    A limiter that answers otherwise than 429 violates RATE-1, and leaves nothing to say for the others.
    """
    case.need(case.profile.rate_limit.provoke, "rate_limit.provoke = true", "permission to send a burst is needed")
    memory = case.runtime.memory
    if _MEMORY not in memory:
        memory[_MEMORY] = await _limit_all(case)
    known = memory[_MEMORY]
    assert isinstance(known, Mapping)
    outcome: Provoked | Failure = known[case.operation.id]
    if isinstance(outcome, Violated):
        raise Inconclusive(outcome.message, *outcome.answers, cause=cause_of("RATE-1")) from outcome
    if not isinstance(outcome, Provoked):
        raise outcome
    return outcome


def _never_limited(case: Case, burst: Burst) -> Failure:
    """What to raise where no burst met a 429."""
    facts = case.profile.rate_limit
    if facts.limit is None or facts.window_s is None:
        lacking = "limit" if facts.limit is None else "window_s"
        what = "a limit and its window, or a higher rate_limit.max_requests, are needed"
        return MissingFact(f"rate_limit.{lacking}", f"no 429 was met ({burst.measure}): {what}")
    if exceeds(facts, burst):
        return Inconclusive(
            f"the declared limit is not enforced: {burst.measure}", burst.last, cause=cause_of("RATE-5")
        )
    return Inconclusive(too_slow(case, burst), burst.last, cause="rate limit")


async def expect_no_lasting_limit(case: Case, requirement: str) -> None:
    """Violated where a limit of the operation that violates this requirement was found while the run went on.

    Once a key was found to be used up, what else may be is not waited for in silence where it can be provoked.
    """
    watch = case.runtime.flow.limit_watch
    known = requirement == "IDEM-8" and watch.uses_keys_up and case.profile.rate_limit.provoke
    if not known and watch.is_suspect(case.operation.id, requirement):
        await case.runtime.flow.examine_limits()
    if limit := watch.violation(case.operation.id, requirement):
        raise case.violated(limit.message, limit.first, limit.last, expected="another answer than 429")


async def _limit_all(case: Case) -> _Outcomes:
    """Every operation that the run's exclusive checks ask about."""
    wanted = {*case.runtime.settings.exclusive_operations, case.operation.id}
    cases = [Case(case.runtime, operation) for operation in case.contract.all if operation.id in wanted]
    facts, fixtures = case.profile.rate_limit, case.runtime.fixtures
    outcomes: _Outcomes = {}
    ready = await asyncio.gather(*(_prepare(own, outcomes) for own in cases))
    prepared = [one for one in ready if one is not None]
    wait = wait_for(
        _DEFAULT_RECOVERY_S if facts.recovery_s is None else facts.recovery_s,
        case.runtime.flow.limit_watch.longest_silence_s,
    )
    if facts.prepare:
        await fixtures.http(facts.prepare, {}, "rate_limit.prepare")
    try:
        # as many bursts as can be on their way whole, if they may meet at all
        bursts = asyncio.Semaphore(max(1, case.runtime.settings.concurrency // at_once(case)))
        together = len(prepared) if is_small(facts.limit) else 1
        await _each(prepared, outcomes, partial(_overrun, bursts=bursts), at_once=together)
        await _settle(prepared, outcomes, partial(_ask, wait=wait), _still_limited, wait)
        await _wait_as_stated(prepared, outcomes)
        if facts.restore:
            await _each(prepared, outcomes, _separate, at_once=1)
    finally:
        if facts.restore:
            await fixtures.http(facts.restore, {}, "rate_limit.restore")
    polled_s = 0.0 if case.runtime.flow.limit_watch.uses_keys_up else wait.polled_s
    await _settle(prepared, outcomes, _repeat, _still_refused, Wait(polled_s, silence_s=0.0))
    if not facts.restore:
        await _each(prepared, outcomes, _separate, at_once=1)
    return outcomes


async def _each(prepared: Sequence[_Prepared], outcomes: _Outcomes, step: _Step, *, at_once: int) -> None:
    room = asyncio.Semaphore(max(1, at_once))

    async def own(one: _Prepared) -> None:
        async with room:
            await _guarded(one, outcomes, step)

    await asyncio.gather(*(own(one) for one in prepared))


async def _settle(
    prepared: Sequence[_Prepared], outcomes: _Outcomes, step: _Step, still: Callable[[Provoked], bool], wait: Wait
) -> None:
    """Until no operation is `still` limited, or one was waited for in vain."""

    def is_left(one: _Prepared) -> bool:
        outcome = outcomes[one.case.operation.id]
        return isinstance(outcome, Provoked) and outcome.limited is not None and still(outcome)

    some = [one for one in prepared if isinstance(outcomes[one.case.operation.id], Provoked)]
    await settle(some, lambda one: _guarded(one, outcomes, step), is_left, wait)


async def _wait_as_stated(prepared: Sequence[_Prepared], outcomes: _Outcomes) -> None:
    """Where an operation recovered later than its 429 said, a 429 whose Retry-After nothing disturbs."""
    late = []
    for one in prepared:
        known = outcomes[one.case.operation.id]
        if isinstance(known, Provoked) and known.limited is not None and known.recovered_after_s is not None:
            stated = stated_s(known.limited)
            if stated is not None and known.recovered_after_s > stated + SLACK_S:
                late.append(one)
    if late and late[0].case.profile.rate_limit.retry_after:
        await _each(late[:_RETRY_AFTER_WAITS], outcomes, _wait_alone, at_once=1)


async def _prepare(case: Case, outcomes: _Outcomes) -> _Prepared | None:
    """Everything that must exist before the bursts: while the limit is up, nothing can be made."""
    current_check.set(f"check_rate_limit[{case.operation.id}]")
    try:
        one = _Prepared(case, _with_spare_credential(case, await case.arrange()))
        if case.operation.idempotent:
            await one.find_spare()
        return one
    except FAILURES as error:
        outcomes[case.operation.id] = error
        return None


async def _guarded(one: _Prepared, outcomes: _Outcomes, step: _Step) -> None:
    name = one.case.operation.id
    known = outcomes.get(name)
    if known is not None and (not isinstance(known, Provoked) or known.limited is None):
        return
    current_check.set(f"check_rate_limit[{name}]")
    try:
        outcomes[name] = await step(one, known)
    except FAILURES as error:
        outcomes[name] = error


def _with_spare_credential(case: Case, request: Request) -> Request:
    """The request under the credential that the profile sets apart, where that may call the operation."""
    credential = case.profile.credentials.get(case.profile.rate_limit.credential)
    if not request.credential or credential is None or not credential.active:
        return request
    if case.operation.scope and case.operation.scope not in credential.scopes:
        return request
    return case.as_credential(request, credential.name)


async def _overrun(one: _Prepared, _: Provoked | None, *, bursts: asyncio.Semaphore) -> Provoked:
    """Bursts until a good request was limited that nothing else was sent of, where the operation has such ones.

    `bursts`: the room that there is for them, kept until the good request was sent: the limit may soon be over.
    """
    provoked: Provoked | None = None
    for number in range(_BURSTS):
        if number and not await _another_spare(one):
            break
        async with bursts:
            burst = await _burst(one)
            provoked = provoked or Provoked(burst)
            missed = await _missed(one, among=number) if burst.limited else None
        if burst.limited is None:
            break
        provoked = replace(provoked, limited=burst.limited, limited_at=time.monotonic())
        if missed is None or missed.status == 429:
            return replace(provoked, spare=missed)
    assert provoked is not None
    return provoked


async def _burst(one: _Prepared) -> Burst:
    """Where repeats of one call pass that should not, calls of their own: a replay need not count."""
    burst = await send_burst(one.case, one.request)
    if one.request.key and (burst.limited is None or exceeds(one.case.profile.rate_limit, burst)):
        return await send_burst(one.case, one.request, fresh_keys=True)
    return burst


async def _missed(one: _Prepared, *, among: int) -> Answer | None:
    """The answer to the good request, sent before what others still burst with: the limit may be over soon. From the
    second burst on it is sent among more requests."""
    if one.spare is None:
        return None
    around = [one.request] * _AROUND if among else []
    before = hurried.set(True)
    try:
        requests = [*around, one.spare, *around]
        answers = await asyncio.gather(*(one.case.send(r, "good and limited", take=TAKEN) for r in requests))
        return answers[len(around)]
    finally:
        hurried.reset(before)


async def _another_spare(one: _Prepared) -> bool:
    """Where the good request came through, since the limit was over before it was sent."""
    try:
        await one.find_spare()
    except FAILURES:
        return False
    return True


async def _ask(one: _Prepared, known: Provoked | None, *, wait: Wait) -> Provoked:
    """Whether the operation answers again by now. From the second time on under another key too: one may be used up."""
    assert known is not None
    answer = await one.case.send(one.request, "recovery", take=TAKEN)
    if answer.status in TAKEN and one.request.key and known.last is not None:
        answer = await one.case.send(one.request.with_fresh_key(), "recovery, another key", take=TAKEN)
    elapsed = None if answer.status in TAKEN else time.monotonic() - known.limited_at
    return replace(known, recovered_after_s=elapsed, last=answer, waited_s=wait.silence_s)


def _still_limited(known: Provoked) -> bool:
    return known.recovered_after_s is None


async def _repeat(one: _Prepared, known: Provoked | None) -> Provoked:
    """The good request that was limited, sent again."""
    assert known is not None
    if one.spare is None or known.spare is None or known.recovered_after_s is None:
        return known
    happened = known.happened
    if known.retried is None:
        happened = await one.oracle.happened() if one.oracle else None
    retried = await one.case.send(one.spare, "after the limit", take=TAKEN)
    after = await one.oracle.happened_soon() if one.oracle and retried.ok else None
    return replace(known, happened=happened, retried=retried, after=after)


def _still_refused(known: Provoked) -> bool:
    return known.retried is not None and known.retried.status in TAKEN


async def _wait_alone(one: _Prepared, known: Provoked | None) -> Provoked:
    assert known is not None
    return replace(known, retry_after=await answered_in_time(one.case, one.request) or ())


async def _separate(one: _Prepared, known: Provoked | None) -> Provoked:
    """Whether another request is answered while this one is limited, where the profile says that it is."""
    assert known is not None
    if not one.case.profile.rate_limit.per or known.recovered_after_s is None:
        return known
    try:
        return replace(
            known, separation=await observe(one.case, one.request, await other_request(one.case, one.request))
        )
    except FAILURES as error:
        return replace(known, separation=error)
