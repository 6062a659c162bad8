"""Provokes the rate limit of every operation once in a run, for all rate limit checks.

All operations are limited first, and then share one recovery time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from conformance.checks.support.bursts import (
    LIMITED_STATUSES,
    Burst,
    batch_size,
    continue_through_window,
    exceeds,
    is_small,
    send_burst,
    slow_burst_message,
)
from conformance.checks.support.case import Case
from conformance.checks.support.limit_evasion import forms_of, observe_evasion
from conformance.checks.support.provocation import FAILURES, Failure, Preparation, Provocation, with_spare_credential
from conformance.checks.support.recovery import Wait, settle, wait_for
from conformance.checks.support.recovery_steps import (
    examine_retry_after,
    is_limited,
    is_retry_limited,
    observe_separation,
    overrun_again,
    poll_recovery_and_repeat,
    repeat_remaining_spare,
)
from conformance.checks.support.registry import cause_of
from conformance.checks.support.retry_after import SLACK_S
from conformance.checks.support.separate_bursts import send_separate_burst
from conformance.checks.support.separate_counts import BY_CALLER, Separation, other_credential_request, send_between
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.client.recorder import current_check
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.client.retry_after import retry_after_s
from conformance.client.throttle import high_priority
from conformance.profile.behavior import RateLimit

_BURSTS = 6
"""Maximum number of bursts for one operation, until a valid request was limited."""
_AROUND = 4
"""Requests of a burst before and after a valid one that is to be limited among them."""
_RETRY_AFTER_WAITS = 2
"""Maximum number of operations whose Retry-After is examined separately."""
MEMORY = "limits"
_SHORT_WINDOW_S = 1.0
"""A window as short as this is waited for before the first poll. After a longer one, a limit that lasts too long would
be polled too late."""
WINDOW_OPERATION = "getApiKeyIdentity"
"""The operation whose limit is observed for a whole window: one is enough to see that it does not end too early."""
EVASION_OPERATION = "getInstallationCredentialReadiness"
"""The operation that a limited caller tries in other forms: another one, so that a short run may do either alone."""


_Outcomes = dict[str, Provocation | Failure]
_Step = Callable[[Preparation, Provocation | None], Awaitable[Provocation]]


async def provoke(case: Case) -> Provocation:
    """The limit's results for the case's operation. Raises the signal that prevented them."""
    provocation = await measure(case)
    if provocation.limited_answer is None:
        raise _no_limit_failure(case, provocation.burst)
    case.answers.append(provocation.limited_answer.ref)
    return provocation


async def measure(case: Case) -> Provocation:
    """Like `provoke`, but a burst without a 429 is a result as well.

    A limiter that answers another status violates RATE-1, and the other checks are inconclusive.
    """
    expect_permission(case)
    memory = case.runtime.memory
    if MEMORY not in memory:
        memory[MEMORY] = await _limit_all(case)
    results = memory[MEMORY]
    assert isinstance(results, Mapping)
    outcome: Provocation | Failure = results[case.operation.id]
    if isinstance(outcome, Violation):
        raise Inconclusive(outcome.message, *outcome.answers, cause=cause_of("RATE-1")) from outcome
    if not isinstance(outcome, Provocation):
        raise outcome
    return outcome


def expect_permission(case: Case) -> None:
    case.need(case.profile.rate_limit.provoke, "rate_limit.provoke = true", "permission to send a burst is needed")


def expect_counted(case: Case, burst: Burst) -> None:
    """Inapplicable where no 429 was met, and the calls need not be counted: a cache answers, or they have no key.

    What is stated of callers does not say whether a call without a key is counted. Where one of them is, all of them
    are. A few 429s among requests that pass are no sign of it: a service may shed load.
    """
    if burst.limited_answer is not None and (_is_counted(case) or not burst.is_almost_all):
        return
    message = f"a cache answered {burst.cached} of {burst.request_count} requests in place of the target"
    case.require_applicable(burst.cached <= burst.request_count // 2, message)
    results = case.runtime.memory.get(MEMORY)
    if _is_counted(case):
        return
    outcomes = results if isinstance(results, Mapping) else {}
    keyless = [outcome for name, outcome in outcomes.items() if case.contract.operations[name].auth != "api_key"]
    has_limits = any(isinstance(outcome, Provocation) and _is_limited_alone(outcome) for outcome in keyless)
    message = f"the limit is counted by {case.profile.rate_limit.per}, and the operation takes no key"
    case.require_applicable(has_limits, message)


def _is_counted(case: Case) -> bool:
    return case.profile.rate_limit.per not in BY_CALLER or case.operation.auth == "api_key"


def _is_limited_alone(provocation: Provocation) -> bool:
    """Whether a call was limited that is no duplicate of one in progress: without a limit, that may be answered 429."""
    limited_answer = provocation.limited_answer
    if provocation.burst.is_almost_all:
        return False
    return limited_answer is not None and (limited_answer.request.key is None or provocation.spare is not None)


def _no_limit_failure(case: Case, burst: Burst) -> Failure:
    """The signal to raise where no burst got a 429."""
    expect_counted(case, burst)
    facts = case.profile.rate_limit
    if facts.limit is None or facts.window_s is None:
        lacking = "limit" if facts.limit is None else "window_s"
        remedy = "a limit and its window, or a higher rate_limit.max_requests, are needed"
        return MissingFact(f"rate_limit.{lacking}", f"no 429 was met ({burst.measure}): {remedy}")
    if exceeds(facts, burst):
        return Inconclusive(
            f"the declared limit is not enforced: {burst.measure}", burst.last, cause=cause_of("RATE-5")
        )
    return Inconclusive(slow_burst_message(case, burst), burst.last, cause="rate limit")


async def expect_no_lasting_limit(case: Case, requirement: str) -> None:
    """Violated where a lasting limit of the operation violates this requirement.

    Once a key was found to be used up, what else may be is not waited for in silence where it can be provoked.
    """
    watch = case.runtime.sender.limit_watch
    known = requirement == "IDEM-8" and watch.uses_keys_up and case.profile.rate_limit.provoke
    if not known and watch.is_suspect(case.operation.id, requirement):
        await case.runtime.sender.examine_limits()
    if limit := watch.violation(case.operation.id, requirement):
        raise case.violation(limit.message, limit.first, limit.last, expected="another answer than 429")


async def _limit_all(case: Case) -> _Outcomes:
    """Limits every operation of the run's exclusive checks."""
    operation_ids = {*case.runtime.settings.exclusive_operations, case.operation.id}
    facts, fixtures = case.profile.rate_limit, case.runtime.fixtures
    operations = [operation for operation in case.contract.all if operation.id in operation_ids]
    if is_small(facts.limit):  # its window passes while the others are limited
        operations.sort(key=lambda operation: operation.id != WINDOW_OPERATION)
    elif has_short_window(facts):  # the others recover during its window
        operations.sort(key=lambda operation: operation.id == WINDOW_OPERATION)
    cases = [Case(case.runtime, operation) for operation in operations]
    outcomes: _Outcomes = {}
    ready = await asyncio.gather(*(_prepare(item, outcomes) for item in cases))
    preparations = [prep for prep in ready if prep is not None]
    wait = wait_for(facts.longest_recovery_s, case.runtime.sender.limit_watch.longest_silence_s)
    if facts.prepare:
        await fixtures.http(facts.prepare, {}, "rate_limit.prepare")
    try:
        # as many complete bursts as fit into the concurrency, if bursts may overlap at all
        bursts_at_once = max(1, case.runtime.settings.concurrency // batch_size(case, facts.limit))
        bursts = asyncio.Semaphore(bursts_at_once)
        concurrency = len(preparations) if is_small(facts.limit) else 1
        await _run_each(preparations, outcomes, partial(_overrun, bursts=bursts), concurrency=concurrency)
        if has_short_window(facts):
            await _wait_for_last_window(outcomes, facts.window_s or 0.0)
        await _settle(preparations, outcomes, partial(poll_recovery_and_repeat, wait=wait), is_limited, wait)
        ageing = [prep for prep in preparations if prep.ages]  # before their tickets and codes end
        await _settle(ageing, outcomes, repeat_remaining_spare, is_retry_limited, Wait(wait.poll_s, silence_s=0.0))
        await _check_late_recoveries(preparations, outcomes)
        if facts.restore:
            await _overrun_further(preparations, outcomes, bursts_at_once)
    finally:
        if facts.restore:
            await fixtures.http(facts.restore, {}, "rate_limit.restore")
    poll_s = 0.0 if case.runtime.sender.limit_watch.uses_keys_up else wait.poll_s
    await _settle(preparations, outcomes, repeat_remaining_spare, is_retry_limited, Wait(poll_s, silence_s=0.0))
    if not facts.restore:
        await _overrun_further(preparations, outcomes, bursts_at_once)
    return outcomes


def has_short_window(facts: RateLimit) -> bool:
    """Whether the stated limit is over soon after a burst, so that most polls before that would be wasted."""
    return facts.window_s is not None and facts.window_s <= _SHORT_WINDOW_S


async def _wait_for_last_window(outcomes: _Outcomes, window_s: float) -> None:
    """Returns when the window of the operation that was limited last must be over."""
    provocations = [outcome for outcome in outcomes.values() if isinstance(outcome, Provocation)]
    ends = [p.limited_at + window_s for p in provocations if p.limited_answer and p.recovered_after_s is None]
    await asyncio.sleep(max([0.0, *(end - time.monotonic() for end in ends)]))


async def _overrun_further(preparations: Sequence[Preparation], outcomes: _Outcomes, at_once: int) -> None:
    """The bursts after the recovery: what is counted separately, and whether the limit is still in force."""
    await _separate_all(preparations, outcomes, at_once)
    observed = [prep for prep in preparations if prep.case.operation.id == WINDOW_OPERATION]
    await _run_each(observed, outcomes, overrun_again, concurrency=1)


async def _separate_all(preparations: Sequence[Preparation], outcomes: _Outcomes, at_once: int) -> None:
    """Observes what is counted separately: side by side first, then alone where nothing was answered.

    What is answered between two 429s is counted separately, whatever else is sent; a 429 may have another reason.
    """
    if at_once > 1:
        await _run_each(preparations, outcomes, partial(observe_separation, attempts=1), concurrency=at_once)
    await _run_each(preparations, outcomes, observe_separation, concurrency=1)


async def _run_each(preparations: Sequence[Preparation], outcomes: _Outcomes, step: _Step, *, concurrency: int) -> None:
    slots = asyncio.Semaphore(max(1, concurrency))

    async def run_limited(prep: Preparation) -> None:
        async with slots:
            await _run_step(prep, outcomes, step)

    await asyncio.gather(*(run_limited(prep) for prep in preparations))


async def _settle(
    preparations: Sequence[Preparation],
    outcomes: _Outcomes,
    step: _Step,
    is_pending: Callable[[Provocation], bool],
    wait: Wait,
) -> None:
    """Runs the step until no operation is pending, or the wait for one was unsuccessful."""

    def is_waiting(prep: Preparation) -> bool:
        outcome = outcomes[prep.case.operation.id]
        return isinstance(outcome, Provocation) and outcome.limited_answer is not None and is_pending(outcome)

    ready_preps = [prep for prep in preparations if isinstance(outcomes[prep.case.operation.id], Provocation)]
    await settle(ready_preps, lambda prep: _run_step(prep, outcomes, step), is_waiting, wait)


async def _check_late_recoveries(preparations: Sequence[Preparation], outcomes: _Outcomes) -> None:
    """Examines Retry-After separately where an operation recovered later than its 429 said."""
    late = []
    for prep in preparations:
        provocation = outcomes[prep.case.operation.id]
        if (
            isinstance(provocation, Provocation)
            and provocation.limited_answer is not None
            and provocation.recovered_after_s is not None
        ):
            stated_delay_s = retry_after_s(provocation.limited_answer)
            if stated_delay_s is not None and provocation.recovered_after_s > stated_delay_s + SLACK_S:
                late.append(prep)
    if late and late[0].case.profile.rate_limit.retry_after:
        await _run_each(late[:_RETRY_AFTER_WAITS], outcomes, examine_retry_after, concurrency=1)


async def _prepare(case: Case, outcomes: _Outcomes) -> Preparation | None:
    """Creates what is needed before the bursts: nothing can be created while the limit is in force."""
    current_check.set(f"check_rate_limit[{case.operation.id}]")
    try:
        prep = Preparation(case, with_spare_credential(case, await case.arrange()))
        prep.other = await other_credential_request(case, prep.request)
        prep.forms = forms_of(case, prep.request) if case.operation.id == EVASION_OPERATION else {}
        if case.operation.idempotent:
            await prep.find_spare()
        return prep
    except FAILURES as error:
        outcomes[case.operation.id] = error
        return None


async def _run_step(prep: Preparation, outcomes: _Outcomes, step: _Step) -> None:
    name = prep.case.operation.id
    previous = outcomes.get(name)
    if previous is not None and (not isinstance(previous, Provocation) or previous.limited_answer is None):
        return
    current_check.set(f"check_rate_limit[{name}]")
    try:
        async with prep.case.runtime.sender.reserve_starts():
            outcomes[name] = await step(prep, previous)
    except FAILURES as error:
        outcomes[name] = error


async def _overrun(prep: Preparation, _: Provocation | None, *, bursts: asyncio.Semaphore) -> Provocation:
    """Sends bursts until a separate valid request was limited, for idempotent operations.

    `bursts`: a semaphore, held by a burst. What follows it goes before other bursts: the limit may soon be over.
    """
    provocation: Provocation | None = None
    for number in range(_BURSTS):
        if number and not await _renew_spare(prep):
            break
        if not number and prep.ages:
            await _renew_spare(prep)  # it was made before other operations were limited
        async with bursts:
            burst = await _burst(prep)
        provocation = provocation or Provocation(burst)
        if burst.limited_answer is None:
            break
        limited_at = time.monotonic()
        answer, was_separate = await asyncio.gather(
            _send_good_request(prep, among=number), _sees_separate_count(prep, provocation)
        )
        provocation = replace(provocation, limited_answer=burst.limited_answer, limited_at=limited_at)
        if was_separate:
            provocation = replace(provocation, separation=Separation(was_answered=True))
        if prep.forms and number == 0:
            provocation = replace(provocation, evasions=await observe_evasion(prep.case, burst, prep.forms))
        if prep.case.operation.id == WINDOW_OPERATION and number == 0:
            burst = await continue_through_window(prep.case, prep.request, burst)
            provocation = _with_window(provocation, burst)
        if answer is None or answer.status == 429:
            return replace(provocation, spare=answer)
    assert provocation is not None
    if prep.request.key is None or _is_counted(prep.case):
        return provocation
    # a 429 to a duplicate of a call in progress shows no limit, and the operation need not have one
    return replace(provocation, burst=replace(provocation.burst, limited_answer=None), limited_answer=None)


def _with_window(provocation: Provocation, burst: Burst) -> Provocation:
    """With the burst through the window: a request that passed in it shows that the limit has recovered."""
    now = time.monotonic()
    if burst.recovery is None:
        return replace(provocation, burst=burst, limited_at=now)
    recovered_after_s = now - provocation.limited_at
    return replace(provocation, burst=burst, recovered_after_s=recovered_after_s, last=burst.recovery)


async def _burst(prep: Preparation) -> Burst:
    """Sends a burst, with new keys if repeats of one call pass: a replay need not be counted, nor a refusal."""
    burst = await send_burst(prep.case, prep.request)
    if prep.request.key and (burst.limited_answer is None or exceeds(prep.case.profile.rate_limit, burst)):
        return await send_separate_burst(prep, await send_burst(prep.case, prep.request, fresh_keys=True))
    return burst


async def _send_good_request(prep: Preparation, *, among: int) -> Answer | None:
    """The answer to the valid request, sent before other bursts: the limit may be over soon. From the second burst on
    it is sent among more requests."""
    if prep.spare is None:
        return None
    most = max(_AROUND, prep.case.profile.rate_limit.max_requests // 4)
    around = [prep.request] * min(_AROUND << among - 1, most) if among else []
    token = high_priority.set(True)
    try:
        requests = [*around, prep.spare, *around]
        answers = await asyncio.gather(
            *(prep.case.send(r, "good and limited", accept_statuses=LIMITED_STATUSES) for r in requests)
        )
        return answers[len(around)]
    finally:
        high_priority.reset(token)


async def _sees_separate_count(prep: Preparation, provocation: Provocation) -> bool:
    """Whether another credential's request is answered during this burst's limit. If not, that shows nothing yet."""
    if prep.other is None or provocation.separation is not None:
        return False
    token = high_priority.set(True)
    try:
        answer, limited_again = await send_between(prep.case, prep.request, prep.other)
        return answer.status != 429 and limited_again.status == 429
    finally:
        high_priority.reset(token)


async def _renew_spare(prep: Preparation) -> bool:
    """Arranges a new valid request, after the previous one was not limited in time."""
    previous = prep.spare, prep.oracle, prep.twin
    try:
        await prep.find_spare()
    except FAILURES:
        prep.spare, prep.oracle, prep.twin = previous
        return False
    return True
