"""Being limited: Limits, and Errors, 429 (RATE-1, RATE-3 to RATE-7, IDEM-8). Runs last and alone."""

from __future__ import annotations

import asyncio

from conformance.checks.support.bursts import TAKEN, exceeds, most_allowed, too_slow
from conformance.checks.support.case import Case
from conformance.checks.support.effects import otherwise_than_once
from conformance.checks.support.rate_limits import Provoked, expect_no_lasting_limit, measure, provoke
from conformance.checks.support.registry import cause_of, check
from conformance.checks.support.retry_after import stated_s
from conformance.checks.support.separate_counts import Separation
from conformance.checks.support.signals import Inconclusive, Violated
from conformance.client.response import NO_VALUE, Answer
from conformance.judge.invariants import ERROR_SCHEMA

_LONGEST_PAUSE_S = 5.0
_QUICK_PAUSE_S = 0.2
_USED_UP = "a 429 has used a key up"


@check("RATE-1", exclusive=True)
async def a_limited_request_is_answered_429_with_an_error(case: Case) -> None:
    """What exceeds the limit is answered 429, and the 429 carries PublicErrorResponse."""
    try:
        limited = _limited(await provoke(case))
    except Inconclusive as short:
        if isinstance(short.__cause__, Violated):
            raise short.__cause__ from None
        raise
    if limited.value is NO_VALUE:
        raise case.violated("the 429 carries no JSON", limited, expected="PublicErrorResponse", observed="no JSON")
    if case.runtime.validators.knows(ERROR_SCHEMA):
        case.note(case.runtime.validators.problem(ERROR_SCHEMA, limited.value) or "the 429 matches the error schema")


@check("RATE-3", exclusive=True)
async def a_limit_recovers(case: Case) -> None:
    """Within the bound that the profile states, a limited operation answers again."""
    bound = case.profile.rate_limit.recovery_s
    case.need(bound is not None, "rate_limit.recovery_s", "a bound for the recovery is needed")
    assert bound is not None
    await expect_no_lasting_limit(case, "RATE-3")
    provoked = await provoke(case)
    assert provoked.last is not None
    if provoked.recovered_after_s is None:
        if provoked.waited_s < bound:
            waited = f"still limited after {provoked.waited_s:.0f} s in which nothing was sent"
            raise Inconclusive(f"{waited}: a recovery of {bound:g} s is longer than this run waits", provoked.last)
        limited = _limited(provoked)
        raise case.violated(f"limited for longer than {bound:g} s", limited, provoked.last, expected="200")
    if (
        not provoked.last.ok and not provoked.last.request.key
    ):  # a call under another key may meet a spent state or code
        raise Inconclusive(f"after the limit it answered {provoked.last.summary}", provoked.last)
    case.note(f"answered again after {provoked.recovered_after_s:.2f} s at most")


@check("RATE-4", on="idempotent", exclusive=True)
async def a_limited_request_has_no_effect(case: Case) -> None:
    """What is answered 429 leaves everything as it was; sent again, it has one effect."""
    case.need(
        case.operation.id in case.profile.effects, f"effects.{case.operation.id}", "a way to see the effect is needed"
    )
    provoked = await provoke(case)
    spare, retried = _good_and_limited(case, provoked)
    if provoked.happened:
        raise case.violated("a request that was answered 429 took effect", spare, expected="no effect")
    if not retried.ok:
        raise Inconclusive(f"sent again it was answered {retried.summary}", spare, retried, cause=cause_of("IDEM-8"))
    if provoked.after != 1:
        raise otherwise_than_once(case, "what was limited and sent again", provoked.after or 0, retried)


@check("IDEM-8", on="idempotent", exclusive=True)
async def a_limit_does_not_use_the_key_up(case: Case) -> None:
    """After a 429 the same call, with its key, still executes."""
    await expect_no_lasting_limit(case, "IDEM-8")
    spare, retried = _good_and_limited(case, await provoke(case))
    case.answers.append(retried.counted)
    if retried.ok:
        return
    await case.control(await case.arrange())
    again = await _once_more(case, retried)
    if not again.ok:
        case.runtime.memory[_USED_UP] = True
        raise case.violated("a 429 has used the key up", spare, again, expected="200")


async def _once_more(case: Case, retried: Answer) -> Answer:
    """The call that was refused, when the limit must be over: other calls are answered, and nothing else is sent.

    Once this was found on one operation, or by the watch, the others are not waited for as long.
    """
    if retried.status not in TAKEN:
        return retried
    known = _USED_UP in case.runtime.memory or case.runtime.flow.limit_watch.uses_keys_up
    pause_s = min(case.profile.rate_limit.recovery_s or _LONGEST_PAUSE_S, _LONGEST_PAUSE_S)
    for _ in range(3):
        await asyncio.sleep(_QUICK_PAUSE_S if known else pause_s)
        pause_s = _QUICK_PAUSE_S
        again = await case.send(retried.request, "after the limit, once more", take=TAKEN)
        if again.status not in TAKEN:
            break
    return again


def _good_and_limited(case: Case, provoked: Provoked) -> tuple[Answer, Answer]:
    """The 429 to a good request and the answer to its repeat. Inconclusive where there is none, with the same cause for
    all checks that need it."""
    _expect_recovered(case, provoked)
    if provoked.spare is None or provoked.retried is None:
        raise Inconclusive("no good request was limited", _limited(provoked), cause="no good request was limited")
    return provoked.spare, provoked.retried


def _expect_recovered(case: Case, provoked: Provoked) -> None:
    """Inconclusive where the limit outlived the run's patience, whatever a check wanted to see after it."""
    if provoked.recovered_after_s is None:
        cause = "rate limit" if case.profile.rate_limit.recovery_s is None else cause_of("RATE-3")
        raise Inconclusive("the limit did not recover", _limited(provoked), cause=cause)


def _limited(provoked: Provoked) -> Answer:
    assert provoked.limited is not None
    return provoked.limited


@check("RATE-5", exclusive=True)
async def a_declared_limit_is_enforced(case: Case) -> None:
    """A burst that is faster than the declared limit meets a 429, and no more of it passes than the limit allows."""
    facts = case.profile.rate_limit
    case.need(facts.limit is not None, "rate_limit.limit", "a declared limit is needed")
    case.need(facts.window_s is not None, "rate_limit.window_s", "the time that the limit is for is needed")
    burst = (await measure(case)).burst
    case.answers.append(burst.last.counted)
    if exceeds(facts, burst):
        allowed = int(most_allowed(facts, burst.seconds))
        stated = f"{facts.limit} in {facts.window_s:g} s, times {facts.tolerance:g}"
        raise case.violated(
            f"more passed than the declared limit allows: {burst.measure}",
            burst.last,
            expected=f"at most {allowed} in that time ({stated})",
            observed=f"{burst.passed}",
        )
    if burst.limited is None:
        raise Inconclusive(too_slow(case, burst), burst.last, cause="rate limit")
    case.note(burst.measure)


@check("RATE-6", exclusive=True)
async def what_is_counted_separately_is_answered(case: Case) -> None:
    """While one is limited, what the profile says is counted separately is answered."""
    per = case.profile.rate_limit.per
    case.need(per, "rate_limit.per", "what is counted separately is needed")
    provoked = await provoke(case)
    separation = provoked.separation
    _expect_recovered(case, provoked)
    if not isinstance(separation, Separation):
        assert separation is not None
        raise separation
    if separation.refused:
        what = f"another {per} was limited as well, though the profile says that each is counted separately"
        raise case.violated(what, *separation.refused, expected="another answer than 429")
    if not separation.answered:
        raise Inconclusive("the limit was over before another request was answered", cause="rate limit")


@check("RATE-7", exclusive=True)
async def retry_after_is_true(case: Case) -> None:
    """A 429 says in Retry-After when the same request is answered again, and then it is."""
    stated = case.profile.rate_limit.retry_after
    case.need(stated is not None, "rate_limit.retry_after", "whether a 429 carries a Retry-After is needed")
    case.exists(stated, "the profile says that a 429 carries no Retry-After")
    provoked = await provoke(case)
    limited = _limited(provoked)
    if limited.header("Retry-After") is None:
        raise case.violated("the 429 carries no Retry-After", limited, expected="Retry-After")
    if stated_s(limited) is None:
        raise Inconclusive(
            "the Retry-After cannot be read, or has no Date beside it", limited, cause=cause_of("RATE-2")
        )
    _expect_recovered(case, provoked)
    if provoked.retry_after:
        before, answer = provoked.retry_after
        if answer.status == 429:
            what = f"limited for longer than the {stated_s(before):g} s of its Retry-After, with nothing else sent"
            raise case.violated(what, before, answer, expected="another answer than 429")
