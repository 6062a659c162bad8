"""Concurrent requests, repeated often enough to find rare races."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import comb
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.certainty import is_certain
from conformance.checks.support.effects import Oracle
from conformance.checks.support.plain_replays import require_single_effect
from conformance.checks.support.registry import cause_of
from conformance.checks.support.replays import have_equal_values, replay
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.checks.support.survival import require_other_alone
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.profile.behavior import RateLimit

_CALLS: Final = 9
_QUICK_CALLS: Final = 4
"""In quick depth, where a request is dear: an implementation without any lock shows with few rivals too."""
ROUNDS: Final = 3
"""Each round has nine rivals of the first call: a race lost one time in ten, on one operation only, is missed in
0.9 ** 27 of all runs, which is 6 %."""
_USUAL_WINDOW_S: Final = 1.0
_LONGEST_SILENCE_S: Final = 2.0
_LIMITED: Final = "rivals were limited"
_CHANCE: Final = 1e-6
"""What is likelier than this may have happened by accident."""
_ACCEPTED_STATUSES: Final = frozenset({409, 429, 500, 502, 503, 504})


def concurrent_calls(case: Case) -> int:
    """How many calls are sent together in the depth of the run."""
    return _QUICK_CALLS if case.profile.limits.depth == "quick" else _CALLS


async def send_together(case: Case, requests: Sequence[Request], purpose: str) -> list[Answer]:
    """The answers to concurrent requests; none is repeated, whatever its status.

    After rivals of this check that were limited, nothing else is sent before them for the length of a window.
    """
    is_limited = case.is_repeated and _LIMITED in case.runtime.memory
    silence_s = _window_s(case.profile.rate_limit) if is_limited else 0.0
    async with case.runtime.sender.reserve_starts(len(requests), silence_s=silence_s):
        sent = [case.send(request, purpose, accept_statuses=_ACCEPTED_STATUSES) for request in requests]
        return list(await asyncio.gather(*sent))


def _window_s(facts: RateLimit) -> float:
    """The length of the window of the limit that is in force during a run, in seconds, or a usual one."""
    stated_s = facts.run_window_s if facts.prepare else facts.window_s
    return min(_LONGEST_SILENCE_S, _USUAL_WINDOW_S if stated_s is None else 1.2 * stated_s)


def expect_overlap(case: Case, answers: Sequence[Answer]) -> None:
    """Inconclusive where no call was under way while another one was: without rivals nothing was raced for.

    What was answered 429 is not a rival. Where that may be the reason, the check runs again.
    """
    if _have_competed(answers):
        return
    if any(answer.status == 429 for answer in answers):
        case.doubts.has_limited_rivals = case.runtime.memory[_LIMITED] = True
        raise Inconclusive("all calls but one at a time were limited", *answers[:2], cause="rate limit")
    advice = "raise limits.concurrency, or --concurrency" if case.runtime.settings.concurrency == 1 else "run it again"
    raise Inconclusive(f"no two of the calls were under way together: {advice}", *answers[:2], cause="no concurrency")


def _have_competed(answers: Sequence[Answer]) -> bool:
    """Whether a call that was not limited was under way while another one was."""
    rivals = sorted((answer for answer in answers if answer.status != 429), key=lambda answer: answer.at)
    ends = accumulate((answer.at + answer.duration_s for answer in rivals), max)
    return any(answer.at < end for answer, end in zip(rivals[1:], ends, strict=False))


@dataclass
class Duplicates:
    """Concurrent equal calls, and one more after them."""

    request: Request
    oracle: Oracle | None
    """Watches the effects of the call since before it, where they can be seen."""
    answers: Sequence[Answer]
    final: Answer

    async def is_second_call(self, case: Case, conflict: Answer) -> bool:
        """Whether a call with another key gets the same 409: then the duplicate was carried out.

        Where that call is carried out instead, its effect is none of the duplicates, whose effects count no more.
        """
        fresh = await case.send(self.request.with_fresh_key(), "another key")
        if fresh.ok:
            self.oracle = None
        volatile = (*case.volatile, *case.profile.errors_volatile)
        return fresh.status == 409 and have_equal_values(conflict, fresh, volatile)


class DuplicateBursts:
    """The bursts of equal calls for one operation, which the checks of duplicates share."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._bursts: dict[int, Duplicates] = {}

    async def get(self, case: Case, number: int) -> Duplicates:
        """The burst with this number, from 1. One with lost answers, an old code or no rivals is sent again.

        Raises what `Case.send` raises.
        """
        async with self._turn:
            known = self._bursts.get(number)
            if known is not None:
                case.answers += [answer.ref for answer in (*known.answers, known.final)]
                return known
            burst = await _send_duplicates(case)
            if is_certain(case) and _have_competed(burst.answers):
                self._bursts[number] = burst
            return burst


async def duplicates(case: Case, number: int) -> Duplicates:
    """The burst of equal calls with this number, from 1, for the case's operation."""
    bursts = case.runtime.memory.setdefault(f"duplicates of {case.operation.id}", DuplicateBursts())
    assert isinstance(bursts, DuplicateBursts)
    return await bursts.get(case, number)


async def _send_duplicates(case: Case) -> Duplicates:
    request = await case.arrange()
    oracle = await Oracle.watch_if_visible(case, request)
    answers = await send_together(case, [request] * concurrent_calls(case), "concurrent duplicate")
    return Duplicates(request, oracle, answers, await replay(case, request, "after the duplicates"))


def without_gateway_trouble(answers: Sequence[Answer]) -> list[Answer]:
    """The answers without those of a gateway, unless they are many: then it is the calls that bring them."""
    others = [answer for answer in answers if not answer.gateway_trouble]
    return others if len(answers) - len(others) <= len(answers) // 3 else list(answers)


def without_accidents(case: Case, answers: Sequence[Answer]) -> list[Answer]:
    """As `without_gateway_trouble`, and also without many, if requests of the run that are alone meet it as often."""
    sender, trouble = case.runtime.sender, sum(answer.gateway_trouble for answer in answers)
    share = sender.wait_stats.counts["lost"] / max(1, sender.requests)
    if comb(len(answers), trouble) * share**trouble > _CHANCE:
        return [answer for answer in answers if not answer.gateway_trouble]
    return without_gateway_trouble(answers)


async def expect_declared(case: Case, answers: Sequence[Answer]) -> None:
    """Violated unless every rival was answered 200, a declared 4xx or 429."""
    for answer in without_accidents(case, answers):
        if not (answer.ok or (answer.has_declared_status and answer.is_refused) or answer.status == 429):
            message = "a concurrent rival broke the answer"
            await require_other_alone(case, answer, message)
            raise case.violation(message, answer, expected="a declared 4xx")


async def expect_one_effect(case: Case, oracle: Oracle, request: Request, description: str, *answers: Answer) -> None:
    """Inconclusive where one call has several effects without any race, or a replay has one: IDEM-2's question."""
    try:
        await oracle.expect_one_effect(case, description, *answers)
    except Violation as violation:
        await require_single_effect(case, *answers)
        repeat = await replay(case, request, "a replay alone")
        if violation.observed != "0" and await oracle.count_effects():
            raise Inconclusive("a replay took effect again", *answers, repeat, cause=cause_of("IDEM-2")) from violation
        raise
