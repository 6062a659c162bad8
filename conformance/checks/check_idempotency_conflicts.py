"""The same key for another payload: Endpoints, rule 2, and Errors, 409 (IDEM-4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from conformance.checks.support.case import Case
from conformance.checks.support.effects import Oracle
from conformance.checks.support.invalid_bodies import template_of
from conformance.checks.support.races import together
from conformance.checks.support.registry import check
from conformance.checks.support.replays import alike, free_leaves, variations
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.profile.model import OperationFacts, Profile

_LONG = 1_500
"""Characters: more than a kibibyte, of which a careless fingerprint may be made."""
_TRIED = 5


def _leaves(profile: Profile, operation: Operation) -> Mapping[str, str]:
    body = template_of(profile, operation)
    carried = profile.idempotency.place if profile.idempotency else ""
    found = [where for where, value in pointer.leaves(body) if where != carried and value is not None]
    return {where.lstrip("/"): where for where in found if where} or {"": ""}


@check("IDEM-4", cases=_leaves)
async def a_changed_leaf_under_the_same_key_is_answered_409(case: Case, where: str) -> None:
    """A payload that differs in one meaningful leaf conflicts with the key's first one.

    The changed payload is first sent alone. Where it is good alone, only 409 is right under the used key; where it is
    refused alone, the target does look at that leaf, and a 200 under the used key is the first payload's answer.
    """
    _expect_other_payload(case, where)
    index, alone = await _meaningful(case, where)
    request = await case.arrange()
    first = await case.control(request)
    changed = (await variations(case, first.request, where))[index]
    again = await case.send(first.request.with_body(changed), f"another {where} under the same key")
    _judge(case, where, alone, first, again)


def _expect_other_payload(case: Case, where: str) -> None:
    """Another payload is needed: by a member that may be changed, or else by another body that the profile states."""
    if where or not case.facts.bodies:
        fact = "body" if case.facts.body is None else "bodies"
        what = "a valid body with a member, or a second valid body, is needed"
        case.need(where, f"operations.{case.operation.id}.{fact}", what)
    case.further(where, "the body has no member that may be changed")


async def _meaningful(case: Case, where: str) -> tuple[int, Answer]:
    """The first variation of a leaf that is good alone, or else the first that is refused alone."""
    refused: tuple[int, Answer] | None = None
    index = 0
    while True:
        request = await case.arrange()
        bodies = await variations(case, request, where)
        if index >= len(bodies):
            break
        answer = await case.send(request.with_body(bodies[index]), f"another {where}, alone")
        if answer.ok:
            return index, answer
        if answer.refused and refused is None:
            refused = index, answer
        index += 1
    if refused is None:
        raise Inconclusive(f"no other value of {where} is known that the target understands")
    return refused


@check("IDEM-4")
async def a_conflict_has_no_effect(case: Case) -> None:
    """Another payload that is refused under a used key is not carried out either."""
    leaves = list(_leaves(case.profile, case.operation).values())
    _expect_other_payload(case, leaves[0])
    request = await case.arrange()
    free = {found for found, _ in free_leaves(request)}
    where = next((leaf for leaf in leaves if leaf in free), leaves[0])
    index, _ = await _meaningful(case, where)
    oracle = await Oracle.watching(case, request)
    first = await case.control(request)
    if not await oracle.happened_soon():
        raise Inconclusive("the effect of the control cannot be seen", cause=f"effects.{case.operation.id}")
    changed = (await variations(case, first.request, where))[index]
    again = await case.send(first.request.with_body(changed), f"another {where} under the same key")
    if again.refused and (happened := await oracle.happened()):
        message = f"another payload under a used key was answered {again.summary} and yet took effect"
        raise case.violated(message, first, again, expected="no effect", observed=str(happened))


@check("IDEM-4")
async def a_body_that_is_no_json_under_the_same_key_is_refused(case: Case) -> None:
    """A used key is no way around reading the body."""
    first = await case.control(await case.arrange())
    again = await case.send(first.request.with_raw_body(b'{"unfinished": '), "no JSON under the same key")
    if again.ok:
        raise case.violated("a body that is no JSON was answered 200", first, again, expected="400 or 409")


def _judge(case: Case, where: str, alone: Answer, first: Answer, again: Answer) -> None:
    if again.status == 409:
        return
    message = f"a payload with another {where} under a used key was not answered 409"
    declared_refusal = again.refused and again.declared
    if alone.ok and declared_refusal:
        case.warn(message, alone, first, again, expected="409")
    elif alone.ok or not again.refused:
        raise case.violated(message, alone, first, again, expected="409")
    else:
        case.note(f"another {where} is refused even alone, and under the used key with {again.status}")


@check("IDEM-4")
async def a_change_past_the_first_kibibyte_is_answered_409(case: Case) -> None:
    """Two payloads that are equal for more than a kibibyte, and differ after it, are two payloads."""
    where = await _roomy(case)
    case.further(where, f"no member of the body takes {_LONG:,} characters")
    alone = await case.control(_padded(await case.arrange(), where, "b"), "the second payload, alone")
    first = await case.control(_padded(await case.arrange(), where, "a"))
    again = await case.send(_padded(first.request, where, "b"), "another ending under the same key")
    _judge(case, f"ending of {where}", alone, first, again)


async def _roomy(case: Case) -> str:
    """A text member that the target takes at such a length; empty where none of the first few does."""
    texts = [where for where, leaf in free_leaves(await case.arrange()) if isinstance(leaf, str)]
    for where in texts[:_TRIED]:
        if (await case.send(_padded(await case.arrange(), where, "a"), "a long text, alone")).ok:
            return where
    return ""


def _padded(request: Request, where: str, ending: str) -> Request:
    text = pointer.get(request.body, where)
    return request.with_body(pointer.replace(request.body, where, text + "x" * (_LONG - len(text)) + ending))


def _other_bodies(profile: Profile, operation: Operation) -> Mapping[str, int | None]:
    bodies = profile.operations.get(operation.id, OperationFacts()).bodies
    return {f"body-{index + 2}": index for index in range(len(bodies))} or {"": None}


@check("IDEM-4", cases=_other_bodies)
async def another_valid_body_under_the_same_key_is_answered_409(case: Case, index: int | None) -> None:
    """Another of the profile's valid bodies conflicts with the key's first one."""
    case.further(index is not None, f"the profile states no other valid body (operations.{case.operation.id}.bodies)")
    assert index is not None

    async def other(request: Request) -> Request:
        return request.with_body(await case.runtime.arranger.rendered(request, case.facts.bodies[index]))

    alone = await case.control(await other(await case.arrange()), "the other body, alone")
    request = await case.arrange()
    first = await case.control(request)
    again = await case.send(await other(first.request), "the other body under the same key")
    _judge(case, "body", alone, first, again)


Pair = tuple[str, str]


def _swapped(body: Any, pair: Pair) -> Any:
    one, other = (pointer.get(body, where) for where in pair)
    return pointer.replace(pointer.replace(body, pair[0], other), pair[1], one)


def _moved(body: Any, pair: Pair) -> Any:
    one, other = (pointer.get(body, where) for where in pair)
    return pointer.replace(pointer.replace(body, pair[0], one[:-1]), pair[1], one[-1] + other)


def _pairs(request: Request) -> list[Pair]:
    """Neighbouring texts of the body that differ; none of an array, whose order may mean nothing."""
    texts = [
        (where, leaf)
        for where, leaf in free_leaves(request)
        if isinstance(leaf, str) and len(leaf) > 1 and not any(name.isdigit() for name in pointer.tokens(where))
    ]
    return [(one[0], other[0]) for one, other in pairwise(texts) if one[1] != other[1]]


@check("IDEM-4", on="api-key idempotent", cases={"swapped": _swapped, "moved": _moved})
async def the_same_values_in_other_places_are_another_payload(case: Case, change: Callable[[Any, Pair], Any]) -> None:
    """Two texts of the body that change places, or a character that goes from one to the next: another payload."""
    for pair in _pairs(await case.arrange())[:_TRIED]:
        request = await case.arrange()
        alone = await case.send(request.with_body(change(request.body, pair)), f"{' and '.join(pair)} changed, alone")
        if alone.ok:
            first = await case.control(await case.arrange())
            other = first.request.with_body(change(first.request.body, pair))
            again = await case.send(other, f"{' and '.join(pair)} changed under the same key")
            _judge(case, " and ".join(pair), alone, first, again)
            return
    case.further(False, "no two texts of the body may hold each other's value")


@check("IDEM-4", on="api-key idempotent")
async def of_two_payloads_at_once_one_is_answered_200(case: Case) -> None:
    """Under one key, and whichever of them comes first: the other one is not answered as if it were that."""
    leaves = list(_leaves(case.profile, case.operation).values())
    _expect_other_payload(case, leaves[0])
    request = await case.arrange()
    free = {found for found, _ in free_leaves(request)}
    where = next((leaf for leaf in leaves if leaf in free), leaves[0])
    index, alone = await _meaningful(case, where)
    case.further(alone.ok, "no other body is known that is good alone")
    changed = request.with_body((await variations(case, request, where))[index])
    answers = await together(case, [request, changed] * 3, "two payloads at once")
    good = [next((one for one in some if one.ok), None) for some in (answers[::2], answers[1::2])]
    if good[0] is not None and good[1] is not None:
        equal = [one for one in await together(case, [await case.arrange()] * 6, "equal calls at once") if one.ok]
        if any(not alike(case, equal[0], one) for one in equal[1:]):
            raise Inconclusive("equal calls at once are not one call either", *equal[:2], cause="IDEM-7")
        message = f"two payloads that differ in {where} were both answered 200 under one key"
        raise case.violated(message, alone, good[0], good[1], expected="409 for one of them")
