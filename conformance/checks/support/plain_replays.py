"""A call that is repeated unchanged: what its answers say, and how often it took effect (IDEM-1, IDEM-2)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.certainty import is_certain
from conformance.checks.support.effects import Oracle
from conformance.checks.support.registry import cause_of
from conformance.checks.support.replays import fix_proof_id, replay
from conformance.checks.support.signals import OBSTACLES, Inconclusive
from conformance.client.fixtures import NotSent
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.core.errors import FixtureError

_REPLAYS: Final = 3
_LONG_S: Final = 30.0
"""A retention time in which every sign shows its effect."""
Problem = Inconclusive | MissingFact | NotSent | FixtureError
_PROBLEMS: Final = (Inconclusive, *OBSTACLES)
"""What may prevent an observation of effects, and says nothing of the replays."""


@dataclass(frozen=True)
class PlainReplays:
    """The answers to one call and to its replays."""

    first: Answer
    repeats: tuple[Answer, ...]
    effects: int | Problem | None
    """The effects of the replays; the reason where they cannot be counted; None where they were not watched."""
    single_effects: int = 0
    """The effects of the first call; 0 where they cannot be counted or were not watched."""


class _ReplayRecord:
    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.replays: PlainReplays | None = None


async def plain_replays(case: Case, *, needs_effects: bool = False) -> PlainReplays:
    """A call of the case's operation that was repeated three times; the checks of replays share it.

    Raises what `Case.control` raises, and the next check then sends a call of its own. Where keys are kept for seconds
    only, a sign that lags would let the key end before its replays: effects are then watched for who needs them.
    """
    retention_s = case.profile.idempotency.retention_s if case.profile.idempotency else None
    is_watched = needs_effects or retention_s is None or retention_s >= _LONG_S
    name = f"plain replays of {case.operation.id}, {'watched' if is_watched else 'unwatched'}"
    known = case.runtime.memory.setdefault(name, _ReplayRecord())
    assert isinstance(known, _ReplayRecord)
    async with known.turn:
        if known.replays is None:
            replays = await _send_replays(case, is_watched)
            if not is_certain(case):
                return replays
            known.replays = replays
        else:
            case.answers += [answer.ref for answer in (known.replays.first, *known.replays.repeats)]
        return known.replays


async def require_single_effect(case: Case, *answers: Answer) -> None:
    """Inconclusive where one call takes effect several times without any race or limit: that is IDEM-2's question."""
    replays = await plain_replays(case, needs_effects=True)
    if replays.single_effects > 1:
        raise Inconclusive("one call takes effect several times", *answers, cause=cause_of("IDEM-2"))


async def _send_replays(case: Case, is_watched: bool) -> PlainReplays:
    request = fix_proof_id(await case.arrange())
    oracle = await _watch(case, request) if is_watched else None
    first = await case.control(request)
    single = await _single_effects(case, oracle, first) if isinstance(oracle, Oracle) else oracle
    repeats = tuple([await replay(case, first.request) for _ in range(_REPLAYS)])
    if isinstance(oracle, Oracle) and isinstance(single, int):
        return PlainReplays(first, repeats, await _count(oracle), single)
    return PlainReplays(first, repeats, single)


async def _watch(case: Case, request: Request) -> Oracle | Problem | None:
    if case.operation.id not in case.profile.effects:
        return None
    try:
        return await Oracle.watch(case, request)
    except _PROBLEMS as problem:
        return problem


async def _single_effects(case: Case, oracle: Oracle, first: Answer) -> int | Problem:
    """The effects of the first call; the reason where none is seen, so that those of its replays cannot be counted."""
    try:
        if count := await oracle.count_effects_of_one_call():
            return count
    except _PROBLEMS as problem:
        return problem
    cause = f"effects.{case.operation.id}"
    return Inconclusive("the effect of the first call cannot be seen", first, cause=cause)


async def _count(oracle: Oracle) -> int | Problem:
    try:
        return await oracle.count_effects()
    except _PROBLEMS as problem:
        return problem
