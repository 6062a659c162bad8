"""Two webhook endpoints whose lists have different lengths, and a list that a PATCH can give both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.new_endpoints import create_endpoint
from conformance.checks.support.other_endpoints import FULLEST, LEAST, other_endpoint
from conformance.checks.support.shown_members import beside_kept, is_shown, value_at
from conformance.checks.support.signals import Inapplicable
from conformance.checks.support.update_steps import partial_update
from conformance.checks.support.update_values import stated_names, updatable_names
from conformance.client.response import Answer
from conformance.profile.render import placeholders

_CREATE: Final = "createInstallationWebhook"


async def endpoints_of_two_lists(case: Case) -> tuple[Answer, Answer, str, list[Any]]:
    """The answers to updates of two endpoints, that of the longer list first; the member's name, and the new list.

    Inapplicable without a list of texts or numbers that the answer to create shows with the value of its request.
    """
    found: list[tuple[Answer, Answer]] = []
    async for created, answer in _endpoints(case):
        found.append((created, answer))
        for name in [*sorted(stated_names(case)), *updatable_names(case)]:
            lists = [(_list_of(case, *endpoint, name), endpoint[1]) for endpoint in found]
            lengths = {len(items): last for items, last in lists if items is not None}
            candidates = list(_known_lists(case, name))
            if len(lengths) > 1 and candidates:
                return lengths[max(lengths)], lengths[min(lengths)], name, min(candidates, key=len)
    raise Inapplicable("no member that updates name is a list of another length on another endpoint")


async def _endpoints(case: Case) -> AsyncIterator[tuple[Answer, Answer]]:
    """Answers to create and to an update of it: those that checks share first."""
    for kind in (FULLEST, LEAST):
        try:
            created, answer = await other_endpoint(case, kind)
        except Inapplicable:
            continue
        if answer.ok:
            yield created, answer
    created, update = await create_endpoint(case)
    yield created, await case.control(await partial_update(case, update), "partial update")


def _list_of(case: Case, created: Answer, answer: Answer, name: str) -> list[Any] | None:
    """What an endpoint shows now, if create showed the list that was sent."""
    body = created.request.body
    if not isinstance(body, dict) or not isinstance(body.get(name), list) or not is_shown(case, created, name):
        return None
    items = value_at(answer, beside_kept(case, name))
    return items if isinstance(items, list) and all(_is_plain(item) for item in items) else None


def _is_plain(item: Any) -> bool:
    return isinstance(item, (str, int, float))


def _known_lists(case: Case, name: str) -> Iterator[list[Any]]:
    """The lists of the profile's bodies, those of updates first; without placeholders."""
    create = case.profile.operations.get(_CREATE)
    bodies = [case.facts.body, *case.facts.bodies, *((create.body, *create.bodies) if create else ())]
    for body in bodies:
        items = body.get(name) if isinstance(body, dict) else None
        if isinstance(items, list) and items and not placeholders(items):
            yield items
