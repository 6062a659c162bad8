"""What is sent for one limited operation after its bursts: each step takes a provocation, and adds what it shows."""

from __future__ import annotations

import time
from contextlib import suppress

from msgspec.structs import replace

from conformance.checks.support.bursts import LIMITED_STATUSES, send_burst
from conformance.checks.support.provocation import FAILURES, Preparation, Provocation
from conformance.checks.support.recovery import Wait
from conformance.checks.support.retry_after import observe_retry_after
from conformance.checks.support.separate_counts import ATTEMPTS, Separation, observe, other_request
from conformance.checks.support.signals import Inconclusive


async def poll_recovery(prep: Preparation, provocation: Provocation | None, *, wait: Wait) -> Provocation:
    """Polls whether the operation answers again. From the second time on under another key too: the first may be used
    up."""
    assert provocation is not None
    if provocation.recovered_after_s is not None:
        return provocation
    answer = await prep.case.send(prep.request, "recovery", accept_statuses=LIMITED_STATUSES)
    if answer.status in LIMITED_STATUSES and prep.request.key and provocation.last is not None:
        answer = await prep.case.send(
            prep.request.with_fresh_key(), "recovery, another key", accept_statuses=LIMITED_STATUSES
        )
    elapsed_s = None if answer.status in LIMITED_STATUSES else time.monotonic() - provocation.limited_at
    return replace(provocation, recovered_after_s=elapsed_s, last=answer, waited_s=wait.silence_s)


def is_limited(provocation: Provocation) -> bool:
    return provocation.recovered_after_s is None


async def repeat_spare(prep: Preparation, provocation: Provocation | None) -> Provocation:
    """Repeats the valid request that was limited.

    Its effects are counted before. They are not waited for again: what it names, a code or a ticket, may end soon.
    """
    assert provocation is not None
    if prep.spare is None or provocation.spare is None or provocation.recovered_after_s is None:
        return provocation
    effects = provocation.effects_while_limited
    if provocation.retry is None:
        answered_at_s = provocation.spare.at + provocation.spare.duration_s
        elapsed_s = max(0.0, prep.case.runtime.sender.elapsed_s - answered_at_s)
        effects = await prep.oracle.count_visible_effects(elapsed_s=elapsed_s) if prep.oracle else None
    retry = await prep.case.send(prep.spare, "after the limit", accept_statuses=LIMITED_STATUSES)
    effects_after = None
    if prep.oracle and retry.ok:
        with suppress(Inconclusive):  # RATE-4 alone needs them
            effects_after = await prep.oracle.effects_within()
    provocation = replace(provocation, effects_while_limited=effects, retry=retry, effects_after_retry=effects_after)
    if prep.twin is None or retry.ok or retry.status in LIMITED_STATUSES:
        return provocation
    return replace(provocation, twin=await prep.case.send(prep.twin, "as old, and never limited"))


async def poll_recovery_and_repeat(prep: Preparation, provocation: Provocation | None, *, wait: Wait) -> Provocation:
    """As soon as it answers again, the limited request is repeated where it names a ticket or a code, which may end."""
    provocation = await poll_recovery(prep, provocation, wait=wait)
    if prep.ages and provocation.recovered_after_s is not None and provocation.retry is None:
        return await repeat_spare(prep, provocation)
    return provocation


async def repeat_remaining_spare(prep: Preparation, provocation: Provocation | None) -> Provocation:
    """The same, unless it was repeated already and was not limited."""
    assert provocation is not None
    is_done = provocation.retry is not None and not is_retry_limited(provocation)
    return provocation if is_done else await repeat_spare(prep, provocation)


def is_retry_limited(provocation: Provocation) -> bool:
    return provocation.retry is not None and provocation.retry.status in LIMITED_STATUSES


async def examine_retry_after(prep: Preparation, provocation: Provocation | None) -> Provocation:
    assert provocation is not None
    return replace(provocation, retry_after=await observe_retry_after(prep.case, prep.request) or ())


async def observe_separation(
    prep: Preparation, provocation: Provocation | None, *, attempts: int = ATTEMPTS
) -> Provocation:
    """Observes whether a separately counted request is answered while this one is limited."""
    assert provocation is not None
    if isinstance(provocation.separation, Separation) and provocation.separation.was_answered:
        return provocation
    if not prep.case.profile.rate_limit.per or provocation.recovered_after_s is None:
        return provocation
    try:
        other = await other_request(prep.case, prep.request)
        return replace(provocation, separation=await observe(prep.case, prep.request, other, attempts=attempts))
    except FAILURES as error:
        return replace(provocation, separation=error)


async def overrun_again(prep: Preparation, provocation: Provocation | None) -> Provocation:
    """Sends another burst after the recovery from the first one. None in quick depth."""
    assert provocation is not None
    if provocation.recovered_after_s is None or prep.case.profile.limits.depth == "quick":
        return provocation
    try:
        return replace(provocation, second_burst=await send_burst(prep.case, prep.request))
    except FAILURES as error:  # the other checks of the operation need what the first burst showed
        return replace(provocation, second_burst=error)
