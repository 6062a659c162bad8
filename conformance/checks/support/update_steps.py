"""Partial updates of one webhook endpoint, one after the other, and what the answers must show of the earlier ones."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson

_PAUSES_S = (0.2, 0.4, 0.8)
"""A copy of a store may be older than the one that took the update before."""


def need_partial_update(case: Case) -> None:
    case.need(case.profile.webhooks.patch, "webhooks.patch", "a partial update is needed")
    case.need(case.profile.webhooks.kept, "webhooks.kept", "members that the update leaves alone are needed")


async def partial_update(case: Case, update: Request) -> Request:
    return update.with_body(await case.runtime.arranger.render_body(update, case.profile.webhooks.patch))


async def another_partial_update(case: Case, update: Request) -> Request:
    """The partial update with another {unique}, and a key of its own."""
    other = replace(update, scope={**update.scope, "unique": case.runtime.arranger.unique()})
    return (await partial_update(case, other)).with_fresh_key()


def value_at(answer: Answer, where: str) -> Any:
    """None where it is not there."""
    return pointer.get(answer.value, where) if pointer.has(answer.value, where) else None


def expect_kept(case: Case, create_answer: Answer, answer: Answer, places: Iterable[str]) -> None:
    for where in places:
        if not strictjson.is_equal(value_at(create_answer, where), value_at(answer, where)):
            message = f"PATCH changed {where}" if pointer.has(answer.value, where) else f"PATCH's answer has no {where}"
            raise case.violation(f"{message}, which it did not name", create_answer, answer, expected="unchanged")


def switches_of(case: Case, body: Any) -> dict[str, str]:
    """Members of a body to create that are true or false and kept: their names and places in the answer."""
    places = {pointer.tokens(where)[-1]: where for where in case.profile.webhooks.kept if where}
    values = body.items() if isinstance(body, dict) else ()
    return {name: places[name] for name, value in values if isinstance(value, bool) and name in places}


async def steps_of(case: Case, created: Answer, update: Request) -> list[dict[str, Any]]:
    """Bodies of PATCH that name different members, each with another value than was created."""
    body = created.request.body
    partial_body = (await partial_update(case, update)).body
    names = [*switches_of(case, body), *await _switches_of_updates(case, created)]
    steps: list[dict[str, Any]] = [{name: not body.get(name, True)} for name in names if name not in partial_body]
    steps.append(partial_body)
    member_names = {name for step in steps for name in step}
    others = [await case.runtime.arranger.render_body(update, template) for template in case.facts.bodies]
    steps += [other for other in others if isinstance(other, dict) and other and not member_names & other.keys()][:1]
    return [step for step in steps if not any(strictjson.is_equal(step[name], body.get(name)) for name in step)]


async def _switches_of_updates(case: Case, created: Answer) -> list[str]:
    """Members that the good update names and shows as it sent them, that create did not name, and that are true now.

    Not those that are false: a service may switch on under conditions of its own, such as a URL that was verified.
    """
    good = await case.good_answer()
    body = good.request.body
    return [
        name
        for name in (body if isinstance(body, dict) else ())
        if isinstance(body[name], bool) and body[name] is value_at(good, beside_kept(case, name))
        if name not in created.request.body and value_at(created, beside_kept(case, name)) is True
    ]


def beside_kept(case: Case, name: str) -> str:
    """The place of a member in an answer: beside those that the profile states."""
    return case.profile.webhooks.kept[0].rpartition("/")[0] + pointer.join(name)


def is_shown(case: Case, answer: Answer, name: str) -> bool:
    """Whether an answer shows a member with the value that its request sent."""
    where, body = beside_kept(case, name), answer.request.body
    return (
        name in body and pointer.has(answer.value, where) and strictjson.is_equal(value_at(answer, where), body[name])
    )


def places_of(case: Case, names: Collection[str]) -> list[str]:
    """The kept places of members that create set: one that is derived may change with another one that PATCH names."""
    places = {beside_kept(case, name) for name in names}
    return [where for where in case.profile.webhooks.kept if where in places]


def old_values(case: Case, created: Answer, step: Mapping[str, Any]) -> dict[str, Any]:
    """What a PATCH changes of the answer to create: places with the values that they must not have afterwards."""
    body = created.request.body
    values = {beside_kept(case, name): body[name] for name in step if is_shown(case, created, name)}
    # a switch that create did not name is on by default; any other default may be another form of what a PATCH says
    off_places = [beside_kept(case, name) for name, value in step.items() if value is False and name not in body]
    return values | {where: True for where in off_places if value_at(created, where) is True}


class ShownMembers:
    """Members that PATCHes of an endpoint have set, if the answers showed the same values."""

    def __init__(self, case: Case, created: Answer) -> None:
        self._case, self._created = case, created
        self._values: dict[str, Any] = {}
        """By the member's name."""

    def forget(self, names: Iterable[str]) -> None:
        """What another PATCH names may have another value, even where that is refused."""
        for name in names:
            self._values.pop(name, None)

    def note(self, answer: Answer) -> None:
        body = answer.request.body
        self._values |= {name: body[name] for name in body if is_shown(self._case, answer, name)}

    def to_change(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The values that a PATCH with this body changes, by their places."""
        common_names = [name for name in body if name in self._values]
        return {
            beside_kept(self._case, name): self._values[name]
            for name in common_names
            if not strictjson.is_equal(body[name], self._values[name])
        }

    def lost_names(self, answer: Answer) -> list[str]:
        """The names of members that an answer to a later PATCH, which does not name them, shows otherwise or not."""
        places = {name: beside_kept(self._case, name) for name in self._values}
        return [
            name
            for name, where in places.items()
            if not pointer.has(answer.value, where)
            or not strictjson.is_equal(value_at(answer, where), self._values[name])
        ]

    def judge(self, name: str, answer: Answer) -> None:
        """Violated for a member that create or the profile names; a warning for another one.

        One that only an update names may be about that update, such as a reason for it.
        """
        case, where = self._case, beside_kept(self._case, name)
        webhooks = case.profile.webhooks
        message = f"{where} has lost the value that an earlier PATCH gave it, and the last one did not name it"
        expected = str(self._values[name])
        if is_shown(case, self._created, name) or where in webhooks.kept or name in (webhooks.patch or {}):
            observed = str(value_at(answer, where)) if pointer.has(answer.value, where) else "no such member"
            raise case.violation(message, self._created, answer, expected=expected, observed=observed)
        case.warn(message, self._created, answer, expected=expected)


async def expect_another_change(
    case: Case, created: Answer, update: Request, changed_values: Mapping[str, Any], members: ShownMembers
) -> None:
    """Violated where the partial update, with other values, leaves those that its answer showed the first time."""
    other = await another_partial_update(case, update)
    to_change = members.to_change(other.body)
    if not to_change:
        return
    answer = await case.send(other, "the partial update with other values")
    if answer.ok:
        members.forget(other.body)
        await expect_changes(case, created, answer, {**changed_values, **to_change}, members)


async def expect_changes(
    case: Case, created: Answer, answer: Answer, changed_values: Mapping[str, Any], members: ShownMembers | None = None
) -> Answer:
    """Violated where a member has the value again that an earlier PATCH changed, or has lost what one gave it.

    `changed_values`: places and old values. A slow copy is given a moment.
    """
    for pause_s in (*_PAUSES_S, 0.0):
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
