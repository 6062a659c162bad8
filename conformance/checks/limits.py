"""Provoking the rate limit of every operation, once in a run: what RATE-1, RATE-3, RATE-4 and IDEM-8 look at.

All operations are limited, and only then is anything waited for: one recovery, not twenty. They are asked together, as
long as that finds another one limited no more; one that still is then is asked by itself, with nothing else sent
meanwhile, so that asking does not keep the limit up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from conformance.checks.case import Case
from conformance.checks.effects import Oracle
from conformance.checks.signals import Signal
from conformance.client.answer import GATEWAY, Answer
from conformance.client.arrange import MissingFact
from conformance.client.fixtures import NotSent
from conformance.client.recorder import current_check
from conformance.client.request import Request
from conformance.engine.gate import hurried
from conformance.errors import FixtureError

TAKEN = GATEWAY | {429}
_AT_ONCE = 10
_LAST_ASKED = 3
_DEFAULT_RECOVERY_S = 2.0
_STUCK = 3
"""So many operations that never answered again, each left alone for as long as the bound, and the others are asked at
once: they had all that time, and whether the target conforms is no question any more."""
_MEMORY = "limits"

Failure = Signal | MissingFact | NotSent | FixtureError


@dataclass(frozen=True)
class Provoked:
    """What a burst brought: the first 429, and how long it took until the operation answered again."""

    limited: Answer
    limited_at: float
    recovered_after_s: float | None = None
    last: Answer | None = None
    spare: Answer | None = None
    """A 429 to a good request that nothing else was sent of, where there was one."""
    happened: int | None = None
    """Effects of that request while it was limited, where the profile shows them."""
    retried: Answer | None = None
    """The same request, after the limit."""
    after: int | None = None
    """Effects of that retry."""


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


_Step = Callable[[_Prepared, Provoked | None], Awaitable[Provoked]]


async def provoke(case: Case) -> Provoked:
    """What became of the case's operation. Raises what stood in the way of limiting it."""
    case.need(case.profile.rate_limit.provoke, "rate_limit.provoke = true", "permission to send a burst is needed")
    memory = case.runtime.memory
    if _MEMORY not in memory:
        memory[_MEMORY] = await _limit_all(case)
    told = memory[_MEMORY]
    assert isinstance(told, Mapping)
    outcome: Provoked | Failure = told[case.operation.id]
    if not isinstance(outcome, Provoked):
        raise outcome
    case.answers.append(outcome.limited.counted)
    return outcome


async def _limit_all(case: Case) -> dict[str, Provoked | Failure]:
    """Every operation that the run's exclusive checks ask about."""
    wanted = {*case.runtime.settings.exclusive_operations, case.operation.id}
    cases = [Case(case.runtime, operation) for operation in case.contract.all if operation.id in wanted]
    facts, fixtures = case.profile.rate_limit, case.runtime.fixtures
    outcomes: dict[str, Provoked | Failure] = {}
    ready = await asyncio.gather(*(_prepare(own, outcomes) for own in cases))
    prepared = [one for one in ready if one is not None]
    if facts.prepare:
        await fixtures.http(facts.prepare, {}, "rate_limit.prepare")
    try:
        # as many bursts as can be on their way whole, if they may meet at all
        bursts = asyncio.Semaphore(max(1, case.runtime.settings.concurrency // _AT_ONCE))
        at_once = len(prepared) if _is_small(facts.limit) else 1
        await _each(prepared, outcomes, partial(_overrun, bursts=bursts), at_once=at_once)
        await _settled(prepared, outcomes, _ask, _still_limited)
    finally:
        if facts.restore:
            await fixtures.http(facts.restore, {}, "rate_limit.restore")
    await _settled(prepared, outcomes, _repeat, _still_refused)
    return outcomes


def _is_small(limit: int | None) -> bool:
    """Whether the first requests of a burst exceed the limit: a greater one, or one that nobody declared, is met by an
    operation only that has the line for itself until it is done with it."""
    return limit is not None and 0 < limit < _AT_ONCE


async def _each(
    prepared: Sequence[_Prepared], outcomes: dict[str, Provoked | Failure], step: _Step, *, at_once: int
) -> None:
    room = asyncio.Semaphore(at_once)

    async def own(one: _Prepared) -> None:
        async with room:
            await _guarded(one, outcomes, step)

    await asyncio.gather(*(own(one) for one in prepared))


async def _settled(
    prepared: Sequence[_Prepared],
    outcomes: dict[str, Provoked | Failure],
    step: _Step,
    still: Callable[[Provoked], bool],
) -> None:
    """All together, as long as that lets some of them through; for they may share a limit, each that is `still` limited
    then by itself: patiently, until several were so after all."""

    def is_left(one: _Prepared) -> bool:
        outcome = outcomes[one.case.operation.id]
        return isinstance(outcome, Provoked) and still(outcome)

    left, before = list(prepared), len(prepared) + 1
    while 0 < len(left) < before:
        before = len(left)
        await _each(left, outcomes, step, at_once=before)
        left = [one for one in left if is_left(one)]
    stuck = 0
    for one in left:
        await _guarded(one, outcomes, partial(_insist, step=step, still=still, patient=stuck < _STUCK))
        stuck += is_left(one)


async def _insist(
    one: _Prepared, known: Provoked | None, *, step: _Step, still: Callable[[Provoked], bool], patient: bool
) -> Provoked:
    """Until it is no more by chance that it is limited, or by what else was sent."""
    assert known is not None
    for wait in _waits(one, patient=patient):
        if not still(known):
            break
        await asyncio.sleep(wait)
        known = await step(one, known)
    return known


async def _prepare(case: Case, outcomes: dict[str, Provoked | Failure]) -> _Prepared | None:
    """Everything that must exist beforehand: while the limit is up, nothing can be made."""
    current_check.set(f"check_rate_limit[{case.operation.id}]")
    try:
        one = _Prepared(case, _with_spare_credential(case, await case.arrange()))
        if case.operation.idempotent:
            await one.find_spare()
        return one
    except (Signal, MissingFact, NotSent, FixtureError) as error:
        outcomes[case.operation.id] = error
        return None


async def _guarded(one: _Prepared, outcomes: dict[str, Provoked | Failure], step: _Step) -> None:
    name = one.case.operation.id
    known = outcomes.get(name)
    if known is not None and not isinstance(known, Provoked):
        return
    current_check.set(f"check_rate_limit[{name}]")
    try:
        outcomes[name] = await step(one, known)
    except (Signal, MissingFact, NotSent, FixtureError) as error:
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
    """The first 429 to a repeated request, and one to a good request that nothing else was sent of.

    Violated if the limiter answers otherwise, inapplicable if there is none. `bursts`: the room that there is for them.
    """
    most = left = one.case.profile.rate_limit.max_requests
    provoked: Provoked | None = None
    while left and (provoked is None or await _another_spare(one)):
        async with bursts:
            limited, left = await _burst(one, left, first=provoked is None)
        if limited is None:
            break
        missed = await _missed(one)
        provoked = Provoked(limited, time.monotonic(), spare=missed if missed and missed.status == 429 else None)
        if missed is None or provoked.spare is not None:
            break
    if provoked is None:
        raise MissingFact("rate_limit.max_requests", f"{most} requests provoked no 429")
    return provoked


async def _burst(one: _Prepared, most: int, *, first: bool) -> tuple[Answer | None, int]:
    """One of the 429s, if any came, and how many requests are left; the room is kept until then: a limit is one of
    requests in some time."""
    case, left = one.case, most
    while left:
        now = min(_AT_ONCE, left)
        answers = await asyncio.gather(*(case.send(one.request, "burst", take=TAKEN) for _ in range(now)))
        left -= now
        if limited := next((answer for answer in answers if answer.status == 429), None):
            return limited, left
        refused = [answer for answer in answers if answer.status in GATEWAY]
        if first and len(refused) > now // 2:
            raise case.violated("a limited request was answered as by a broken gateway", refused[-1], expected="429")
    return None, 0


async def _missed(one: _Prepared) -> Answer | None:
    """The good request, before what others still burst with: the limit may be over soon."""
    if one.spare is None:
        return None
    before = hurried.set(True)
    try:
        return await one.case.send(one.spare, "good and limited", take=TAKEN)
    finally:
        hurried.reset(before)


async def _another_spare(one: _Prepared) -> bool:
    """Where the good request came through, since the limit was over before it was sent."""
    try:
        await one.find_spare()
    except (Signal, MissingFact, NotSent, FixtureError):
        return False
    return True


async def _ask(one: _Prepared, known: Provoked | None) -> Provoked:
    """Whether the operation answers again by now."""
    assert known is not None
    answer = await one.case.send(one.request, "recovery", take=TAKEN)
    elapsed = None if answer.status in TAKEN else time.monotonic() - known.limited_at
    return replace(known, recovered_after_s=elapsed, last=answer)


def _still_limited(known: Provoked) -> bool:
    return known.recovered_after_s is None


def _waits(one: _Prepared, *, patient: bool) -> Iterator[float]:
    """The pauses before each question, ever longer, until the bound has passed.

    In the end it is left alone for as long as the bound, and asked some more: asking may have kept the limit up, one
    answer may be limited by chance, and a slow one may have been late.
    """
    bound = one.case.profile.rate_limit.recovery_s or _DEFAULT_RECOVERY_S
    yield 0.0
    if patient:
        passed, pause = 0.0, 0.05
        while passed < bound:
            yield pause
            passed, pause = passed + pause, min(pause * 1.5, 1.0)
        yield bound
    yield from (0.05,) * _LAST_ASKED


async def _repeat(one: _Prepared, known: Provoked | None) -> Provoked:
    """The good request that was limited, sent again."""
    assert known is not None
    if one.spare is None or known.spare is None or known.recovered_after_s is None:
        return known
    happened = await one.oracle.happened() if one.oracle else None
    retried = await one.case.send(one.spare, "after the limit", take=TAKEN)
    after = await one.oracle.happened_soon() if one.oracle else None
    return replace(known, happened=happened, retried=retried, after=after)


def _still_refused(known: Provoked) -> bool:
    return known.retried is not None and known.retried.status in TAKEN
