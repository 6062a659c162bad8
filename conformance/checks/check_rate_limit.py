"""Rate limits: Limits, and Errors, 429 (RATE-1, RATE-3 to RATE-7, IDEM-8). Runs last and alone."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from conformance.checks.support.bursts import (
    LIMITED_STATUSES,
    Burst,
    continue_through_window,
    exceeds,
    expect_decisive_size,
    max_allowed,
    send_burst,
    slow_burst_message,
)
from conformance.checks.support.case import Case
from conformance.checks.support.certainty import stated_lifetime_s
from conformance.checks.support.effects import wrong_count
from conformance.checks.support.plain_replays import require_single_effect
from conformance.checks.support.provocation import Provocation, expect_limited_key, may_end, with_spare_credential
from conformance.checks.support.rate_limits import (
    EVASION_OPERATION,
    WINDOW_OPERATION,
    expect_counted,
    expect_no_lasting_limit,
    expect_permission,
    measure,
    provoke,
)
from conformance.checks.support.registry import cause_of, check
from conformance.checks.support.retry_after import SLACK_S
from conformance.checks.support.separate_counts import Separation
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.client.response import NO_VALUE, Answer
from conformance.client.retry_after import retry_after_s, stated_delay_s
from conformance.core.messages import plural
from conformance.core.outcomes import Level
from conformance.judge.invariants import ERROR_SCHEMA
from conformance.profile.behavior import RateLimit

_LONGEST_PAUSE_S = 5.0
_QUICK_PAUSE_S = 0.2
_CLOCKS_S = 60.0
"""What stands in front of a service may write its Date, by a clock that is off."""
_LONG_WAIT = 10
"""A Retry-After of more than this many times the stated recovery is likely in another unit."""
_KEY_USED_UP = "a 429 has used a key up"


_OTHER_STATUSES: Final = frozenset({400, 401, 403, 404, 409})
_LONGEST_WINDOW_S: Final = 60.0


@check("RATE-1", exclusive=True)
async def a_limited_request_is_answered_429_with_an_error(case: Case) -> None:
    """A request beyond the limit is answered 429 with PublicErrorResponse."""
    try:
        limited_answer = _limited_answer(await provoke(case))
    except Inconclusive as short:
        if isinstance(short.__cause__, Violation):
            raise short.__cause__ from None
        await _expect_no_other_status(case)
        raise
    if limited_answer.value is NO_VALUE:
        raise case.violation(
            "the 429 carries no JSON", limited_answer, expected="PublicErrorResponse", observed="no JSON"
        )
    if case.runtime.validators.knows(ERROR_SCHEMA):
        case.note(
            case.runtime.validators.problem(ERROR_SCHEMA, limited_answer.value) or "the 429 matches the error schema"
        )


async def _expect_no_other_status(case: Case) -> None:
    """Violated where a read passes as often as the declared limit allows, is refused then, and passes after the window.

    A component in front of a target may refuse bursts as well, but not after exactly that number.
    """
    facts, burst = case.profile.rate_limit, (await measure(case)).burst
    if not (facts.limit and facts.window_s and case.operation.is_read and burst.last.status in _OTHER_STATUSES):
        return
    if burst.limited_answer is not None or not facts.limit <= burst.successes <= max_allowed(facts, burst.seconds):
        return
    await asyncio.sleep(min(_LONGEST_WINDOW_S, max(facts.longest_recovery_s or 0.0, 2 * facts.window_s)))
    later = await case.send(burst.last.request, "the same request, after the window")
    if later.ok:
        message = f"beyond the declared limit requests are refused with {burst.last.status}"
        raise case.violation(message, burst.last, later, expected="429")


@check("RATE-3", exclusive=True)
async def a_limit_recovers(case: Case) -> None:
    """A limited operation answers again within the recovery time of the profile."""
    bound = case.profile.rate_limit.longest_recovery_s
    case.need(bound is not None, "rate_limit.recovery_s", "a bound for the recovery is needed")
    assert bound is not None
    await expect_no_lasting_limit(case, "RATE-3")
    provocation = await provoke(case)
    assert provocation.last is not None
    if provocation.recovered_after_s is None:
        if provocation.waited_s < bound:
            wait_text = f"still limited after {provocation.waited_s:.0f} s without requests"
            raise Inconclusive(
                f"{wait_text}: a recovery of {bound:g} s is longer than this run waits", provocation.last
            )
        limited_answer = _limited_answer(provocation)
        raise case.violation(f"limited for longer than {bound:g} s", limited_answer, provocation.last, expected="200")
    if (
        not provocation.last.ok and not provocation.last.request.key
    ):  # with another key it may meet a changed state or a used code
        raise Inconclusive(f"after the limit it answered {provocation.last.summary}", provocation.last)
    case.note(f"answered again after {provocation.recovered_after_s:.2f} s at most")


@check("RATE-4", on="idempotent", exclusive=True)
async def a_limited_request_has_no_effect(case: Case) -> None:
    """A request answered 429 has no effect; sent again, it has one."""
    case.need(
        case.operation.id in case.profile.effects, f"effects.{case.operation.id}", "a way to see the effect is needed"
    )
    provocation = await provoke(case)
    spare, retry = _limited_good_request(case, provocation)
    if spare.follows_loss or retry.follows_loss:
        raise Inconclusive("an answer was lost, so that the request may have taken effect before", spare, retry)
    if provocation.effects_while_limited:
        raise case.violation("a request that was answered 429 took effect", spare, expected="no effect")
    if not retry.ok:
        _expect_lifetime(case, spare, retry)
        raise Inconclusive(f"sent again it was answered {retry.summary}", spare, retry, cause=cause_of("IDEM-8"))
    effects = provocation.effects_after_retry
    if effects is None:
        name = f"effects.{case.operation.id}"
        raise Inconclusive(f"{name} could not be read for the limited request", spare, retry, cause=name)
    if effects != 1:
        await require_single_effect(case, retry)
        raise wrong_count(case, "what was limited and sent again", effects, retry)


@check("IDEM-8", on="idempotent", exclusive=True)
async def a_limit_does_not_use_the_key_up(case: Case) -> None:
    """After a 429 the same call, with its key, still executes."""
    await expect_no_lasting_limit(case, "IDEM-8")
    provocation = await provoke(case)
    spare, retry = _limited_good_request(case, provocation)
    case.answers.append(retry.ref)
    if retry.ok:
        return
    if retry.status not in LIMITED_STATUSES:
        _expect_usable(case, provocation)
    await case.control(await case.arrange())
    repeat = await _repeat_after_recovery(case, retry)
    if repeat is not retry and repeat.status not in LIMITED_STATUSES and may_end(case):
        message = f"its code or ticket may have ended before it was answered {repeat.summary}"
        raise Inconclusive(message, spare, repeat, cause="what the request names may have ended")
    if repeat.status in (403, 404) and case.operation.auth == "api_key":  # it may be no resource of this API key
        control = await case.send(repeat.request.with_fresh_key(), "the same call under a new key")
        if control.status == repeat.status:
            message = f"the same call is answered {control.summary} under a new key, too"
            raise Inconclusive(message, spare, repeat, control, cause=f"control:{case.operation.id}")
    if not repeat.ok:
        case.runtime.memory[_KEY_USED_UP] = True
        raise case.violation("a 429 has used the key up", spare, repeat, expected="200")


def _expect_usable(case: Case, provocation: Provocation) -> None:
    """Inconclusive where a refused repeat names what may have ended: a call as old, never limited, does not show it."""
    twin = provocation.twin
    if not may_end(case) or (twin is not None and twin.ok):
        return
    if provocation.spare is not None and provocation.retry is not None:
        _expect_lifetime(case, provocation.spare, provocation.retry)
    message = "its code or ticket may have ended, and there was no other one as old"
    if twin is not None:
        message = f"an equally old request, which was never limited, was answered {twin.summary}"
    answers = [answer for answer in (provocation.spare, provocation.retry, twin) if answer is not None]
    raise Inconclusive(message, *answers, cause="what the request names may have ended")


def _expect_lifetime(case: Case, spare: Answer, retry: Answer) -> None:
    """Inapplicable where a code or ticket ends, by its stated lifetime, before the limit does."""
    lifetime_s, arranged_at = stated_lifetime_s(case.profile, case.operation), spare.request.arranged_at
    if not may_end(case) or lifetime_s is None or arranged_at is None:
        return
    age_s = time.monotonic() - (case.runtime.sender.elapsed_s - retry.at) - arranged_at
    message = f"a code or ticket lives for {lifetime_s:g} s, and was {age_s:.1f} s old when the limit had ended"
    case.require_applicable(age_s < lifetime_s, message)


async def _repeat_after_recovery(case: Case, retry: Answer) -> Answer:
    """Repeats the refused call when the limit must be over and nothing else is sent.

    After a first violation or by the watch, the other operations are not waited for as long. Inconclusive where calls
    under other keys are limited as well: some limits let a single request through at a time.
    """
    if retry.status not in LIMITED_STATUSES:
        return retry
    known = _KEY_USED_UP in case.runtime.memory or case.runtime.sender.limit_watch.uses_keys_up
    pause_s = min(case.profile.rate_limit.longest_recovery_s or _LONGEST_PAUSE_S, _LONGEST_PAUSE_S)
    is_other_answered = False
    for _ in range(3):
        await asyncio.sleep(_QUICK_PAUSE_S if known else pause_s)
        pause_s = _QUICK_PAUSE_S
        repeat = await case.send(retry.request, "after the limit, once more", accept_statuses=LIMITED_STATUSES)
        if repeat.status not in LIMITED_STATUSES:
            return repeat
        other = await case.send(await case.arrange(), "another key", accept_statuses=LIMITED_STATUSES)
        is_other_answered = is_other_answered or other.status not in LIMITED_STATUSES
    if not is_other_answered:
        raise Inconclusive("a call under another key is limited, too", repeat, other, cause="rate limit")
    return repeat


def _limited_good_request(case: Case, provocation: Provocation) -> tuple[Answer, Answer]:
    """The 429 to a valid request and the answer to its repeat. Inconclusive where there is none, with one cause for all
    checks that need it."""
    _expect_recovered(case, provocation)
    if provocation.spare is None or provocation.retry is None:
        raise Inconclusive(
            "no good request was limited", _limited_answer(provocation), cause="no good request was limited"
        )
    return provocation.spare, provocation.retry


def _expect_recovered(case: Case, provocation: Provocation) -> None:
    """Inconclusive where the limit did not recover within the run's patience."""
    if provocation.recovered_after_s is None:
        cause = "rate limit" if case.profile.rate_limit.recovery_s is None else cause_of("RATE-3")
        raise Inconclusive("the limit did not recover", _limited_answer(provocation), cause=cause)


def _limited_answer(provocation: Provocation) -> Answer:
    assert provocation.limited_answer is not None
    return provocation.limited_answer


@check("RATE-5", exclusive=True)
async def a_declared_limit_is_enforced(case: Case) -> None:
    """A burst faster than the declared limit gets a 429, and no more requests pass than the limit allows."""
    facts = case.profile.rate_limit
    case.need(facts.limit is not None, "rate_limit.limit", "a declared limit is needed")
    case.need(facts.window_s is not None, "rate_limit.window_s", "the time that the limit is for is needed")
    burst = (await measure(case)).burst
    expect_counted(case, burst)
    case.answers.append(burst.last.ref)
    _expect_enforced(case, burst, facts)


def _expect_enforced(case: Case, burst: Burst, facts: RateLimit) -> None:
    """Violated where more passed than the limit of `facts` allows; inconclusive where a burst was too slow to tell."""
    if exceeds(facts, burst):
        expect_limited_key(case, burst)
        allowed = int(max_allowed(facts, burst.seconds))
        stated = f"{facts.limit} in {facts.window_s:g} s, times {facts.tolerance:g}"
        raise case.violation(
            f"more passed than the declared limit allows: {burst.measure}",
            burst.last,
            expected=f"at most {allowed} in that time ({stated})",
            observed=plural(burst.successes, "request"),
        )
    if burst.limited_answer is None:
        raise Inconclusive(slow_burst_message(case, burst, facts), burst.last, cause="rate limit")
    case.note(burst.measure)


@check("RATE-5", on=WINDOW_OPERATION, exclusive=True)
async def a_limit_is_enforced_after_each_recovery(case: Case) -> None:
    """A second burst, after the recovery from the first one, gets a 429, too."""
    facts = case.profile.rate_limit
    case.need(facts.limit is not None, "rate_limit.limit", "a declared limit is needed")
    case.need(facts.window_s is not None, "rate_limit.window_s", "the time that the limit is for is needed")
    provocation = await provoke(case)
    _expect_recovered(case, provocation)
    burst = provocation.second_burst
    case.require_case(burst is not None, "no second burst is sent in quick depth")
    if not isinstance(burst, Burst):
        assert burst is not None
        raise burst
    case.answers.append(burst.last.ref)
    _expect_enforced(case, burst, facts)


@check("RATE-6", exclusive=True)
async def what_is_counted_separately_is_answered(case: Case) -> None:
    """While a caller is limited, another one that is counted separately is answered."""
    per = case.profile.rate_limit.per
    case.need(per, "rate_limit.per", "what is counted separately is needed")
    provocation = await provoke(case)
    separation = provocation.separation
    _expect_recovered(case, provocation)
    if not isinstance(separation, Separation):
        assert separation is not None
        raise separation
    if separation.limited_answers:
        message = f"another {per} was limited too, although the profile says that each is counted separately"
        raise case.violation(message, *separation.limited_answers, expected="another answer than 429")
    if not separation.was_answered:
        raise Inconclusive("the limit was over before another request was answered", cause="rate limit")


@check("RATE-6", on=EVASION_OPERATION, exclusive=True)
async def a_limit_of_a_caller_is_not_evaded(case: Case) -> None:
    """A limited caller gets no more through with other headers, other queries, or other spellings of its scheme."""
    facts = case.profile.rate_limit
    case.need(facts.per, "rate_limit.per", "what is counted separately is needed")
    case.require_case(facts.per in ("key", "installation"), "the limit does not count by caller")
    provocation = await provoke(case)
    if exceeds(facts, provocation.burst):
        raise Inconclusive("the limit is not even kept by plain requests", cause=cause_of("RATE-5"))
    for name, burst in provocation.evasions.items():
        if exceeds(facts, burst):
            allowed = int(max_allowed(facts, burst.seconds))
            message = f"a limited caller got more through, {name}, and the limit is per {facts.per}: {burst.measure}"
            raise case.violation(
                message,
                _limited_answer(provocation),
                burst.last,
                expected=f"at most {allowed} in that time",
                observed=plural(burst.successes, "request"),
            )


@check("RATE-7", exclusive=True)
async def retry_after_is_true(case: Case) -> None:
    """After the time in its Retry-After, a 429 request is answered again; or a 429 has none, as stated."""
    stated = case.profile.rate_limit.retry_after
    case.need(stated is not None, "rate_limit.retry_after", "whether a 429 carries a Retry-After is needed")
    provocation = await provoke(case)
    limited_answer = _limited_answer(provocation)
    if not stated:
        if limited_answer.header("Retry-After") is not None:
            message = "the 429 carries a Retry-After, although the profile says that none does"
            raise case.violation(message, limited_answer, expected="no Retry-After")
        return
    if limited_answer.header("Retry-After") is None:
        raise case.violation("the 429 carries no Retry-After", limited_answer, expected="Retry-After")
    if retry_after_s(limited_answer) is None:
        raise Inconclusive(
            "the Retry-After cannot be read, or has no Date beside it", limited_answer, cause=cause_of("RATE-2")
        )
    _expect_no_past_date(case, limited_answer)
    _expect_recovered(case, provocation)
    if provocation.retry_after:
        before, answer = provocation.retry_after
        if answer.status == 429:
            message = (
                f"limited for longer than the {retry_after_s(before):g} s of its Retry-After, without other requests"
            )
            raise case.violation(message, before, answer, expected="another answer than 429")
    _warn_of_a_long_wait(case, provocation, limited_answer)


def _expect_no_past_date(case: Case, limited_answer: Answer) -> None:
    """Violated where it is a date long before the Date beside it, as of another time zone."""
    delay_s = stated_delay_s(limited_answer)
    if delay_s is not None and delay_s < -_CLOCKS_S:
        message = f"the Retry-After is a date {-delay_s:g} s before the Date of its answer"
        raise case.violation(message, limited_answer, expected="a date that has not passed")


def _warn_of_a_long_wait(case: Case, provocation: Provocation, limited_answer: Answer) -> None:
    """A warning where it says many times the stated recovery, within which it was answered: as if in milliseconds.

    RFC 9110, section 10.2.3: it is the time that a client ought to wait.
    """
    bound_s, wait_s = case.profile.rate_limit.longest_recovery_s, retry_after_s(limited_answer)
    assert wait_s is not None
    recovered_s = provocation.recovered_after_s
    if bound_s is None or recovered_s is None or recovered_s > bound_s or wait_s <= _LONG_WAIT * (bound_s + SLACK_S):
        return
    message = f"Retry-After says {wait_s:g} s, and the profile that a limit ends after {bound_s:g} s"
    expected = f"at most {bound_s:g} s"
    raise case.violation(message, limited_answer, expected=expected, level=Level.RECOMMENDED)


@check("RATE-5", on=WINDOW_OPERATION, exclusive=True)
async def a_declared_limit_of_the_run_is_enforced(case: Case) -> None:
    """While the limit of `prepare` is not set, a burst faster than the limit of the run gets a 429.

    It is the last check: this limit, unlike the one of `prepare`, may last for long after a burst.
    """
    facts = case.profile.rate_limit
    case.require_case(facts.prepare, "the profile states no call that sets a limit: there is one limit only")
    expect_permission(case)
    case.need(facts.run_limit is not None, "rate_limit.run_limit", "the limit of the run is needed")
    case.need(facts.run_window_s, "rate_limit.run_window_s", "the time that this limit is for is needed")
    case.need(facts.restore, "rate_limit.restore", "without it, the limit of prepare may still be set")
    expect_decisive_size(facts.for_the_run)
    request = with_spare_credential(case, await case.arrange())
    burst = await send_burst(case, request, facts.for_the_run)
    burst = await continue_through_window(case, request, burst, facts.for_the_run)
    _expect_enforced(case, burst, facts.for_the_run)
