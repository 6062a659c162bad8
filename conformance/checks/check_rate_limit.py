"""Being limited: Limits, and Errors, 429 (RATE-1, RATE-3). Runs last and alone."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace

from conformance.checks.case import Case
from conformance.checks.effects import Oracle
from conformance.checks.registry import check
from conformance.checks.signals import Inconclusive
from conformance.client.answer import GATEWAY, NO_VALUE, Answer
from conformance.client.arrange import MissingFact
from conformance.client.request import Request
from conformance.judge.invariants import ERROR_SCHEMA

_AT_ONCE = 10
_TAKEN = GATEWAY | {429}


@dataclass(frozen=True)
class Provoked:
    """What a burst brought: the first 429, and how long it took until the operation answered again."""

    limited: Answer
    recovered_after_s: float | None
    last: Answer
    spare: Answer | None = None
    """A 429 to a good request that nothing else was sent of, where there was one."""
    happened: int | None = None
    """Effects of that request while it was limited, where the profile shows them."""
    retried: Answer | None = None
    """The same request, after the limit."""
    after: int | None = None
    """Effects of that retry."""


def _limited_request(case: Case, request: Request) -> Request:
    """The request under the credential that the profile sets apart, where that may call the operation."""
    name = case.profile.rate_limit.credential
    credential = case.profile.credentials.get(name)
    if not request.credential or credential is None or not credential.active:
        return request
    return case.as_credential(request, name) if not case.operation.scope or case.operation.scope in credential.scopes else request


async def _burst(case: Case, request: Request) -> Answer:
    """The first 429 to a repeated request. Violated if the limiter answers otherwise, inapplicable if there is none."""
    most, sent = case.profile.rate_limit.max_requests, 0
    while sent < most:
        now = min(_AT_ONCE, most - sent)
        answers = await asyncio.gather(*(case.send(request, "burst", take=_TAKEN) for _ in range(now)))
        sent += now
        if limited := next((answer for answer in answers if answer.status == 429), None):
            return limited
        refused = [answer for answer in answers if answer.status in GATEWAY]
        if len(refused) > now // 2:
            raise case.violated("a limited request was answered as a broken gateway", refused[-1], expected="429")
    raise MissingFact("rate_limit.max_requests", f"{most} requests provoked no 429")


async def _until_recovered(case: Case, request: Request, bound_s: float) -> tuple[float | None, Answer]:
    started, pause = time.monotonic(), 0.05
    while True:
        answer = await case.send(request, "recovery", take=_TAKEN)
        elapsed = time.monotonic() - started
        if answer.status not in _TAKEN:
            return elapsed, answer
        if elapsed > bound_s:
            return None, answer
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 1.0)


async def provoke(case: Case) -> Provoked:
    """Limits the operation once in a run, waits until it answers again, and leaves the target as it was."""
    facts = case.profile.rate_limit
    case.need(facts.provoke, "rate_limit.provoke = true", "permission to send a burst is needed")
    memory = case.runtime.memory
    known = memory.get(f"limited:{case.operation.id}")
    if isinstance(known, Provoked):
        case.answers.append(known.limited)
        return known
    request = _limited_request(case, await case.arrange())
    spare = _limited_request(case, await case.arrange()) if case.operation.idempotent else None
    watched = spare is not None and case.operation.id in case.profile.effects
    oracle = await Oracle.watching(case, spare) if spare is not None and watched else None
    fixtures = case.runtime.fixtures
    if facts.prepare:
        await fixtures.http(facts.prepare, {}, "rate_limit.prepare")
    try:
        limited = await _burst(case, request)
        missed = await case.send(spare, "good and limited", take=_TAKEN) if spare is not None else None
        recovered, last = await _until_recovered(case, request, facts.recovery_s or 2.0)
    finally:
        if facts.restore:
            await fixtures.http(facts.restore, {}, "rate_limit.restore")
    provoked = Provoked(limited, recovered, last)
    if spare is not None and missed is not None and missed.status == 429:
        happened = await oracle.happened() if oracle else None
        retried = await case.send(spare, "after the limit")
        after = await oracle.happened() if oracle else None
        provoked = replace(provoked, spare=missed, happened=happened, retried=retried, after=after)
    memory[f"limited:{case.operation.id}"] = provoked
    return provoked


@check("RATE-1", exclusive=True)
async def a_limited_request_is_answered_429_with_an_error(case: Case) -> None:
    """What exceeds the limit is answered 429, and the 429 carries PublicErrorResponse."""
    limited = (await provoke(case)).limited
    if limited.value is NO_VALUE or not isinstance(limited.value, dict):
        raise case.violated("the 429 carries no error object", limited, expected="PublicErrorResponse", observed="no object")
    if case.runtime.validators.knows(ERROR_SCHEMA):
        if problem := case.runtime.validators.problem(ERROR_SCHEMA, limited.value):
            raise case.violated("the 429 carries no PublicErrorResponse", limited, expected=ERROR_SCHEMA, observed=problem)


@check("RATE-3", exclusive=True)
async def a_limit_recovers(case: Case) -> None:
    """Within the bound that the profile states, a limited operation answers again."""
    bound = case.profile.rate_limit.recovery_s
    case.need(bound is not None, "rate_limit.recovery_s", "a bound for the recovery is needed")
    provoked = await provoke(case)
    if provoked.recovered_after_s is None:
        raise case.violated(f"limited for longer than {bound:g} s", provoked.limited, provoked.last, expected="200")
    if not provoked.last.ok:
        raise Inconclusive(f"after the limit it answered {provoked.last.summary}", provoked.last)
    case.note(f"answered again after {provoked.recovered_after_s:.2f} s")


@check("RATE-4", on="idempotent", exclusive=True)
async def a_limited_request_has_no_effect(case: Case) -> None:
    """What is answered 429 leaves everything as it was; sent again, it has one effect."""
    provoked = await provoke(case)
    case.need(provoked.happened is not None, f"effects.{case.operation.id}", "a way to see the effect is needed")
    if provoked.spare is None or provoked.retried is None:
        raise Inconclusive("no good request was limited", provoked.limited)
    if provoked.happened:
        raise case.violated("a request that was answered 429 took effect", provoked.spare, expected="no effect")
    if provoked.retried.ok and provoked.after != 1:
        raise case.violated("after the limit it took effect otherwise", provoked.retried, expected="1", observed=str(provoked.after))


@check("IDEM-8", on="idempotent", exclusive=True)
async def a_limit_does_not_use_the_key_up(case: Case) -> None:
    """After a 429 the same call, with its key, still executes."""
    provoked = await provoke(case)
    if provoked.spare is None or provoked.retried is None:
        raise Inconclusive("no good request was limited", provoked.limited)
    case.answers.append(provoked.retried)
    if not provoked.retried.ok:
        await case.control(await case.arrange())
        raise case.violated("a 429 has used the key up", provoked.spare, provoked.retried, expected="200")
