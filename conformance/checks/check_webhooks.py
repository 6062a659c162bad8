"""Webhook endpoints (WH-1, WH-2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.invalid_bodies import is_against_schema
from conformance.checks.support.list_lengths import endpoints_of_two_lists
from conformance.checks.support.new_endpoints import (
    create_endpoint,
    expect_no_lag,
    poll_copies,
    update_of,
    updated_endpoint,
)
from conformance.checks.support.other_endpoints import FULLEST, LEAST, kinds_of_endpoints, other_endpoint
from conformance.checks.support.races import expect_overlap, send_together
from conformance.checks.support.registry import check
from conformance.checks.support.shown_members import ShownMembers, beside_kept, is_shown, value_at
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.transitions import LATER_S
from conformance.checks.support.update_steps import (
    PAUSES_S,
    all_steps_of,
    expect_another_change,
    expect_changes,
    expect_empty_values,
    expect_kept,
    need_partial_update,
    need_steps,
    old_values,
    partial_update,
    places_of,
    steps_of,
    switches_of,
    switches_to_put_off,
    warn_of_changes,
    warn_of_lost_values,
    warn_of_partial_change,
)
from conformance.checks.support.update_values import empty_values
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.outcomes import Level
from conformance.profile.exclusions import exclusion_of

_CREATES: Final = 4
"""Creates that are sent together: few, since each of them leaves an endpoint."""

_CLOCK_S: Final = 1.1
"""Between two creates that are compared: a clock that counts seconds shows another time after it."""


@check("WH-1", on="updateInstallationWebhook")
async def a_created_endpoint_can_be_updated(case: Case) -> None:
    """The id in the answer to create is accepted by PATCH, some time later at the latest: a copy may be older."""
    create_answer, answer = await updated_endpoint(case)
    answer = await poll_copies(case, answer)
    if answer.status == 404:
        await expect_no_lag(case, create_answer, answer)
        raise case.violation("the new endpoint is not found by PATCH", create_answer, answer, expected="200")
    if not answer.ok:
        raise Inconclusive(f"PATCH of the new endpoint was answered {answer.summary}", create_answer, answer)


@check("WH-1", on="updateInstallationWebhook")
async def an_update_that_changes_nothing_finds_its_endpoint(case: Case) -> None:
    """The same PATCH under another key is not answered 404: an endpoint that has those values already exists.

    Nor 409, where the profile excludes conflicts of updates. Of several copies of a store, one may be older than the
    one that took the first PATCH. It comes some time after the create: an endpoint does not end by itself.
    """
    create_answer, first = await updated_endpoint(case)
    case.require_case(first.ok, f"the first update is answered {first.summary}")
    if case.profile.limits.depth != "quick":
        await asyncio.sleep(max(0.0, create_answer.at + LATER_S - case.runtime.sender.elapsed_s))
    answer = await case.send_with_retry(first.request.with_fresh_key(), "the same update under another key")
    answer = await poll_copies(case, answer)
    if answer.status == 404:
        age_s = answer.at - create_answer.at
        message = f"an endpoint is not found, {age_s:.1f} s after its creation, by a PATCH with the values that it has"
        raise case.violation(message, create_answer, first, answer, expected="200")
    if answer.status == 409 and exclusion_of(case.profile, f"transitions.{case.operation.id}"):
        message = "a PATCH with the values that an endpoint has was refused, and the profile states that none conflicts"
        raise case.violation(message, create_answer, first, answer, expected="200")
    case.note(f"the same update again is answered {answer.summary}")


@check("WH-1", on="updateInstallationWebhook", cases=kinds_of_endpoints)
async def an_endpoint_of_another_body_can_be_updated(case: Case, kind: str | int) -> None:
    """An endpoint that another valid body created is found by PATCH, too, and is not a cause of a 5xx.

    A refusal of it may be a rule about what the body named, but for a conflict where the profile states none.
    """
    created, answer = await other_endpoint(case, kind)
    has_no_conflicts = bool(exclusion_of(case.profile, f"transitions.{case.operation.id}"))
    if answer.status == 404 or (answer.status or 0) >= 500 or (answer.status == 409 and has_no_conflicts):
        await _expect_usual_update(case, answer.status)
        raise case.violation("an endpoint of another body cannot be updated", created, answer, expected="200")
    case.require_case(answer.ok, f"a PATCH of an endpoint with such a body is answered {answer.summary}")


@check("WH-1", on="updateInstallationWebhook")
async def endpoints_that_are_created_at_once_have_ids_of_their_own(case: Case) -> None:
    """Creates of different bodies at the same time are answered with an id each: by one id one endpoint is updated.

    Not so where a create some time later gets the same id as well: an endpoint may be known by what the bodies share.
    An id that a clock alone makes is the same for calls that follow one another at once, so that the later one waits.
    """
    where, create = case.profile.webhooks.id, case.contract.operations["createInstallationWebhook"]
    case.need(where, "webhooks.id", "the place of the new endpoint's id is needed")
    requests = [await case.arrange(create) for _ in range(_CREATES)]
    bodies = {json.dumps(request.body, sort_keys=True) for request in requests}
    case.require_case(len(bodies) == len(requests), "the bodies that create endpoints are all the same")
    answers = await send_together(case, requests, "create at once")
    if (pair := _pair_of_one_id(answers, where)) is None:
        case.require_case(len(_ids(answers, where)) > 1, "no two creates at once are answered 200 with an id")
        return
    controls = [await case.control(await case.arrange(create), "create, alone")]
    await asyncio.sleep(_CLOCK_S)
    controls.append(await case.control(await case.arrange(create), "create, some time later"))
    case.require_case(_pair_of_one_id(controls, where) is None, "endpoints of different bodies have one id at any time")
    raise case.violation("endpoints that were created at once have one id", *controls, *pair, expected="an id each")


def _ids(answers: Sequence[Answer], where: str) -> list[tuple[str, Answer]]:
    """The answers that have an id: a text or a number, since null may mean that it follows."""
    found = [(pointer.get(a.value, where), a) for a in answers if a.ok and pointer.has(a.value, where)]
    return [(str(new_id), answer) for new_id, answer in found if isinstance(new_id, (str, int))]


def _pair_of_one_id(answers: Sequence[Answer], where: str) -> tuple[Answer, Answer] | None:
    """Two of the answers with one id, if there are two."""
    first: dict[str, Answer] = {}
    for new_id, answer in _ids(answers, where):
        if first.setdefault(new_id, answer) is not answer:
            return first[new_id], answer
    return None


@check("STA-1", on="createInstallationWebhook")
async def a_second_endpoint_like_the_first_is_survived(case: Case) -> None:
    """The same body under another key is sent, so that the invariants judge what a second endpoint of a URL gets."""
    first = await case.good_answer()
    answer = await case.send(first.request.with_fresh_key(), "the same body under another key")
    case.note(f"the same body under another key is answered {answer.summary}")


@check("WH-2", on="updateInstallationWebhook")
async def patch_changes_only_what_it_names(case: Case) -> None:
    """Members that a PATCH does not name keep the values of the create answer: all of them, where it names none."""
    need_partial_update(case)
    create_answer, update = await create_endpoint(case)
    partial = await partial_update(case, update)
    answer = await case.control(partial, "partial update")
    expect_kept(case, create_answer, answer, case.profile.webhooks.kept)
    empty_update = partial.with_body({}).with_fresh_key()
    if not is_against_schema(case, empty_update):
        second = await case.send(empty_update, "an update of nothing")
        shown_places = [beside_kept(case, name) for name in partial.body if is_shown(case, answer, name)]
        if second.ok:
            expect_kept(case, answer, second, [*case.profile.webhooks.kept, *shown_places])


@check("WH-2", on="updateInstallationWebhook", cases={FULLEST: FULLEST, LEAST: LEAST})
async def patch_keeps_what_another_body_created(case: Case, kind: str) -> None:
    """A PATCH keeps the longest lists, the largest numbers and texts of any letters, and what create did not name."""
    need_partial_update(case)
    created, answer = await other_endpoint(case, kind)
    case.require_case(answer.ok, f"a PATCH of an endpoint with such a body is answered {answer.summary}")
    # what create alone leaves out of its answer may be a default that the answer to PATCH shows
    expect_kept(case, created, answer, [at for at in case.profile.webhooks.kept if pointer.has(created.value, at)])


@check("WH-2", on="updateInstallationWebhook")
async def patch_keeps_a_switch_as_it_was_set(case: Case) -> None:
    """Where true and false members are created the other way round, a PATCH that does not name them keeps them so.

    Where no body creates such a member, one that updates name is put off first. Those that are off stay off where a
    PATCH names them so.
    """
    need_partial_update(case)
    switched, names = await _endpoint_with_other_switches(case)
    update = await update_of(case, switched)
    answer = await case.send(await partial_update(case, update), "partial update")
    answer = await poll_copies(case, answer)
    has_no_conflicts = bool(exclusion_of(case.profile, f"transitions.{case.operation.id}"))
    if answer.status == 404 or (answer.status == 409 and has_no_conflicts):
        await _expect_usual_update(case, answer.status)
        message = "an endpoint with other switches is not found by PATCH"
        if answer.status == 409:
            message = (
                "a PATCH of an endpoint with other switches was refused, and the profile states that none conflicts"
            )
        raise case.violation(message, switched, answer, expected="200")
    case.require_case(answer.ok, f"a PATCH of an endpoint with other switches is answered {answer.summary}")
    expect_kept(case, switched, answer, [beside_kept(case, name) for name in names])
    await _expect_off(case, switched, update, names)


async def _expect_off(case: Case, switched: Answer, update: Request, names: Sequence[str]) -> None:
    """Violated where a switch that is off is on after a PATCH that puts it off."""
    off = {name: False for name in names if value_at(switched, beside_kept(case, name)) is False}
    if not off:
        return
    answer = await case.send(update.with_body(off).with_fresh_key(), "the switches that are off, off")
    if on := [name for name in off if answer.ok and value_at(answer, beside_kept(case, name)) is True]:
        raise case.violation(f"a PATCH with {on[0]} = false put it on", switched, answer, expected="false")


async def _endpoint_with_other_switches(case: Case) -> tuple[Answer, list[str]]:
    """The answer that shows an endpoint with its switches the other way round, and their names."""
    where = case.profile.webhooks.id
    case.need(where, "webhooks.id", "the place of the new endpoint's id is needed")
    create = await case.arrange(case.contract.operations["createInstallationWebhook"])
    switches = [name for name in switches_of(case, create.body) if name not in (case.profile.webhooks.patch or {})]
    if switches:
        other = {**create.body, **{name: not create.body[name] for name in switches}}
        switched = await case.send(create.with_body(other), "create with other switches")
    else:
        created, update = await create_endpoint(case)
        switches = await switches_to_put_off(case, created) if isinstance(created.request.body, dict) else []
        case.require_case(switches, "no member that is true or false is created or updated, and shown")
        off = dict.fromkeys(switches, False)
        switched = await case.send(update.with_body(off).with_fresh_key(), "put the switches off")
    case.require_case(switched.ok, f"other switches are answered {switched.summary}")
    case.require_case(pointer.has(switched.value, where), f"the answer to other switches has no {where}")
    return switched, switches


async def _expect_usual_update(case: Case, status: int | None) -> None:
    """Inconclusive where a PATCH of a new endpoint of the usual body is answered so too, as if a name were used."""
    plain_answer, plain_update = await create_endpoint(case)
    request = await partial_update(case, plain_update) if case.profile.webhooks.patch else plain_update
    plain = await case.send(request, "update of an endpoint of the usual body")
    if plain.status == status:
        cause = "WH-1" if status == 404 else f"control:{case.operation.id}"
        message = f"a PATCH of any new endpoint is answered {plain.summary}"
        raise Inconclusive(message, plain_answer, plain, cause=cause)


@check("WH-2", on="updateInstallationWebhook")
async def patch_changes_what_it_names(case: Case) -> None:
    """What a PATCH named has the new value afterwards, also in the answers to the next ones, which do not name it.

    Further members of the good PATCH are changed one by one: a change of one may take another one back. So are those
    that only the schema of updates names. What they were given is there to be lost when a switch is changed afterwards.
    """
    need_partial_update(case)
    created, update = await create_endpoint(case)
    case.require_case(isinstance(created.request.body, dict), "the body that creates an endpoint is not an object")
    changed_values: dict[str, Any] = {}
    members = ShownMembers(case, created)
    kept_names = {name for name in created.request.body if is_shown(case, created, name)}
    answer, first, updates = created, None, dict[str, Any]()
    for step in await all_steps_of(case, created, update):
        found = await case.send(update.with_body(step).with_fresh_key(), "partial update")
        kept_names -= step.keys()
        members.forget(step)
        if not found.ok:
            continue
        updates |= {name: value for name, value in step.items() if is_shown(case, found, name)}
        answer = await expect_changes(case, created, found, changed_values, members)
        old = old_values(case, created, found)
        stale_places = [where for where, value in old.items() if strictjson.is_equal(value_at(answer, where), value)]
        if stale_places:
            case.warn(f"the answer to a PATCH shows the old {stale_places[0]}", created, answer, expected="the new one")
        warn_of_lost_values(case, created, answer, step)
        # a text, such as a URL, may be verified first; lists and switches are changed at once
        changed_values |= {at: old[at] for at in old if at not in stale_places or not isinstance(old[at], str)}
        members.note(answer)
        expect_kept(case, created, answer, places_of(case, kept_names))
        first = first or answer
        warn_of_changes(case, first, answer, kept_names)
    case.require_case(answer is not created, "no partial update of what is shown was answered 200")
    await expect_another_change(case, created, update, changed_values, members)
    await warn_of_partial_change(case, created, update, updates)


@check("WH-2", on="updateInstallationWebhook")
async def updates_at_once_change_what_each_names(case: Case) -> None:
    """Of two PATCHes at once that name different members, neither takes back what the other one has changed."""
    need_partial_update(case)
    created, update = await create_endpoint(case)
    case.require_case(isinstance(created.request.body, dict), "the body that creates an endpoint is not an object")
    steps = await steps_of(case, created, update)
    need_steps(case, steps)
    *steps, last = steps
    calls = [update.with_body(step).with_fresh_key() for step in steps[:2]]
    answers = await send_together(case, calls, "partial updates at once")
    case.require_case(all(answer.ok for answer in answers), "one of two updates at once is refused")
    old = {place: value for answer in answers for place, value in old_values(case, created, answer).items()}
    answer = await case.send(update.with_body(last).with_fresh_key(), "partial update of another member")
    case.require_case(answer.ok, f"a further update is answered {answer.summary}")
    await expect_changes(case, created, answer, old)
    expect_overlap(case, answers)


@check("WH-2", on="updateInstallationWebhook")
async def patch_takes_an_empty_value(case: Case) -> None:
    """A warning where a PATCH names a member with an empty text, an empty list or null, and its old value stays.

    Its schema allows that value, and the PATCH was answered 200: it is ignored. What the member shows then is open.
    """
    need_partial_update(case)
    created, update = await create_endpoint(case)
    values = empty_values(case, created)
    case.require_case(values, "no member that is shown may be empty, by the schema of updates")
    for body in (values, *({name: value} for name, value in values.items() if len(values) > 1)):
        answer = await case.send(update.with_body(body).with_fresh_key(), "an update with empty values")
        if answer.ok:
            await expect_empty_values(case, created, answer)
            return
    case.require_case(False, "empty values are refused")


@check("WH-2", on="updateInstallationWebhook")
async def a_list_is_what_patch_names_whatever_it_was_before(case: Case) -> None:
    """A warning unless one PATCH of a list gives endpoints of a longer and of a shorter list the same one, of any form.

    RFC 7396, section 2, replaces lists; the interface does not say so, and a service may add to them.
    """
    need_partial_update(case)
    longer, shorter, name, items = await endpoints_of_two_lists(case)
    where = beside_kept(case, name)
    for pause_s in (*PAUSES_S, None):
        requests = [answer.request.with_body({name: items}).with_fresh_key() for answer in (longer, shorter)]
        answers = [await case.send(request, "the same list") for request in requests]
        case.require_case(all(answer.ok for answer in answers), "a PATCH of a list alone is refused")
        values = [value_at(answer, where) for answer in answers]
        if strictjson.is_equal(*values):
            return
        if pause_s is not None:  # a copy of the store may be older
            await asyncio.sleep(pause_s)
    message = f"what a PATCH makes of {where} depends on the list that was there, which it did not name"
    observed = " and ".join(map(str, values))
    raise case.violation(
        message, longer, shorter, *answers, expected=str(items), observed=observed, level=Level.RECOMMENDED
    )
