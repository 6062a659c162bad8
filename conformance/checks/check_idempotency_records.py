"""The record of a key: of rare bodies, beside other resources, of refused calls (IDEM-1, IDEM-5, IDEM-7)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.invalid_bodies import fixed_places, is_against_schema, schema_of
from conformance.checks.support.large_bodies import large_bodies
from conformance.checks.support.other_path_calls import key_on_another_path
from conformance.checks.support.races import expect_declared, expect_overlap, send_together
from conformance.checks.support.registry import check
from conformance.checks.support.replays import (
    PLAIN_REPLAY,
    expect_same,
    fix_proof_id,
    is_replayed,
    replay,
    require_replay,
)
from conformance.checks.support.schema_bounds import least_values
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.transitions import declared_transitions, into_conflict
from conformance.checks.support.unknown_ids import unknown_id_like
from conformance.checks.support.unusual_calls import with_headers
from conformance.client.request import Request
from conformance.core import json_pointer as pointer

_ATTEMPTS = 2
_DUPLICATES = 4
_PATH = ("api-key idempotent path", "public idempotent path")
_HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")


async def _least_bodies(case: Case, request: Request) -> AsyncIterator[Any]:
    """The shortest of the other bodies that the profile states; without one, the required members alone."""
    if case.facts.bodies:
        yield await case.runtime.arranger.render_body(request, min(case.facts.bodies, key=lambda body: len(str(body))))
    elif (schema := schema_of(case)) is not None:
        for _, body in least_values(request.body, schema, fixed_places(case), request.scope.values()):
            if not is_against_schema(case, request.with_body(body)):
                yield body


async def _large_bodies(case: Case, request: Request) -> AsyncIterator[Any]:
    for body, _ in large_bodies(case, request):
        yield body


Bodies = Callable[[Case, Request], AsyncIterator[Any]]


_LANGUAGE: Final = {"Accept-Language": "fr-FR,fr;q=0.9,de;q=0.5"}


@check("IDEM-1", on="createInstallationWebhook", rests_on=PLAIN_REPLAY)
async def a_repeat_in_another_language_is_no_new_call(case: Case) -> None:
    """A repeat that prefers another language creates nothing: texts of its answer may be in that language, no id is."""
    where = case.profile.webhooks.id
    case.require_case(where, "where the id of a new endpoint stands is not stated (webhooks.id)")
    first = await case.first_call()
    case.require_case(pointer.has(first.value, where), f"the answer has no {where}")
    repeat = await replay(case, with_headers(first.request, _LANGUAGE))
    is_shown = repeat.ok and pointer.has(repeat.value, where)
    if is_shown and pointer.get(repeat.value, where) != pointer.get(first.value, where):
        message = "a repeat that prefers another language was carried out again"
        raise case.violation(message, first, repeat, expected="the same id")


@check("IDEM-1", on="idempotent body", cases={"least": _least_bodies, "large": _large_bodies}, rests_on=PLAIN_REPLAY)
async def a_call_with_a_rare_body_is_replayed(case: Case, bodies: Bodies) -> None:
    """A call with the least body, or with one of some KiB, is replayed as the usual one is."""
    case.need_unlimited_fixtures()
    for number in range(_ATTEMPTS):
        request = fix_proof_id(await case.arrange())
        found = [body async for body in bodies(case, request)]
        if number >= len(found):
            break
        first = await case.send(request.with_body(found[number]), "a rare body")
        if first.ok:
            expect_same(case, first, await replay(case, first.request))
            return
    case.require_case(False, "no such body is known that is answered 200")


@check("IDEM-5", on=_PATH, rests_on=PLAIN_REPLAY)
async def a_key_used_on_another_resource_is_kept_for_the_first(case: Case) -> None:
    """However its key is answered with another path id, the first call is still replayed."""
    first, second = await key_on_another_path(case)
    repeat = await replay(case, first.request)
    if not is_replayed(case, first, repeat):
        await require_replay(case, await case.control(await case.arrange(), "a call of its own"))
        message = "after its key was used on another resource, the first call is not replayed"
        raise case.violation(message, first, second, repeat, expected=first.summary)


@check("IDEM-5", on=_HOSTED)
async def a_repeat_on_another_session_is_another_call(case: Case) -> None:
    """The same key and body, with a ticket in it, on the path of another session do not bring back the first answer."""
    case.require_case(case.named_in_body, "the body names no session, and the check of another resource shows it")

    async def change(request: Request) -> Request:
        other = await case.arrange()
        case.require_case(other.path != request.path, "the profile has one session only")
        return request.with_path(**other.path)

    first, second = await case.repeat_changed(change, "the same call on the path of another session")
    if not second.ok:
        return
    third = await change(first.request)  # the second session may have ended with its call
    if (await case.send(third.with_fresh_key(), "the same with another key")).ok:
        raise Inconclusive("the ticket of a session is good for another one", first, second, cause="HO-3")
    message = "a call with the path of another session was answered as the call of the first session"
    raise case.violation(message, first, second, expected="a refusal, or 409")


async def _refused_request(case: Case) -> Request:
    """A call that the state of its resource refuses, by the profile; or one on an unknown resource."""
    transitions = declared_transitions(case.profile, case.operation).values()
    if transition := next(filter(None, transitions), None):
        return await into_conflict(case, transition)
    request = await case.arrange()
    declared = await case.runtime.arranger.unknown_path_values(request)
    return request.with_path(**{name: unknown_id_like(value) for name, value in request.path.items()} | declared)


@check("IDEM-7", on=_PATH)
async def duplicates_of_a_refused_call_are_refused(case: Case) -> None:
    """Concurrent equal calls that the resource's state refuses each get a declared status."""
    request = await _refused_request(case)
    answers = await send_together(case, [request] * _DUPLICATES, "concurrent duplicate, refused")
    await expect_declared(case, answers)
    expect_overlap(case, answers)
