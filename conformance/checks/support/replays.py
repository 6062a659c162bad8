"""What the idempotency checks share: equality of replays, and bodies that differ in one meaningful leaf."""

from __future__ import annotations

import asyncio
import dataclasses
import uuid
from collections.abc import Iterator
from typing import Any

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson

_SETTLE_S = 1.5
"""So long, and twice as long as a call takes, a key that was answered may still say that it is in use."""
_LONGEST_PAUSE_S = 0.8


def without(value: Any, volatile: tuple[str, ...]) -> Any:
    """A value without what may differ in a replay. A `*` in a pointer stands for every element."""
    for where in volatile:
        for found in list(_expand(value, where)):
            if found and pointer.has(value, found):
                value = pointer.remove(value, found)
    return value


def _expand(value: Any, where: str) -> Iterator[str]:
    head, star, rest = where.partition("/*")
    if not star:
        yield where
    elif pointer.has(value, head):
        inside = pointer.get(value, head)
        names = list(inside) if isinstance(inside, dict) else range(len(inside)) if isinstance(inside, list) else ()
        for name in names:
            yield from _expand(value, f"{head}{pointer.join(name)}{rest}")


def alike(case: Case, first: Answer, second: Answer) -> bool:
    """Whether two answers say the same: status and JSON value, but for the volatile members."""
    if first.status != second.status:
        return False
    return strictjson.same(without(first.value, case.volatile), without(second.value, case.volatile))


def pinned(request: Request) -> Request:
    """A token request whose proof keeps its jti, so that it can be repeated to the letter."""
    if request.proof is None:
        return request
    return request.with_proof(dataclasses.replace(request.proof, claims={"jti": str(uuid.uuid4())}))


async def replay(case: Case, request: Request, purpose: str = "replay") -> Answer:
    """The answer to a request that was answered 200 before; a 409 is given a moment to settle.

    A retry of the token exchange has a fresh proof. Where a target takes that for another call (OA-11 asks about it),
    the very same proof is tried; a target that then refuses the used jti leaves nothing to be said.
    """
    if request.proof is not None:
        fresh = await _settled(case, request.with_proof(dataclasses.replace(request.proof, claims={})), purpose)
        if fresh.status not in (400, 401, 409):
            return fresh
        same = await _settled(case, request, f"{purpose}, same proof")
        if same.status == 401 and fresh.status == 409:
            raise Inconclusive(
                "a retry needs a fresh proof, and with one it counts as another call (OA-11)", fresh, same
            )
        return same if same.ok else fresh
    return await _settled(case, request, purpose)


async def _settled(case: Case, request: Request, purpose: str) -> Answer:
    answer = await case.send(request, purpose)
    left_s = _SETTLE_S + 2 * min(
        case.runtime.flow.slowest_s.get(request.operation.id, 0.0), case.profile.limits.timeout_s
    )
    pause_s = 0.1
    while answer.status == 409 and left_s > 0:
        await asyncio.sleep(pause_s)
        left_s, pause_s = left_s - pause_s, min(_LONGEST_PAUSE_S, 2 * pause_s)
        answer = await case.send(request, purpose)
    return answer


def expect_same(case: Case, first: Answer, again: Answer) -> None:
    """Violated unless `again` replays `first`."""
    if again.status != first.status:
        raise case.violated("the replay has another status", first, again, expected=first.summary)
    if not alike(case, first, again):
        where = strictjson.first_difference(without(first.value, case.volatile), without(again.value, case.volatile))
        raise case.violated(
            f"the replay differs from the first answer at {where or 'its root'}",
            first,
            again,
            expected="the same JSON value, but for members declared volatile",
            observed=f"another value at {where or 'the root'}",
        )


def free_leaves(request: Request) -> list[tuple[str, Any]]:
    """The places and values of the body's leaves that may be changed: no placeholder's, and not the key's own."""
    taken, carried = request.scope.values(), request.idempotency.place if request.idempotency else ""
    leaves = pointer.leaves(request.body)
    return [(where, leaf) for where, leaf in leaves if where and leaf not in taken and where != carried]


async def variations(case: Case, request: Request, where: str) -> list[Any]:
    """Bodies that differ from the request's in the leaf at `where` alone and may well be valid, likeliest first."""
    leaf = pointer.get(request.body, where)
    told = [pointer.get(template, where) for template in case.facts.bodies if pointer.has(template, where)]
    others = [await case.runtime.arranger.rendered(request, template) for template in told]
    from_others = [pointer.replace(request.body, where, other) for other in others if not strictjson.same(other, leaf)]
    likely = [*from_others, *case.runtime.alternatives(case.operation.request_schema).of(request.body, where)]
    last_resort = f"{leaf}x" if isinstance(leaf, str) else "x"  # surely refused alone, which tells that it is looked at
    return [*likely, pointer.replace(request.body, where, last_resort)]
