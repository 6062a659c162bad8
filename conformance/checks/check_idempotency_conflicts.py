"""The same key for another payload: Endpoints, rule 2, and Errors, 409 (IDEM-4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from itertools import islice, pairwise
from typing import Any
from uuid import uuid4

from conformance.checks.support.case import Case
from conformance.checks.support.case_sampling import part_by_schema
from conformance.checks.support.effects import Oracle
from conformance.checks.support.invalid_bodies import fixed_places, is_against_schema, template_of
from conformance.checks.support.large_bodies import SHORTEST, bodies_with_a_long_text, is_promised, with_another_ending
from conformance.checks.support.payload_changes import judge_payload, shows
from conformance.checks.support.races import expect_overlap, send_together
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY, are_alike, free_leaves, require_replay, variations
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.stated_bodies import other_bodies
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core.messages import plural
from conformance.core.outcomes import Level
from conformance.profile.model import Profile

_NO_LONG_TEXT = f"no member of the body accepts {SHORTEST} characters"
_MAX_ATTEMPTS = 5


def _leaves(profile: Profile, operation: Operation) -> Mapping[str, str]:
    """The leaves of the body; operations with one schema share them, as one fingerprint mostly serves all of them."""
    body = template_of(profile, operation)
    key_pointer = profile.idempotency.place if profile.idempotency else ""
    found = [where for where, value in pointer.leaves(body) if where != key_pointer and value is not None]
    part = part_by_schema([where for where in found if where], profile, operation)
    return {where.lstrip("/"): where for where in part} or {"": ""}


Change = Callable[[Request], Awaitable[Request]]


@check("IDEM-4", cases=_leaves, rests_on=PLAIN_REPLAY)
async def a_changed_leaf_under_the_same_key_is_answered_409(case: Case, where: str) -> None:
    """A payload that differs in one meaningful leaf conflicts with the key's first one.

    Where it is answered otherwise, the changed payload is sent with a new key. If it is accepted, only 409 is right
    under the used key; if it is refused, the target reads that leaf, and a 200 under the used key repeats the first
    answer.
    """
    _expect_other_payload(case, where)
    purpose = f"another {where} under the same key"
    first, repeat = await case.repeat_changed(_variation(case, where, 0), purpose)
    if repeat.status == 409:
        return
    index, lone_answer = await _meaningful(case, where)
    if index:
        first, repeat = await case.repeat_changed(_variation(case, where, index), purpose)
    await judge_payload(case, where, lone_answer, first, repeat)


def _variation(case: Case, where: str, index: int) -> Change:
    """The change of a body to its variation in one leaf, by the place of that in the list of all."""

    async def change(request: Request) -> Request:
        return request.with_body((await variations(case, request, where))[index])

    return change


def _expect_other_payload(case: Case, where: str) -> None:
    """Unstated or inapplicable unless there is another payload: a member that may be changed, or another valid body."""
    if where or not case.facts.bodies:
        fact = "body" if case.facts.body is None else "bodies"
        message = "a valid body with a member, or a second valid body, is needed"
        case.need(where, f"operations.{case.operation.id}.{fact}", message)
    case.require_case(where, "the body has no member that may be changed")


async def _meaningful(case: Case, where: str) -> tuple[int, Answer]:
    """The first variation of a leaf that is accepted alone, otherwise the first that is refused alone."""
    first_refused: tuple[int, Answer] | None = None
    index = 0
    while True:
        request = await case.arrange()
        bodies = await variations(case, request, where)
        if index >= len(bodies):
            break
        answer = await case.send(request.with_body(bodies[index]), f"another {where}, alone")
        if answer.ok:
            return index, answer
        if answer.is_refused and first_refused is None:
            first_refused = index, answer
        index += 1
    if first_refused is None:
        raise Inconclusive(f"no other value of {where} is known that the target accepts or refuses")
    return first_refused


@check("IDEM-4")
async def a_conflict_has_no_effect(case: Case) -> None:
    """A payload refused under a used key is not carried out."""
    leaves = list(_leaves(case.profile, case.operation).values())
    _expect_other_payload(case, leaves[0])
    request = await case.arrange()
    free = {found for found, _ in free_leaves(request)}
    where = next((leaf for leaf in leaves if leaf in free), leaves[0])
    oracle = await Oracle.watch(case, request)
    first = await case.control(request)
    if not await oracle.effects_within():
        raise Inconclusive("the effect of the control cannot be seen", cause=f"effects.{case.operation.id}")
    purpose = f"another {where} under the same key"
    repeat = await case.send(await _variation(case, where, 0)(first.request), purpose)
    if repeat.status != 409 and (index := (await _meaningful(case, where))[0]):
        repeat = await case.send(await _variation(case, where, index)(first.request), purpose)
    if repeat.is_refused and (effects := await oracle.count_effects()):
        message = f"another payload under a used key was answered {repeat.summary} and yet took effect"
        raise case.violation(message, first, repeat, expected="no effect", observed=plural(effects, "effect"))


@check("IDEM-4")
async def a_body_that_is_no_json_under_the_same_key_is_refused(case: Case) -> None:
    """An invalid JSON body under a used key is refused."""

    async def change(request: Request) -> Request:
        return request.with_raw_body(b'{"unfinished": ')

    first, repeat = await case.repeat_changed(change, "no JSON under the same key")
    if repeat.ok:
        raise case.violation("a body that is not JSON was answered 200", first, repeat, expected="400 or 409")


@check("IDEM-4", rests_on=PLAIN_REPLAY)
async def a_change_past_the_first_kibibyte_is_answered_409(case: Case) -> None:
    """Two payloads that differ only after the first kibibyte, or later in a larger body, are two payloads.

    Where no text may be as long, they differ at the end of the longest one that the schema allows.

    A warning where neither an answer nor the schema shows that a text of that length is kept: it may be cut before
    payloads are compared.
    """
    for number in range(_MAX_ATTEMPTS):
        request, body, where = await _with_a_long_text(case, number)
        first = await case.send(request.with_body(body), "a long text")
        if first.ok:
            break
    case.require_case(first.ok, _NO_LONG_TEXT)
    changed = first.request.with_body(with_another_ending(body, where))
    repeat = await case.send(changed, "another ending under the same key")
    if repeat.status != 409:
        await require_replay(case, first)
        request, body, _ = await _with_a_long_text(case, number)
        lone_answer = await case.control(request.with_body(with_another_ending(body, where)), "the second, alone")
        is_kept = shows(where, lone_answer) or shows(where, first) or is_promised(case, body, where)
        level = None if is_kept else Level.RECOMMENDED
        await judge_payload(case, f"ending of {where}", lone_answer, first, repeat, level=level)


async def _with_a_long_text(case: Case, number: int) -> tuple[Request, Any, str]:
    """A request, a body for it with a long text, and the place of that text."""
    request = await case.arrange()
    found = list(islice(bodies_with_a_long_text(case, request), number, number + 1))
    case.require_case(found, _NO_LONG_TEXT)
    return request, *found[0]


@check("IDEM-4", cases=other_bodies, rests_on=PLAIN_REPLAY)
async def another_valid_body_under_the_same_key_is_answered_409(case: Case, index: int | None) -> None:
    """Another valid body of the profile conflicts with the key's first one."""
    case.require_case(
        index is not None, f"the profile states no other valid body (operations.{case.operation.id}.bodies)"
    )
    assert index is not None

    async def other(request: Request) -> Request:
        return request.with_body(await case.runtime.arranger.render_body(request, case.facts.bodies[index]))

    first, repeat = await case.repeat_changed(other, "the other body under the same key")
    if repeat.status != 409:
        lone_answer = await case.control(await other(await case.arrange()), "the other body, alone")
        await judge_payload(case, "body", lone_answer, first, repeat)


@check("IDEM-4", rests_on=PLAIN_REPLAY)
async def a_payload_without_a_member_is_answered_409(case: Case) -> None:
    """A payload that lacks a text of the first one, which the schema does not require, is another payload."""
    for where in _optional_texts(case, await case.arrange())[:_MAX_ATTEMPTS]:
        request = await case.arrange()
        own_text = f"{pointer.get(request.body, where)} {uuid4().hex[:8]}"  # certainly no default
        first = await case.send(request.with_body(pointer.replace(request.body, where, own_text)), f"another {where}")
        if not first.ok:
            continue
        shorter = first.request.with_body(pointer.remove(first.request.body, where))
        repeat = await case.send(shorter, f"without {where} under the same key")
        if repeat.status == 409:
            return
        request = await case.arrange()
        lone_answer = await case.send(request.with_body(pointer.remove(request.body, where)), f"without {where}, alone")
        if lone_answer.ok:
            await judge_payload(case, f"member {where} left out", lone_answer, first, repeat)
            return
    case.require_case(False, "the body has no text that may be changed, and left out")


def _optional_texts(case: Case, request: Request) -> list[str]:
    """The places of texts outside of lists without which the body still fits its schema, the last first."""
    fixed = fixed_places(case)
    texts = [
        where
        for where, leaf in reversed(free_leaves(request))
        if isinstance(leaf, str) and where not in fixed and not any(map(str.isdigit, pointer.tokens(where)))
    ]
    return [w for w in texts if not is_against_schema(case, request.with_body(pointer.remove(request.body, w)))]


Pair = tuple[str, str]


def _swap(body: Any, pair: Pair) -> Any:
    first, second = (pointer.get(body, where) for where in pair)
    return pointer.replace(pointer.replace(body, pair[0], second), pair[1], first)


def _move_character(body: Any, pair: Pair) -> Any:
    first, second = (pointer.get(body, where) for where in pair)
    return pointer.replace(pointer.replace(body, pair[0], first[:-1]), pair[1], first[-1] + second)


def _pairs(request: Request) -> list[Pair]:
    """Neighbouring texts of the body that differ, outside of arrays, whose order may be meaningless."""
    texts = [
        (where, leaf)
        for where, leaf in free_leaves(request)
        if isinstance(leaf, str) and len(leaf) > 1 and not any(name.isdigit() for name in pointer.tokens(where))
    ]
    pairs = [
        (first_text[0], second_text[0])
        for first_text, second_text in pairwise(texts)
        if first_text[1] != second_text[1]
    ]
    neighbours = {(first[0], second[0]) for first, second in pairwise(sorted(texts))}
    return sorted(pairs, key=lambda pair: pair not in neighbours)


@check("IDEM-4", on="api-key idempotent", cases={"swapped": _swap, "moved": _move_character}, rests_on=PLAIN_REPLAY)
async def the_same_values_in_other_places_are_another_payload(case: Case, change: Callable[[Any, Pair], Any]) -> None:
    """Two swapped texts, or a character moved from one text to the next, make another payload."""
    for pair in _pairs(await case.arrange())[:_MAX_ATTEMPTS]:

        async def change_pair(good: Request, pair: Pair = pair) -> Request:
            return good.with_body(change(good.body, pair))

        names = " and ".join(pair)
        first, repeat = await case.repeat_changed(change_pair, f"{names} changed under the same key")
        if repeat.status == 409:
            return
        lone_answer = await case.send(await change_pair(await case.arrange()), f"{names} changed, alone")
        if lone_answer.ok:
            await judge_payload(case, names, lone_answer, first, repeat)
            return
    case.require_case(False, "no two texts of the body accept each other's value")


@check("IDEM-4", on="api-key idempotent", rests_on=PLAIN_REPLAY)
async def of_two_payloads_at_once_one_is_answered_200(case: Case) -> None:
    """Two concurrent payloads under one key are not both answered 200."""
    leaves = list(_leaves(case.profile, case.operation).values())
    _expect_other_payload(case, leaves[0])
    request = await case.arrange()
    free = {found for found, _ in free_leaves(request)}
    where = next((leaf for leaf in leaves if leaf in free), leaves[0])
    index, lone_answer = await _meaningful(case, where)
    case.require_case(lone_answer.ok, "no other body is known that is good alone")
    changed_body = request.with_body((await variations(case, request, where))[index])
    answers = await send_together(case, [request, changed_body] * 3, "concurrent payloads")
    good = [next((answer for answer in group if answer.ok), None) for group in (answers[::2], answers[1::2])]
    if good[0] is not None and good[1] is not None:
        equal = [
            answer
            for answer in await send_together(case, [await case.arrange()] * 6, "concurrent equal calls")
            if answer.ok
        ]
        if any(not are_alike(case, equal[0], answer) for answer in equal[1:]):
            raise Inconclusive("concurrent equal calls are not one call either", *equal[:2], cause="IDEM-7")
        message = f"two payloads that differ in {where} were both answered 200 under one key"
        raise case.violation(message, lone_answer, good[0], good[1], expected="409 for one of them")
    expect_overlap(case, answers)
