"""Partial updates of one webhook endpoint, one after the other, and what the answers must show of the earlier ones."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.shown_members import ShownMembers, beside_kept, is_shown, value_at
from conformance.checks.support.update_values import other_values, stated_names, updatable_names, update_schema
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson

PAUSES_S = (0.2, 0.4, 0.8)
"""A copy of a store may be older than the one that took the update before."""

_MOST = 4
"""Members that are changed alone."""

_EMPTY_VALUES: tuple[Any, ...] = (None, "", [], {})

_ENOUGH = 3
"""Updates of different members, so that two at once leave a third one to look at them."""


def need_partial_update(case: Case) -> None:
    case.need(case.profile.webhooks.patch, "webhooks.patch", "a partial update is needed")
    case.need(case.profile.webhooks.kept, "webhooks.kept", "members that the update leaves alone are needed")


async def partial_update(case: Case, update: Request) -> Request:
    return update.with_body(await case.runtime.arranger.render_body(update, case.profile.webhooks.patch))


async def another_partial_update(case: Case, update: Request) -> Request:
    """The partial update with another {unique}, and a key of its own."""
    other = replace(update, scope={**update.scope, "unique": case.runtime.arranger.unique()})
    return (await partial_update(case, other)).with_fresh_key()


def expect_kept(case: Case, create_answer: Answer, answer: Answer, places: Iterable[str]) -> None:
    for where in places:
        if not strictjson.is_equal(value_at(create_answer, where), value_at(answer, where)):
            message = f"PATCH changed {where}" if pointer.has(answer.value, where) else f"PATCH's answer has no {where}"
            raise case.violation(f"{message}, which it did not name", create_answer, answer, expected="unchanged")


def warn_of_changes(case: Case, first: Answer, answer: Answer, names: Iterable[str]) -> None:
    """A warning where members that no PATCH has named differ between answers to two: they may be derived."""
    for where in (beside_kept(case, name) for name in sorted(names)):
        if pointer.has(answer.value, where) and not strictjson.is_equal(
            value_at(first, where), value_at(answer, where)
        ):
            case.warn(f"PATCH changed {where}, which it did not name", first, answer, expected="unchanged")


def warn_of_lost_values(case: Case, created: Answer, answer: Answer, step: Mapping[str, Any]) -> None:
    """A warning where a member is empty after a PATCH that names it with a value, though create showed it as sent."""
    names = [name for name, value in step.items() if value not in _EMPTY_VALUES and is_shown(case, created, name)]
    for where in (beside_kept(case, name) for name in names):
        if value_at(answer, where) in _EMPTY_VALUES:
            message = f"the answer to a PATCH that names {where} with a value shows none"
            case.warn(message, created, answer, expected="the new value")


def switches_of(case: Case, body: Any) -> dict[str, str]:
    """Members of a body to create that are true or false and kept: their names and places in the answer."""
    places = {pointer.tokens(where)[-1]: where for where in case.profile.webhooks.kept if where}
    values = body.items() if isinstance(body, dict) else ()
    return {name: places[name] for name, value in values if isinstance(value, bool) and name in places}


async def steps_of(case: Case, created: Answer, update: Request) -> list[dict[str, Any]]:
    """Bodies of PATCH that name different members, each with another value than was created."""
    body = created.request.body
    partial_body = (await partial_update(case, update)).body
    switches = [name for name in switches_of(case, body) if name not in partial_body]
    switches += await switches_to_put_off(case, created)
    steps: list[dict[str, Any]] = [{name: not body.get(name, True)} for name in switches]
    steps.append(partial_body)
    member_names = {name for step in steps for name in step}
    others = [await case.runtime.arranger.render_body(update, template) for template in case.facts.bodies]
    steps += [other for other in others if isinstance(other, dict) and other and not member_names & other.keys()][:1]
    steps = [step for step in steps if not any(strictjson.is_equal(step[name], body.get(name)) for name in step)]
    member_names = {*partial_body, *(name for step in steps for name in step)}
    values = await other_values(case, created)
    further = [{name: value} for name, value in values.items() if name not in member_names]
    return [*steps, *further[: max(0, _ENOUGH - len(steps))]]


async def all_steps_of(case: Case, created: Answer, update: Request) -> list[dict[str, Any]]:
    """Also one for each further member; lists and objects come first, so that each later change may lose them.

    What is off by default, such as a pause, is put on last: it may refuse other updates.
    """
    steps = await steps_of(case, created, update)
    names = set().union(*steps)
    last = [{name: True} for name in await _switches_of_updates(case, created, are_on=False) if name not in names]
    steps += await single_changes(case, created, update, [*steps, *last])
    return [*sorted(steps, key=lambda step: not any(isinstance(value, (list, dict)) for value in step.values())), *last]


def need_steps(case: Case, steps: Sequence[Any]) -> None:
    """Unstated where further bodies of the update would help, inapplicable where its schema has no more members."""
    if len(steps) < _ENOUGH and (update_schema(case) is None or len(updatable_names(case)) >= _ENOUGH):
        where = f"operations.{case.operation.id}.bodies"
        case.need(case.facts.bodies, where, "partial updates of three different members are needed")
    case.require_case(len(steps) >= _ENOUGH, "no three partial updates of different members are known")


async def single_changes(
    case: Case, created: Answer, update: Request, steps: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Bodies that name one member alone, of those that no step names: a member may need another.

    Of the good PATCH, and with other values those that the schema of updates names beside them.
    """
    body, sent = update.body, created.request.body
    names = set().union(*steps)
    changes = [{name: body[name]} for name in body if name not in names] if isinstance(body, dict) else []
    others = [step for step in changes if not any(strictjson.is_equal(step[name], sent.get(name)) for name in step)]
    member_names = names.union(*others)
    further = [{name: value} for name, value in (await other_values(case, created)).items() if name not in member_names]
    return [*others, *further][:_MOST]


async def switches_to_put_off(case: Case, created: Answer) -> list[str]:
    """Switches that create did not name, and that updates can put off: true now, and named by no partial update."""
    values = await other_values(case, created)
    names = [
        *await _switches_of_updates(case, created, are_on=True),
        *(name for name, value in values.items() if value is False),
    ]
    not_free = {*created.request.body, *(case.profile.webhooks.patch or {})}
    return [name for name in dict.fromkeys(names) if name not in not_free]


async def _switches_of_updates(case: Case, created: Answer, *, are_on: bool) -> list[str]:
    """Members that the good update names and shows as it sent them, that create did not name, and that are on, or off.

    A service may switch on under conditions of its own, such as a URL that was verified: no update must do that.
    """
    good = await case.good_answer()
    body = good.request.body
    return [
        name
        for name in (body if isinstance(body, dict) else ())
        if isinstance(body[name], bool) and body[name] is value_at(good, beside_kept(case, name))
        if name not in created.request.body and value_at(created, beside_kept(case, name)) is are_on
    ]


def places_of(case: Case, names: Collection[str]) -> list[str]:
    """The kept places of members that create set: one that is derived may change with another one that PATCH names."""
    places = {beside_kept(case, name) for name in names}
    return [where for where in case.profile.webhooks.kept if where in places]


def old_values(case: Case, created: Answer, answer: Answer) -> dict[str, Any]:
    """What a PATCH changed of the answer to create: places with the values that they must not have afterwards.

    A value that the profile's updates do not state may need more than a PATCH, such as a URL that is verified first: it
    counts where the answer shows it.
    """
    body, step, stated = created.request.body, answer.request.body, stated_names(case)
    names = [name for name in step if name in stated or isinstance(step[name], bool) or is_shown(case, answer, name)]
    values = {beside_kept(case, name): body[name] for name in names if is_shown(case, created, name)}
    # a switch that create did not name is on by default; any other default may be another form of what a PATCH says
    off_places = [beside_kept(case, name) for name, value in step.items() if value is False and name not in body]
    return values | {where: True for where in off_places if value_at(created, where) is True}


async def expect_another_change(
    case: Case, created: Answer, update: Request, changed_values: Mapping[str, Any], members: ShownMembers
) -> None:
    """Violated where the partial update, with other values, leaves those that its answer showed the first time.

    Afterwards all other members are named once more, first without the switches, so that these stay too, and then the
    switches: what was set last stays as well. Of those that are named nothing is asked, since one may be derived from
    another.
    """
    other = await another_partial_update(case, update)
    to_change = members.to_change(other.body)
    if not to_change:
        return
    answer = await case.send(other, "the partial update with other values")
    if not answer.ok:
        return
    members.forget(other.body)
    answer = await expect_changes(case, created, answer, {**changed_values, **to_change}, members)
    members.note(answer)
    others = members.values_but(other.body)
    switches = {name: value for name, value in others.items() if isinstance(value, bool)}
    for part in ({name: value for name, value in others.items() if name not in switches}, switches):
        if part and (answer := await case.send(update.with_body(part).with_fresh_key(), "the other members")).ok:
            members.forget(part)
            await expect_changes(case, created, answer, to_change, members)


async def warn_of_partial_change(case: Case, created: Answer, update: Request, updates: Mapping[str, Any]) -> None:
    """A warning where of several members that a PATCH gives back the values of create one keeps that of its update.

    `updates`: members with the values that a PATCH of each alone has set. A switch may be put on under conditions, and
    one member may be derived from another.
    """
    body = created.request.body
    old = {name: body[name] for name in updates if body.get(name, True) is not True and is_shown(case, created, name)}
    answer = await case.send(update.with_body(old).with_fresh_key(), "the values of create") if len(old) > 1 else None
    if answer is None or not answer.ok:
        return
    for pause_s in (*PAUSES_S, 0.0):
        shown_values = {name: value_at(answer, beside_kept(case, name)) for name in old}
        stale_names = [name for name, value in shown_values.items() if strictjson.is_equal(value, updates[name])]
        if not 0 < len(stale_names) < len(old):
            return
        if pause_s:
            await asyncio.sleep(pause_s)
            answer = await case.control(answer.request.with_fresh_key(), "the values of create again")
    message = f"a PATCH that names {len(old)} members did not change {stale_names[0]}"
    case.warn(message, created, answer, expected="the value of create")


async def expect_empty_values(case: Case, created: Answer, answer: Answer) -> None:
    """A warning where a member has its old value after a PATCH that named it with an empty one.

    A slow copy is given a moment.
    """
    old = {
        beside_kept(case, name) + place: value
        for name, new in answer.request.body.items()
        for place, value in _find_replaced(created.request.body[name], new)
    }
    for pause_s in (*PAUSES_S, 0.0):
        stale_places = [where for where, value in old.items() if strictjson.is_equal(value_at(answer, where), value)]
        if not stale_places:
            return
        if pause_s:
            await asyncio.sleep(pause_s)
            answer = await case.control(answer.request.with_fresh_key(), "empty values again")
    message = f"{stale_places[0]} has its old value after a PATCH that named it with an empty one"
    case.warn(message, created, answer, expected="another value")


def _find_replaced(old: Any, new: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Within a member, the places that a PATCH gives another value, with their old ones."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old.keys() & new.keys():
            yield from _find_replaced(old[name], new[name], at + pointer.join(name))
    elif not strictjson.is_equal(old, new):
        yield at, old


async def expect_changes(
    case: Case, created: Answer, answer: Answer, changed_values: Mapping[str, Any], members: ShownMembers | None = None
) -> Answer:
    """Violated where a member has the value again that an earlier PATCH changed, or has lost what one gave it.

    `changed_values`: places and old values. A slow copy is given a moment.
    """
    for pause_s in (*PAUSES_S, 0.0):
        old_places = [
            where for where, value in changed_values.items() if strictjson.is_equal(value_at(answer, where), value)
        ]
        lost_names = members.lost_names(answer) if members else []
        if not old_places and not lost_names:
            return answer
        if pause_s:
            await asyncio.sleep(pause_s)
            answer = await case.control(answer.request.with_fresh_key(), "partial update again")
    if not old_places:
        assert members is not None
        members.judge(lost_names[0], answer)
        return answer
    message = f"{old_places[0]} has the value that an earlier PATCH changed"
    observed = str(changed_values[old_places[0]])
    raise case.violation(message, created, answer, expected="the changed value", observed=observed)
