"""The same call again: Endpoints, rule 2 (IDEM-1, IDEM-3, IDEM-5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.replays import alike, expect_same, free_leaves, pinned, replay, variations
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core.model import Level
from conformance.profile.model import Profile

_OTHER_KEYS = 12
_PAUSE_S = 1.5
_TEXTS = 8
"""So many leaves of a body are tried."""


@check("IDEM-1")
async def the_same_call_is_answered_the_same(case: Case) -> None:
    """The same key with the same bytes gets the same status and the same JSON value, again and again."""
    request = pinned(await case.arrange())
    first = await case.control(request)
    for _ in range(4):
        expect_same(case, first, await replay(case, first.request))


@check("IDEM-1", chain=True)
async def a_replay_outlives_other_calls(case: Case) -> None:
    """Seconds and a dozen other keys later, the same call is still answered the same."""
    request = pinned(await case.arrange())
    first = await case.control(request)
    refused = first.request.with_authorization() if case.operation.auth == "api_key" else first.request.without_body()
    for _ in range(_OTHER_KEYS):
        await case.send(refused.with_fresh_key(), "another key, refused")
    other = await case.arrange()
    await case.control(other, "another key")
    await asyncio.sleep(_PAUSE_S)
    expect_same(case, first, await replay(case, first.request))


@check("IDEM-1")
async def a_conflict_does_not_replace_the_record(case: Case) -> None:
    """Original, another payload under the same key, original again: the original is replayed."""
    request = pinned(await case.arrange())
    leaves = _leaves_of(request)
    case.further(leaves, "the body has no member that may be changed")
    other = (await variations(case, request, leaves[0]))[0]
    first = await case.control(request)
    await case.send(first.request.with_body(other), "another payload under the same key")
    expect_same(case, first, await replay(case, first.request))


_SCRIPTS = " \u00e9\u00df \u4e2d \U0001f6d2"
"""Two, three and four bytes of UTF-8, and the fourth beyond the Basic Multilingual Plane."""


@check("IDEM-1")
async def a_text_of_any_script_is_replayed(case: Case) -> None:
    """What a good body says in letters of two, three and four bytes comes back as it was answered first."""
    case.need_plenty()
    answered = False
    for where in _leaves_of(await case.arrange())[:_TEXTS]:
        request = pinned(await case.arrange())
        leaf = pointer.get(request.body, where)
        if not isinstance(leaf, str):
            continue
        first = await case.send(
            request.with_body(pointer.replace(request.body, where, leaf + _SCRIPTS)), f"another script in {where}"
        )
        if first.ok:
            answered = True
            expect_same(case, first, await replay(case, first.request))
    case.further(answered, "no member of the body takes a text of every script")


def _leaves_of(request: Request) -> list[str]:
    """The places that may be changed: the last first, which is the likeliest to be a detail."""
    return [where for where, _ in reversed(free_leaves(request))]


def _lacking(request: Request, empty: bool) -> Request:
    return request.with_key("" if empty else None)


@check("IDEM-3", cases={"absent": False, "empty": True})
async def a_call_without_a_key_is_answered_400(case: Case, empty: bool) -> None:
    """What must be called idempotently refuses a call without a key, where the profile says that it does."""
    idempotency = case.profile.idempotency
    case.need(idempotency, "idempotency", "the key's carrier is needed")
    assert idempotency is not None
    case.exists(idempotency.missing_key != "accepted", "the profile says that a missing key is accepted")
    level = Level.DECLARED if idempotency.missing_key == "refused" else None
    request = await case.arrange()
    what = "an empty idempotency key" if empty else "no idempotency key"
    await case.negative(request, _lacking(request, empty), {400}, what, any_refusal=True, level=level)


@check("IDEM-5")
async def a_key_on_another_resource_is_another_call(case: Case) -> None:
    """A key that was used on one path id does not replay its answer on another."""
    case.exists(case.operation.path_parameters, "the operation names no resource in its path")
    request = await case.arrange()
    first = await case.control(request)
    other = _with_like_body(case, await case.arrange(), first.request).with_key(first.request.key)
    case.further(other.path != request.path, "the profile has one resource of this kind only")
    second = await case.send(other, "the same key on another id")

    async def a_call_of_its_own() -> tuple[Answer, Answer]:
        alone = _with_like_body(case, await case.arrange(), other).with_fresh_key()
        return first, await case.control(alone, "a call of its own")

    await _expect_own_answer(case, (first, second), a_call_of_its_own)


def _siblings(profile: Profile, operation: Operation) -> Mapping[str, str]:
    """Operations on the same kind of resource with the same request schema: only their names tell calls apart."""
    family = {
        "PublicCartTransitionRequest": ("quotePublicCart", "revokePublicCart", "removePublicCartPromotion"),
    }.get(operation.request_schema, ())
    return {other: other for other in family if other != operation.id}


@check("IDEM-5", on=("quotePublicCart", "revokePublicCart", "removePublicCartPromotion"), cases=_siblings)
async def a_key_on_another_operation_is_another_call(case: Case, sibling: str) -> None:
    """A key that was used on one operation does not replay its answer on another, be the path id and body the same."""
    before = await case.arrange(case.contract.operations[sibling])
    request = await case.arrange()
    first = await case.control(before, f"control of {sibling}")
    request = request.with_path(**before.path).with_body(before.body).with_key(first.request.key)
    second = await case.send(request, f"the key of {sibling}")

    async def a_call_of_its_own() -> tuple[Answer, Answer]:
        """After the other operation on one resource, too, and by a key of its own."""
        anew = await case.arrange(case.contract.operations[sibling])
        other = await case.control(anew, f"another control of {sibling}")
        alone = request.with_path(**anew.path).with_body(anew.body).with_fresh_key()
        return other, await case.send(alone, "a call of its own")  # the other one may have left no room for it

    await _expect_own_answer(case, (first, second), a_call_of_its_own)


def _with_like_body(case: Case, request: Request, like: Request) -> Request:
    """With the very body of another request, so that nothing but the resource differs, where the body names none."""
    return request if case.named_in_body else request.with_body(like.body)


async def _expect_own_answer(
    case: Case, pair: tuple[Answer, Answer], anew: Callable[[], Awaitable[tuple[Answer, Answer]]]
) -> None:
    """Violated if a 200 to the re-used key is the first call's answer, and a call of its own is answered otherwise.

    `anew` gives the answers to both calls where each has a key of its own.
    """
    first, second = pair
    if not second.ok:
        if second.status not in (400, 409) and not second.refused:
            raise case.violated("a re-used key broke the answer", first, second, expected="200, 400 or 409")
        return
    if not alike(case, first, second):
        return
    other, own = await anew()
    if alike(case, other, own):
        case.note("answers do not show which resource they are about")
        return
    raise case.violated(
        "the key's first answer was replayed for another call",
        first,
        own,
        second,
        expected="an answer of its own, or 409",
    )
