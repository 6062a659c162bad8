"""Reads of several keys at once: each must be answered for its own caller."""

from __future__ import annotations

from itertools import product
from typing import Final

from conformance.checks.support.authorization import ALLOWED, names
from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.races import expect_overlap, send_together
from conformance.checks.support.replays import have_equal_values
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson

_KEYS: Final = 4
_MAX_DIFFERENCES: Final = 1000
_CALLS: Final = 3
"""For each key; one fewer in quick depth."""


async def expect_own_answers(case: Case) -> None:
    """Violated where a key is answered what another one gets when it asks alone."""
    keys = case.profile.credentials
    allowed = names(case.profile, case.operation, ALLOWED)
    distinct = {(keys[name].scopes, keys[name].installation): name for name in reversed(allowed)}
    chosen = sorted(distinct.values(), key=allowed.index)[:_KEYS]
    need_text = "two active keys of different scopes or installations are needed"
    case.need_credential(len(chosen) > 1, need_text, lambda first: first.active)
    await case.runtime.controls.prove(case.operation)
    separate = {name: await case.answer_to(name) for name in chosen}
    if refused := next((answer for answer in separate.values() if not answer.ok), None):
        raise control_failed(refused)
    request, calls = await case.arrange(), _CALLS - (case.profile.limits.depth == "quick")
    order = [name for _, name in product(range(calls), chosen)]
    answers = await send_together(case, [case.as_credential(request, name) for name in order], "several keys at once")
    for name, answer in zip(order, answers, strict=True):
        await _expect_own(case, request, name, answer, separate)
    expect_overlap(case, answers)


async def _expect_own(case: Case, request: Request, name: str, answer: Answer, separate: dict[str, Answer]) -> None:
    if not answer.ok or _is_equal(case, answer, separate[name]):
        return
    for other, known in separate.items():
        if other != name and _is_equal(case, answer, known) and not _is_equal(case, known, separate[name]):
            later = await case.send(case.as_credential(request, name), "the same key, alone again")
            if _is_equal(case, answer, later):  # what the answer shows has changed meanwhile
                return
            if _differing_places(case, separate[name], known) <= _differing_places(case, separate[name], later):
                return  # no more than two calls of one key, which may show the time
            message = f"at the same time as others, the key {name!r} was answered as the key {other!r} is"
            raise case.violation(message, separate[name], known, answer, expected=f"the answer to {name!r}")


def _differing_places(case: Case, first: Answer, second: Answer) -> set[str]:
    first_value, second_value = (pointer.remove_matching(answer.value, case.volatile) for answer in (first, second))
    return {place for place, *_ in strictjson.differences(first_value, second_value, _MAX_DIFFERENCES)}


def _is_equal(case: Case, first: Answer, second: Answer) -> bool:
    return have_equal_values(first, second, case.volatile)
