"""Which answers are stored under a key, and which free it (IDEM-12)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from conformance.checks.support.case import Case
from conformance.checks.support.invalid_bodies import contract_breaks
from conformance.checks.support.media_types import other_media_types, with_media_type
from conformance.checks.support.new_endpoints import updated_endpoint
from conformance.checks.support.oauth_exchange import member_place, oauth_of, with_member
from conformance.checks.support.registry import check
from conformance.checks.support.replays import (
    PLAIN_REPLAY,
    are_alike,
    expect_same,
    have_equal_values,
    other_body,
    replay,
    require_replay,
)
from conformance.checks.support.sign_reader import fixtures_of
from conformance.checks.support.signals import Inapplicable, Inconclusive
from conformance.checks.support.sized_bodies import pad
from conformance.checks.support.state_walk import kind_of
from conformance.checks.support.transitions import (
    ALLOWED,
    CONFLICT,
    SETTLE_S,
    Place,
    States,
    WayOut,
    declared_transitions,
    find_ways_out,
    into_conflict,
)
from conformance.checks.support.unknown_ids import unknown_id_like
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.profile.behavior import Transition
from conformance.profile.model import Profile

_PATH = ("api-key idempotent path", "public idempotent path")
_BODY = ("api-key idempotent", "public idempotent")


def _is_kept(case: Case, status: int) -> bool:
    """Whether the profile states that answers of this status are stored."""
    idempotency = case.profile.idempotency
    case.need(idempotency, "idempotency", "the key's carrier is needed")
    assert idempotency is not None
    case.need(idempotency.kept, "idempotency.kept", "the statuses of stored answers are needed")
    return status in (idempotency.kept or ())


@check("IDEM-12", on=_PATH, rests_on=PLAIN_REPLAY)
async def a_stored_success_outlives_a_change(case: Case) -> None:
    """A 200 is replayed although another call has changed the same resource since."""
    _is_kept(case, 200)
    request = await case.arrange()
    changes = _changes(case, request)
    case.require_case(changes, "no other call is known that changes the same resource")
    first = await case.control(request)
    await require_replay(case, first)
    for operation in changes:
        other = await case.arrange(operation, preset=fixtures_of(request), prove_control=False)
        if (await case.send(other, f"{operation.id}, a change")).ok:
            expect_same(case, first, await replay(case, first.request, "replay after a change"))
            return
    case.require_case(False, "no other call on the same resource was answered 200")


@check("IDEM-12", on="createInstallationWebhook", rests_on=PLAIN_REPLAY)
async def a_stored_success_outlives_an_update(case: Case) -> None:
    """The 200 that has created an endpoint is replayed, and not the endpoint as an update has left it."""
    _is_kept(case, 200)
    created, updated = await updated_endpoint(case)
    case.require_case(updated.ok, f"an update of the new endpoint is answered {updated.summary}")
    repeat = await replay(case, created.request, "replay after an update")
    if not are_alike(case, created, repeat):
        await require_replay(case, await case.control(await case.arrange(), "a call of its own"))
        expect_same(case, created, repeat)


def _changes(case: Case, request: Request) -> list[Operation]:
    """Operations that the stated transitions allow after the request, first those after which it would conflict.

    Of the others, those come first after which the least is allowed: the change is greatest there.
    """
    states, name = States(case.profile.transitions), case.operation.id
    place = Place(next(iter(request.fixtures.members), ""), (name,))
    allowed = [other for other in _siblings(case) if states.expected_outcome(place, other.id) == ALLOWED]

    def rank(change: Operation) -> tuple[bool, int]:
        after = place.extend(change.id)
        still_allowed = [other for other in _siblings(case) if states.expected_outcome(after, other.id) == ALLOWED]
        return states.expected_outcome(after, name) != CONFLICT, len(still_allowed)

    allowed.sort(key=rank)
    return [*allowed[:1], *([case.operation] if states.expected_outcome(place, name) != CONFLICT else [])]


def _siblings(case: Case) -> list[Operation]:
    """The other writes on the same kind of resource."""
    kind = kind_of(case, case.operation)
    writes = [operation for operation in case.contract.operations.values() if operation.idempotent]
    return [operation for operation in writes if operation != case.operation and kind_of(case, operation) == kind]


@check("IDEM-12", on=_PATH, rests_on=PLAIN_REPLAY)
async def a_404_is_stored_or_frees_the_key(case: Case) -> None:
    """Another payload under the key of a 404 is answered 409 where 404 is stored, and 404 where it frees the key."""
    is_kept = _is_kept(case, 404)
    request = await case.arrange()
    declared = await case.runtime.arranger.unknown_path_values(request)
    values = {name: unknown_id_like(value) for name, value in request.path.items()} | declared
    unknown = request.with_path(**values)
    other = unknown.with_body(await other_body(case, request))
    lone_answer = await case.send(other.with_fresh_key(), "another payload, alone")
    first = await case.send(unknown, "an unknown resource")
    case.require_case(first.status == lone_answer.status == 404, f"an unknown resource is answered {first.summary}")
    second = await case.send(other, "another payload under the same key")
    if is_kept:
        _expect(case, 404, second.status == 409, second.status == 404, first, second)
    else:
        await _expect_free(case, second.status == 404, first, second)


Defect = Callable[[Request], Request]


def _breaks(profile: Profile, operation: Operation) -> Mapping[str, tuple[Defect, ...]]:
    """One body that its schema does not allow; on one operation also a media type and a size that are not stated.

    Where a 400 is stored, these may be refused before the key is read.
    """
    name, found = next(iter(contract_breaks(profile, operation).items()))
    by_name: dict[str, tuple[Defect, ...]] = {name.partition("/")[0]: (found[1],) if found else ()}
    statuses = (profile.idempotency.kept or ()) if profile.idempotency else ()
    if operation.id != "createInstallationWebhook" or 400 in statuses:
        return by_name
    bodies, form = profile.bodies, list[Defect]()
    if bodies.media_types and (others := other_media_types(bodies.media_types)):
        form.append(partial(with_media_type, media_type=others[0]))
    if bodies.max_bytes is not None:
        form.append(partial(pad, size=bodies.max_bytes + 1))
    return {**by_name, "form": tuple(form)} if form else by_name


@check("IDEM-12", on=_BODY, cases=_breaks, rests_on=PLAIN_REPLAY)
async def a_400_is_stored_or_frees_the_key(case: Case, defects: tuple[Defect, ...]) -> None:
    """A valid body under the key of an invalid one is answered 409 where 400 is stored, and 200 where it is not."""
    is_kept = _is_kept(case, 400)
    case.require_case(defects, "no body is known that its schema does not allow")
    request = await case.arrange()
    first: Answer | None = None
    for defect in defects:
        # a connection may be closed on a large body
        answer = await case.send_with_retry(defect(request), "an invalid call", request.with_fresh_key())
        if first is not None and answer.status == 409:
            await _expect_free(case, False, first, answer)
            return
        case.require_case(answer.status == 400, f"an invalid call is answered {answer.summary}")
        first = answer
    assert first is not None
    second = await case.send(request, "a valid body under the same key")
    if is_kept:
        _expect(case, 400, second.status in (400, 409), second.ok, first, second)
    else:
        await _expect_free(case, second.ok, first, second)


_SECRETS = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser", "exchangeOAuthToken")


@check("IDEM-12", on=_SECRETS, rests_on=PLAIN_REPLAY)
async def a_refused_secret_frees_the_key(case: Case) -> None:
    """The good ticket, or verifier, under the key of another one's refusal is answered 200 where that is not stored."""
    _is_kept(case, 0)
    request, other = await case.arrange(), await case.arrange()
    if case.operation.auth == "oauth":
        case.require_case(oauth_of(case).failure_burns_code is False, "a wrong verifier may end the code")
        verifier = pointer.get(other.body, member_place(case, other, "code_verifier"))
        bad = with_member(case, request, "code_verifier", lambda _: verifier)
    else:
        bad = request.with_body(other.body)
    case.require_case(bad.body != request.body, "the body names no ticket")
    first = await case.send(bad, "the secret of another call")
    case.require_case(first.is_refused and first.status != 429, f"another secret is answered {first.summary}")
    case.require_case(not _is_kept(case, first.status or 0), f"{first.status} is stored")
    second = await case.send(request, "the good secret under the same key")
    if second.ok:
        return
    await asyncio.sleep(SETTLE_S)
    later = await case.send(request, "the good secret once more, some time later")
    if later.status not in (second.status, first.status):
        raise Inconclusive("the secret was in use for a moment", first, second, later)
    fresh = await case.send(request.with_fresh_key(), "another key")
    case.require_case(fresh.ok, "a wrong secret ends what the good one is for")  # HO-3 and OA-15 judge that
    message = f"{first.status} is not one of idempotency.kept, and its key was not free"
    raise case.violation(message, first, second, later, fresh, expected="200", observed=later.summary)


def _ways_out(profile: Profile, operation: Operation) -> Mapping[str, WayOut | None]:
    """By name; where no transition of the operation is stated, one case that says so."""
    found = {f"{way.transition.fixture}-{way.change}": way for way in find_ways_out(profile, operation)}
    is_stated = any(transition.operation == operation.id for transition in profile.transitions)
    return {**found} if found or is_stated else {"": None}


@check("IDEM-12", on=_PATH, cases=_ways_out, rests_on=PLAIN_REPLAY)
async def a_409_is_stored_or_frees_the_key(case: Case, way: WayOut | None) -> None:
    """After a state conflict the state allows the call: the same key is answered 409 if that is stored, else 200.

    A key that is free takes another payload as well.
    """
    is_kept = _is_kept(case, 409)
    case.need(way, f"transitions.{case.operation.id}", "a state in which the operation conflicts is needed")
    assert way is not None
    request = await into_conflict(case, way.transition)
    first = await case.send(request, f"in the state {way.transition.fixture}")
    if first.status != 409:
        raise Inconclusive(f"the state conflict was answered {first.summary}", first, cause="CONF-1")
    await _end_conflict(case, way, request)
    if is_kept:
        second = await case.send(request, "the same call after the change")
        _expect(case, 409, second.status == 409, second.ok, first, second)
        if not (fresh := await case.send(request.with_fresh_key(), "another key after the change")).ok:
            raise Inconclusive(f"after the change another key is answered {fresh.summary}", fresh)
        return
    other = await _other_payload(case, request)
    second = await case.send(other, "the key after the change, with another payload where one is known")
    if not second.ok and other is not request:
        await _expect_unbound(case, way, first, second)
    await _expect_free(case, second.ok, first, second)


def _lasting_conflicts(profile: Profile, operation: Operation) -> Mapping[str, Transition]:
    """One state conflict, where no call ends any that the operation has: the key is then tried on another resource."""
    if next(find_ways_out(profile, operation), None) is not None:
        return {}
    found = [(name, t) for name, t in declared_transitions(profile, operation).items() if t is not None]
    return dict(found[:1])


@check("IDEM-12", on=_PATH, cases=_lasting_conflicts, rests_on=PLAIN_REPLAY)
async def the_key_of_a_409_is_stored_or_free_for_another_resource(case: Case, transition: Transition) -> None:
    """With the key of a state conflict, a call on another resource is answered 200; where 409 is stored, 409.

    Where a key belongs to the path, that call has a key of its own anyway, and shows nothing of what is stored.
    """
    is_kept, idempotency = _is_kept(case, 409), case.profile.idempotency
    namespace = idempotency.namespace if idempotency else None
    shows = not is_kept or (namespace is not None and "path" not in namespace)
    case.require_case(shows, "whether a key belongs to the path is not stated, or it does")
    first = await case.send(await into_conflict(case, transition), f"in the state {transition.fixture}")
    if first.status != 409:
        raise Inconclusive(f"the state conflict was answered {first.summary}", first, cause="CONF-1")
    second = await _with_key_of(case, first)
    if is_kept:
        _expect(case, 409, second.status == 409, second.ok, first, second)
        return
    if second.ok:
        return
    await asyncio.sleep(SETTLE_S)
    later = await _with_key_of(case, first)
    if later.ok:
        raise Inconclusive("the key was in use for a moment", first, second, later)
    await case.control(later.request.with_fresh_key(), "another key")
    message = "409 is not one of idempotency.kept, and its key was not free"
    raise case.violation(message, first, second, later, expected="200")


async def _with_key_of(case: Case, earlier: Answer) -> Answer:
    """The answer to a call on another resource, which is in a good state, under the key of an earlier one."""
    request = await case.arrange()
    case.require_case(request.path != earlier.request.path, "the profile has one resource of this kind only")
    return await case.send(request.with_key(earlier.request.key), "the same key on another resource")


async def _end_conflict(case: Case, way: WayOut, request: Request) -> None:
    change = case.contract.operations[way.change]
    await case.control(
        await case.arrange(change, preset=fixtures_of(request)), f"{way.change}, which ends the conflict"
    )


async def _other_payload(case: Case, request: Request) -> Request:
    """The request with another valid body; the request itself where none is known."""
    try:
        return request.with_body(await other_body(case, request))
    except Inapplicable:
        return request


async def _expect_unbound(case: Case, way: WayOut, first: Answer, second: Answer) -> None:
    """Violated where only the payload of the conflict is still accepted under its key."""
    repeat = await case.send(first.request, "the first payload under the same key")
    if not repeat.ok:
        return
    request = await into_conflict(case, way.transition)
    await case.send(request, "a conflict again")
    await _end_conflict(case, way, request)
    await asyncio.sleep(SETTLE_S)  # a copy that is read may be older than the change
    other = await _other_payload(case, request)
    if (later := await case.send(other, "the other payload, some time after the change")).ok:
        raise Inconclusive("a change shows only after some time", first, second, later)
    lone_answer = await case.control(other.with_fresh_key(), "the other payload under a key of its own")
    message = "409 is not one of idempotency.kept, and its key was bound to the payload that was refused"
    raise case.violation(message, first, repeat, lone_answer, second, expected="200")


def _expect(case: Case, status: int, is_stored: bool, is_free: bool, first: Answer, second: Answer) -> None:
    """Violated if the key is free; inconclusive if it is neither stored nor free."""
    if is_stored:
        return
    if not is_free:
        raise Inconclusive(f"the same key was then answered {second.summary}", first, second)
    message = f"{status} is one of idempotency.kept, and its key was free"
    raise case.violation(message, first, second, expected="the key in use: 409")


async def _expect_free(case: Case, is_free: bool, first: Answer, second: Answer) -> None:
    """Violated if the key's first answer is stored; inconclusive if the second is refused with another key as well."""
    if is_free:
        return
    repeat = await case.send(first.request, "the first call again")
    fresh = await case.send(second.request.with_fresh_key(), "another key")
    if fresh.status == second.status:
        raise Inconclusive(f"another key is answered {fresh.summary} as well", first, second, fresh)
    volatile = (*case.volatile, *case.profile.errors_volatile)
    await asyncio.sleep(SETTLE_S)
    if not have_equal_values(repeat, first, volatile):
        second_repeat = await case.send(first.request, "the first call once more, some time later")
        if second_repeat.status != 409 or first.status == 409:
            raise Inconclusive(
                "a refused call keeps its key in use", first, second, repeat, second_repeat, cause="IDEM-7"
            )
        message = f"{first.status} is not one of idempotency.kept, and its key stays in use"
        raise case.violation(message, first, second, second_repeat, expected=str(first.status))
    later = await case.send(second.request, "the second call once more, some time later")
    if later.status == fresh.status or later.status not in (second.status, first.status):
        raise Inconclusive("the resource was in use for a moment", first, second, later)
    message = f"{first.status} is not one of idempotency.kept, and its key was not free"
    raise case.violation(message, first, repeat, second, expected="the answer that another key gets")
