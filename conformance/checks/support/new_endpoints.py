"""Webhook endpoints that a check creates, and updates of them."""

from __future__ import annotations

import asyncio
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.certainty import is_certain
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.signs import LADDER_S
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer

_CREATE: Final = "createInstallationWebhook"
_LONG_PAUSES_S: Final = (4.0, 12.0)
"""A store that indexes by batches may show what is new only after some seconds."""


class _Calls:
    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.answers: tuple[Answer, Answer] | None = None


async def create_endpoint(case: Case) -> tuple[Answer, Request]:
    """A new endpoint, and a good PATCH of it."""
    where = case.profile.webhooks.id
    case.need(where, "webhooks.id", "the place of the new endpoint's id is needed")
    create_answer = await case.control(await case.arrange(case.contract.operations[_CREATE]), "create")
    if not pointer.has(create_answer.value, where):
        raise Inconclusive(f"the answer to create has no {where}", create_answer, cause=f"control:{_CREATE}")
    return create_answer, await update_of(case, create_answer)


async def update_of(case: Case, create_answer: Answer) -> Request:
    """A good PATCH of the endpoint that was created, when it must be visible by what the profile states."""
    visible_at = create_answer.at + create_answer.duration_s + case.profile.visible_after_s(_CREATE)
    await asyncio.sleep(max(0.0, visible_at - case.runtime.sender.elapsed_s))
    update = await case.arrange(case.contract.operations["updateInstallationWebhook"], prove_control=False)
    name = update.operation.path_parameters[0]
    return update.with_path(**{name: str(pointer.get(create_answer.value, case.profile.webhooks.id))})


async def poll_copies(case: Case, answer: Answer) -> Answer:
    """The answer to the update, or to another attempt within the time that a copy of a store may lag behind."""
    for pause_s in LADDER_S if answer.status == 404 else ():
        await asyncio.sleep(pause_s)
        answer = await case.send(answer.request.with_fresh_key(), "update what was created, later")
        if answer.status != 404:
            case.note("a new endpoint is found by PATCH some time later only")
            break
    return answer


async def expect_no_lag(case: Case, create_answer: Answer, answer: Answer) -> None:
    """Inconclusive where the endpoint is found after a long time, if the profile states none that it may take."""
    for pause_s in () if case.profile.visible_after_s(_CREATE) else _LONG_PAUSES_S:
        await asyncio.sleep(pause_s)
        later = await case.send(answer.request.with_fresh_key(), "update what was created, much later")
        if later.status != 404:
            message = (
                f"a new endpoint is found {later.at - create_answer.at:.0f} s later, and how long it may take is not"
            )
            raise Inconclusive(
                f"{message} stated (effects.{_CREATE}, within_s)", create_answer, later, cause="within_s"
            )


async def updated_endpoint(case: Case) -> tuple[Answer, Answer]:
    """The answer that has created an endpoint, and that to its update; the checks that ask soon share both."""
    known = case.runtime.memory.setdefault("an updated endpoint", _Calls())
    assert isinstance(known, _Calls)
    async with known.turn:
        if known.answers is not None and case.runtime.sender.elapsed_s < known.answers[0].at + case.key_age_s:
            case.answers += [answer.ref for answer in known.answers]
            return known.answers
        created, update = await create_endpoint(case)
        answers = created, await case.send(update, "update what was created")
        if is_certain(case):
            known.answers = answers
        return answers
