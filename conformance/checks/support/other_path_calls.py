"""A key that was used on one resource, sent on another one: the checks that judge its answer share the two calls."""

from __future__ import annotations

import asyncio

from conformance.checks.support.case import Case
from conformance.checks.support.certainty import is_certain
from conformance.client.response import Answer


class _Calls:
    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.answers: tuple[Answer, Answer] | None = None


async def key_on_another_path(case: Case) -> tuple[Answer, Answer]:
    """The 200 of a call, and the answer to the same key with another path value and, where it can be, the same body.

    A further case where the profile has one resource of this kind only. Inconclusive where the call is refused.
    """
    known = case.runtime.memory.setdefault(f"key on another path of {case.operation.id}", _Calls())
    assert isinstance(known, _Calls)
    async with known.turn:
        if known.answers is not None and case.runtime.sender.elapsed_s < known.answers[0].at + case.key_age_s:
            case.answers += [answer.ref for answer in known.answers]
            return known.answers
        first = await case.first_call()
        other = await case.arrange()
        case.require_case(other.path != first.request.path, "the profile has one resource of this kind only")
        if not case.named_in_body:
            other = other.with_body(first.request.body)
        second = await case.send(other.with_key(first.request.key), "the same key on another path")
        if is_certain(case):
            known.answers = first, second
        return first, second
