"""Webhook endpoints of other bodies than the usual one, and an update of each, which checks share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.endpoint_bodies import escaped_body, fullest_body, least_body, with_known_items
from conformance.checks.support.invalid_bodies import is_against_schema
from conformance.checks.support.new_endpoints import poll_copies, update_of
from conformance.checks.support.update_steps import partial_update
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.profile.model import Profile

_CREATE: Final = "createInstallationWebhook"
_UPDATE: Final = "updateInstallationWebhook"
FULLEST: Final = "fullest"
LEAST: Final = "least"
_MOST_FURTHER: Final = 3


def kinds_of_endpoints(profile: Profile, _: Operation) -> Mapping[str, Any]:
    """Cases: the fullest body, the least one, and the profile's further ones by their number."""
    facts = profile.operations.get(_CREATE)
    bodies = list(facts.bodies) if facts else []
    least = min(range(len(bodies)), key=lambda index: len(str(bodies[index])), default=None)
    further = [index for index in range(len(bodies)) if index != least]
    return {FULLEST: FULLEST, LEAST: LEAST, **{f"body-{index + 2}": index for index in further[:_MOST_FURTHER]}}


async def other_endpoint(case: Case, kind: str | int) -> tuple[Answer, Answer]:
    """The answers to create and to a partial update, or to the usual update where no partial one is stated.

    Inapplicable where such a body does not create an endpoint.
    """
    where, known = case.profile.webhooks.id, case.runtime.known_answers
    case.need(where, "webhooks.id", "the place of the new endpoint's id is needed")

    async def create() -> Answer:
        request = await case.arrange(case.contract.operations[_CREATE])
        answer = None
        for body in await _bodies(case, request, kind):
            answer = await case.send(request.with_body(body).with_fresh_key(), "create with another body")
            if answer.ok:
                break
        assert answer is not None
        return answer

    async def update() -> Answer:
        request = await update_of(case, created)
        if case.profile.webhooks.patch:
            request = await partial_update(case, request)
        return await poll_copies(case, await case.send(request, "update of an endpoint of another body"))

    created = await known[f"an endpoint of another body: {kind}"].get_from(case, create)
    case.require_case(created.ok and pointer.has(created.value, where), f"such a body is answered {created.summary}")
    return created, await known[f"an update of an endpoint of another body: {kind}"].get_from(case, update)


async def _bodies(case: Case, create: Request, kind: str | int) -> list[Any]:
    """The fullest body, with and without escapes, and two whose lists have known items alone; or another one."""
    schema = case.profile.body_schema(create.operation.request_schema)
    stated = case.runtime.arranger.facts(create.operation).bodies
    idempotency = case.profile.idempotency
    keep = (idempotency.place,) if idempotency and idempotency.place else ()
    if kind == FULLEST:
        case.require_case(schema is not None, f"the profile has no schema {create.operation.request_schema}")
        assert schema is not None
        values = create.scope.values()
        with_escapes = fullest_body(escaped_body(create.body, schema, keep, values), schema, keep, values)
        plain = fullest_body(create.body, schema, keep, values)
        updates = case.runtime.arranger.facts(case.contract.operations[_UPDATE])
        longer = with_known_items(create.body, [*stated, updates.body, *updates.bodies])
        is_longer = longer != create.body and not is_against_schema(case, create.with_body(longer))
        shorter = [longer, create.body] if is_longer else [create.body]
        return [with_escapes, plain, *(fullest_body(body, schema, keep, values, new_items=False) for body in shorter)]
    template = stated[kind] if isinstance(kind, int) else least_body(stated, create.body, schema, keep)
    case.require_case(template is not None, "the profile states no other body that creates an endpoint")
    return [await case.runtime.arranger.render_body(create, template)]
