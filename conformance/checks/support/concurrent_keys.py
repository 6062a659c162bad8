"""Reads of several keys at once: each must be answered for its own caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

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
_LOOKS: Final = 6
"""With two values of equal chance, one key gets the same one each time in one of 64 cases, two keys in one of 4096."""


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
    pairs: dict[frozenset[str], _Pair] = {}
    for name, answer in zip(order, answers, strict=True):
        await _expect_own(case, request, name, answer, separate, pairs)
    expect_overlap(case, answers)


class _Pair(NamedTuple):
    """What two keys are answered alone, again and again."""

    places: set[str]
    """Where they are answered otherwise, each time."""
    later: Mapping[str, Sequence[Answer]]


async def _expect_own(
    case: Case,
    request: Request,
    name: str,
    answer: Answer,
    separate: Mapping[str, Answer],
    pairs: dict[frozenset[str], _Pair],
) -> None:
    if not answer.ok or _is_equal(case, answer, separate[name]):
        return
    for other, known in separate.items():
        if other == name or not _is_equal(case, answer, known) or _is_equal(case, known, separate[name]):
            continue
        both = frozenset((name, other))
        if both not in pairs:
            pairs[both] = await _compare(case, request, {key: separate[key] for key in (name, other)})
        has_changed = any(_is_equal(case, answer, later) for later in pairs[both].later[name])
        if pairs[both].places and not has_changed:
            message = f"at the same time as others, the key {name!r} was answered as the key {other!r} is"
            raise case.violation(message, separate[name], known, answer, expected=f"the answer to {name!r}")


async def _compare(case: Case, request: Request, separate: Mapping[str, Answer]) -> _Pair:
    """Compares two keys. A member with few values, such as the name of a node, may differ between them by chance."""
    places = _differing_places(case, *separate.values())
    later: dict[str, list[Answer]] = {name: [] for name in separate}
    for name, known in [*separate.items()] * _LOOKS:
        later[name].append(await case.send(case.as_credential(request, name), "the same key, alone again"))
        places -= _differing_places(case, known, later[name][-1])
        if not places:
            break
    return _Pair(places, later)


def _differing_places(case: Case, first: Answer, second: Answer) -> set[str]:
    first_value, second_value = (pointer.remove_matching(answer.value, case.volatile) for answer in (first, second))
    return {place for place, *_ in strictjson.differences(first_value, second_value, _MAX_DIFFERENCES)}


def _is_equal(case: Case, first: Answer, second: Answer) -> bool:
    return have_equal_values(first, second, case.volatile)
