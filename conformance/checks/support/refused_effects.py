"""Whether a refused call was carried out all the same: the state of its resource shows it where no sign does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.effects import Oracle
from conformance.checks.support.invalid_bodies import Change
from conformance.checks.support.replays import have_equal_values
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.transitions import send_settled
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core.messages import plural
from conformance.core.outcomes import Level

_PROOFS: Final = 2
Defect = Callable[[Request], Awaitable[Request]]
"""The good call with one defect, for which it is refused."""


def as_defect(change: Change) -> Defect:
    """A change that awaits nothing as a defect."""

    async def defect(request: Request) -> Request:
        return change(request)

    return defect


def level_of_failed_control(case: Case, usual: Level | None = None) -> Level | None:
    """A warning on a hosted session, which may end with any failed attempt: that looks the same."""
    return Level.RECOMMENDED if case.operation.auth == "none" else usual


@asynccontextmanager
async def examine_failed_control(
    case: Case, defect: Defect, purpose: str, *, level: Level | None = None
) -> AsyncIterator[None]:
    """Where the control after a refused call fails, it is examined whether that call was carried out.

    `level` is that of the violation.
    """
    try:
        yield
    except Inconclusive as doubt:
        if doubt.cause == f"control:{case.operation.id}":
            await expect_not_carried_out(case, defect, purpose, level=level)
        raise


async def expect_not_carried_out(case: Case, defect: Defect, purpose: str, *, level: Level | None = None) -> None:
    """Violated where the good call is refused after the defective one as it is after a good one.

    The good call alone is answered 200. What refuses it after the defective call, on each of two fresh resources, is
    the same refusal, status and value, as on a resource on which the good call was carried out: the refused call has
    led to that state. A failed token exchange may use its code up, which is another question (OA-2).
    """
    if case.operation.auth == "oauth":
        return
    good = await case.control(await case.arrange(), "the good call alone")
    known = await send_settled(case, good.request, "the good call after a good one")
    for _ in range(_PROOFS):
        request = await case.arrange()
        refused = await case.send(await defect(request), purpose)
        later = await send_settled(case, request, "the good call afterwards")
        if not (refused.is_refused and later.is_refused and _are_equal_refusals(case, known, later)):
            return
    await case.control(await case.arrange(), "the good call alone, once more")  # fixtures may have come to an end
    message = f"{purpose} was answered {refused.summary} and yet carried out: the good call is refused afterwards"
    raise case.violation(message, good, known, refused, later, expected="200", level=level)


def _are_equal_refusals(case: Case, first: Answer, second: Answer) -> bool:
    volatile = (*case.volatile, *case.profile.errors_volatile)
    return first.status == second.status and have_equal_values(first, second, volatile)


async def expect_no_effect(case: Case, request: Request, defect: Change, purpose: str) -> None:
    """Violated if the defective request takes effect although it is refused: a sign shows it, or the good request."""
    oracle = await Oracle.watch(case, request)
    case.require_case(oracle.sees_refused_calls, "every sign is read by the answer of a call that is carried out")
    answer = await case.send(defect(request).with_fresh_key(), purpose)
    if answer.ok:
        raise Inconclusive(f"{purpose} was not refused", answer, cause=f"control:{case.operation.id}")
    readable = oracle.readable_signs
    if count := await oracle.count_effects(is_proven_later=True):
        message = f"{purpose} was answered {answer.summary} and yet took effect"
        raise case.violation(message, answer, expected="no effect", observed=plural(count, "effect"))

    async with examine_failed_control(case, as_defect(defect), purpose, level=level_of_failed_control(case)):
        await case.control(request)
    if not await oracle.effects_within() or not any(watch.has_moved for watch in readable):
        raise Inconclusive("the effect of the control cannot be seen either", cause=f"effects.{case.operation.id}")
