"""Webhook endpoints (WH-1, WH-2)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from conformance.checks.support.case import Case
from conformance.checks.support.endpoint_bodies import escaped_body, fullest_body, least_body
from conformance.checks.support.new_endpoints import create_endpoint, update_of, updated_endpoint
from conformance.checks.support.races import send_together
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.signs import LADDER_S
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.profile.exclusions import exclusion_of


def _need_partial_update(case: Case) -> None:
    case.need(case.profile.webhooks.patch, "webhooks.patch", "a partial update is needed")
    case.need(case.profile.webhooks.kept, "webhooks.kept", "members that the update leaves alone are needed")


async def _partial(case: Case, update: Request) -> Request:
    return update.with_body(await case.runtime.arranger.render_body(update, case.profile.webhooks.patch))


@check("WH-1", on="updateInstallationWebhook")
async def a_created_endpoint_can_be_updated(case: Case) -> None:
    """The id in the answer to create is accepted by PATCH, some time later at the latest: a copy may be older."""
    create_answer, answer = await updated_endpoint(case)
    answer = await _poll_copies(case, answer)
    if answer.status == 404:
        raise case.violation("the new endpoint is not found by PATCH", create_answer, answer, expected="200")
    if not answer.ok:
        raise Inconclusive(f"PATCH of the new endpoint was answered {answer.summary}", create_answer, answer)


async def _poll_copies(case: Case, answer: Answer) -> Answer:
    """The answer to the update, or to another attempt within the time that a copy of a store may lag behind."""
    for pause_s in LADDER_S if answer.status == 404 else ():
        await asyncio.sleep(pause_s)
        answer = await case.send(answer.request.with_fresh_key(), "update what was created, later")
        if answer.status != 404:
            case.note("a new endpoint is found by PATCH some time later only")
            break
    return answer


@check("WH-1", on="updateInstallationWebhook")
async def an_update_that_changes_nothing_finds_its_endpoint(case: Case) -> None:
    """The same PATCH under another key is not answered 404: an endpoint that has those values already exists.

    Of several copies of a store, one may be older than the one that took the first PATCH.
    """
    create_answer, first = await updated_endpoint(case)
    case.require_case(first.ok, f"the first update is answered {first.summary}")
    answer = await case.send_with_retry(first.request.with_fresh_key(), "the same update under another key")
    answer = await _poll_copies(case, answer)
    if answer.status == 404:
        message = "an endpoint is not found by a PATCH with the values that it has"
        raise case.violation(message, create_answer, first, answer, expected="200")
    case.note(f"the same update again is answered {answer.summary}")


@check("STA-1", on="createInstallationWebhook")
async def a_second_endpoint_like_the_first_is_survived(case: Case) -> None:
    """The same body under another key is sent, so that the invariants judge what a second endpoint of a URL gets."""
    first = await case.good_answer()
    answer = await case.send(first.request.with_fresh_key(), "the same body under another key")
    case.note(f"the same body under another key is answered {answer.summary}")


@check("WH-2", on="updateInstallationWebhook")
async def patch_changes_only_what_it_names(case: Case) -> None:
    """Members that a PATCH does not name keep the values of the create answer."""
    _need_partial_update(case)
    create_answer, update = await create_endpoint(case)
    answer = await case.control(await _partial(case, update), "partial update")
    _expect_kept(case, create_answer, answer, case.profile.webhooks.kept)


async def _other_bodies(case: Case, create: Request, is_full: bool) -> list[Any]:
    """The fullest body, with and without escapes, and one whose lists have known items alone; or the least one."""
    schema = case.profile.schemas.by_name.get(create.operation.request_schema)
    idempotency = case.profile.idempotency
    keep = (idempotency.place,) if idempotency and idempotency.place else ()
    if is_full:
        case.require_case(schema is not None, f"the profile has no schema {create.operation.request_schema}")
        assert schema is not None
        values = create.scope.values()
        with_escapes = fullest_body(escaped_body(create.body, schema, keep, values), schema, keep, values)
        others = [fullest_body(create.body, schema, keep, values, new_items=new) for new in (True, False)]
        return [with_escapes, *others]
    template = least_body(case.runtime.arranger.facts(create.operation).bodies, create.body, schema, keep)
    case.require_case(template is not None, "the profile states no other body that creates an endpoint")
    return [await case.runtime.arranger.render_body(create, template)]


@check("WH-2", on="updateInstallationWebhook", cases={"fullest": True, "least": False})
async def patch_keeps_what_another_body_created(case: Case, is_full: bool) -> None:
    """A PATCH keeps the longest lists, the largest numbers and texts of any letters, and what create did not name."""
    _need_partial_update(case)
    where = case.profile.webhooks.id
    case.need(where, "webhooks.id", "the place of the new endpoint's id is needed")
    create = await case.arrange(case.contract.operations["createInstallationWebhook"])
    for body in await _other_bodies(case, create, is_full):
        created = await case.send(create.with_body(body).with_fresh_key(), "create with another body")
        if created.ok:
            break
    case.require_case(created.ok and pointer.has(created.value, where), f"such a body is answered {created.summary}")
    answer = await case.send(await _partial(case, await update_of(case, created)), "partial update")
    case.require_case(answer.ok, f"a PATCH of an endpoint with such a body is answered {answer.summary}")
    # what create alone leaves out of its answer may be a default that the answer to PATCH shows
    _expect_kept(case, created, answer, [at for at in case.profile.webhooks.kept if pointer.has(created.value, at)])


def _value(answer: Answer, where: str) -> Any:
    """None where it is not there."""
    return pointer.get(answer.value, where) if pointer.has(answer.value, where) else None


def _expect_kept(case: Case, create_answer: Answer, answer: Answer, places: Iterable[str]) -> None:
    for where in places:
        if not strictjson.is_equal(_value(create_answer, where), _value(answer, where)):
            message = f"PATCH changed {where}" if pointer.has(answer.value, where) else f"PATCH's answer has no {where}"
            raise case.violation(f"{message}, which it did not name", create_answer, answer, expected="unchanged")


def _switches(case: Case, body: Any) -> dict[str, str]:
    """Members of a body to create that are true or false and kept: their names and places in the answer."""
    places = {pointer.tokens(where)[-1]: where for where in case.profile.webhooks.kept if where}
    values = body.items() if isinstance(body, dict) else ()
    return {name: places[name] for name, value in values if isinstance(value, bool) and name in places}


@check("WH-2", on="updateInstallationWebhook")
async def patch_keeps_a_switch_as_it_was_set(case: Case) -> None:
    """Where true and false members are created the other way round, a PATCH that does not name them keeps them so."""
    _need_partial_update(case)
    create = await case.arrange(case.contract.operations["createInstallationWebhook"])
    patch = case.profile.webhooks.patch or {}
    switches = {name: where for name, where in _switches(case, create.body).items() if name not in patch}
    case.require_case(switches, "no member that is true or false is created and kept")
    other = {**create.body, **{name: not create.body[name] for name in switches}}
    created = await case.send(create.with_body(other), "create with other switches")
    case.require_case(created.ok, f"other switches are answered {created.summary}")
    where = case.profile.webhooks.id
    case.need(where, "webhooks.id", "the place of the new endpoint's id is needed")
    case.require_case(pointer.has(created.value, where), f"the answer to create has no {where}")
    answer = await case.send(await _partial(case, await update_of(case, created)), "partial update")
    answer = await _poll_copies(case, answer)
    has_no_conflicts = bool(exclusion_of(case.profile, f"transitions.{case.operation.id}"))
    if answer.status == 404 or (answer.status == 409 and has_no_conflicts):
        await _expect_usual_update(case, answer.status)
        message = "an endpoint with other switches is not found by PATCH"
        if answer.status == 409:
            message = (
                "a PATCH of an endpoint with other switches was refused, and the profile states that none conflicts"
            )
        raise case.violation(message, created, answer, expected="200")
    case.require_case(answer.ok, f"a PATCH of an endpoint with other switches is answered {answer.summary}")
    _expect_kept(case, created, answer, switches.values())


async def _expect_usual_update(case: Case, status: int) -> None:
    """Inconclusive where a PATCH of an endpoint of the usual body is answered so too."""
    plain_answer, plain_update = await create_endpoint(case)
    plain = await case.send(await _partial(case, plain_update), "partial update of an endpoint of the usual body")
    if plain.status == status:
        cause = "WH-1" if status == 404 else f"control:{case.operation.id}"
        message = f"a PATCH of any new endpoint is answered {plain.summary}"
        raise Inconclusive(message, plain_answer, plain, cause=cause)


@check("WH-2", on="updateInstallationWebhook")
async def patch_changes_what_it_names(case: Case) -> None:
    """What a PATCH named has another value afterwards, also in the answer to the next PATCH, which does not name it."""
    _need_partial_update(case)
    created, update = await create_endpoint(case)
    case.require_case(isinstance(created.request.body, dict), "the body that creates an endpoint is no object")
    steps = await _steps(case, created, update)
    changed_values: dict[str, Any] = {}
    kept_names = {name for name in created.request.body if _is_shown(case, created, name)}
    answer = created
    for step in steps:
        found = await case.send(update.with_body(step).with_fresh_key(), "partial update")
        kept_names -= step.keys()
        if not found.ok:
            continue
        answer = await _expect_changed(case, created, found, changed_values)
        old_values = {
            _beside_kept(case, name): created.request.body[name] for name in step if _is_shown(case, created, name)
        }
        stale_places = [
            where for where, value in old_values.items() if strictjson.is_equal(_value(answer, where), value)
        ]
        if stale_places:
            case.warn(f"the answer to a PATCH shows the old {stale_places[0]}", created, answer, expected="the new one")
        changed_values |= old_values
        _expect_kept(case, created, answer, _places_of(case, kept_names))
    case.require_case(answer is not created, "no partial update of what is shown was answered 200")


@check("WH-2", on="updateInstallationWebhook")
async def updates_at_once_change_what_each_names(case: Case) -> None:
    """Of two PATCHes at once that name different members, neither takes back what the other one has changed."""
    _need_partial_update(case)
    created, update = await create_endpoint(case)
    case.require_case(isinstance(created.request.body, dict), "the body that creates an endpoint is no object")
    *steps, last = await _steps(case, created, update) or [{}]
    case.require_case(len(steps) > 1, "no three partial updates of different members are known")
    calls = [update.with_body(step).with_fresh_key() for step in steps[:2]]
    answers = await send_together(case, calls, "partial updates at once")
    case.require_case(all(answer.ok for answer in answers), "one of two updates at once is refused")
    old_values = {
        _beside_kept(case, name): created.request.body[name]
        for step in steps[:2]
        for name in step
        if _is_shown(case, created, name)
    }
    answer = await case.send(update.with_body(last).with_fresh_key(), "partial update of another member")
    case.require_case(answer.ok, f"a further update is answered {answer.summary}")
    await _expect_changed(case, created, answer, old_values)


async def _steps(case: Case, created: Answer, update: Request) -> list[dict[str, Any]]:
    """Bodies of PATCH that name different members, each with another value than was created."""
    body = created.request.body
    partial_body = (await _partial(case, update)).body
    steps: list[dict[str, Any]] = [{name: not body[name]} for name in _switches(case, body) if name not in partial_body]
    steps.append(partial_body)
    member_names = {name for step in steps for name in step}
    others = [await case.runtime.arranger.render_body(update, template) for template in case.facts.bodies]
    steps += [other for other in others if isinstance(other, dict) and other and not member_names & other.keys()][:1]
    return [step for step in steps if not any(strictjson.is_equal(step[name], body.get(name)) for name in step)]


def _beside_kept(case: Case, name: str) -> str:
    """The place of a member in an answer: beside those that the profile states."""
    return case.profile.webhooks.kept[0].rpartition("/")[0] + pointer.join(name)


def _is_shown(case: Case, created: Answer, name: str) -> bool:
    """Whether the answer to create shows a member with the value that create sent."""
    where, body = _beside_kept(case, name), created.request.body
    return (
        name in body and pointer.has(created.value, where) and strictjson.is_equal(_value(created, where), body[name])
    )


def _places_of(case: Case, names: Collection[str]) -> list[str]:
    """The kept places of members that create set: one that is derived may change with another one that PATCH names."""
    places = {_beside_kept(case, name) for name in names}
    return [where for where in case.profile.webhooks.kept if where in places]


async def _expect_changed(case: Case, created: Answer, answer: Answer, changed_values: Mapping[str, Any]) -> Answer:
    """Violated where a member has the value again that an earlier PATCH changed; a slow copy is given a moment."""
    for pause_s in (0.2, 0.4, 0.8, 0.0):
        old = [where for where, value in changed_values.items() if strictjson.is_equal(_value(answer, where), value)]
        if not old:
            return answer
        if pause_s:
            await asyncio.sleep(pause_s)
            answer = await case.control(answer.request.with_fresh_key(), "partial update again")
    message = f"{old[0]} has the value that an earlier PATCH changed"
    observed = str(changed_values[old[0]])
    raise case.violation(message, created, answer, expected="the changed value", observed=observed)
