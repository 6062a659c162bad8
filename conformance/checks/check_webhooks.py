"""Webhook endpoints (WH-1, WH-2)."""

from __future__ import annotations

from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson


async def _create_endpoint(case: Case) -> tuple[Answer, Request]:
    """A new endpoint, and a good PATCH of it."""
    where = case.profile.webhooks.id
    case.need(where, "webhooks.id", "the place of the new endpoint's id is needed")
    create_answer = await case.control(
        await case.arrange(case.contract.operations["createInstallationWebhook"]), "create"
    )
    if not pointer.has(create_answer.value, where):
        raise Inconclusive(
            f"the answer to create has no {where}", create_answer, cause="control:createInstallationWebhook"
        )
    update = await case.arrange(case.contract.operations["updateInstallationWebhook"], prove_control=False)
    name = update.operation.path_parameters[0]
    return create_answer, update.with_path(**{name: str(pointer.get(create_answer.value, where))})


@check("WH-1", on="updateInstallationWebhook")
async def a_created_endpoint_can_be_updated(case: Case) -> None:
    """The id in the answer to create is accepted by PATCH."""
    create_answer, update = await _create_endpoint(case)
    answer = await case.send(update, "update what was created")
    if answer.status == 404:
        raise case.violation("the new endpoint is not found by PATCH", create_answer, answer, expected="200")
    if not answer.ok:
        raise Inconclusive(f"PATCH of the new endpoint was answered {answer.summary}", create_answer, answer)


@check("WH-2", on="updateInstallationWebhook")
async def patch_changes_only_what_it_names(case: Case) -> None:
    """Members that a PATCH does not name keep the values of the create answer."""
    webhooks = case.profile.webhooks
    case.need(webhooks.patch, "webhooks.patch", "a partial update is needed")
    case.need(webhooks.kept, "webhooks.kept", "members that the update leaves alone are needed")
    create_answer, update = await _create_endpoint(case)
    partial = update.with_body(await case.runtime.arranger.render_body(update, webhooks.patch))
    answer = await case.control(partial, "partial update")
    for where in webhooks.kept:
        before, after = (
            pointer.get(a.value, where) if pointer.has(a.value, where) else None for a in (create_answer, answer)
        )
        if not strictjson.is_equal(before, after):
            message = f"PATCH changed {where}" if pointer.has(answer.value, where) else f"PATCH's answer has no {where}"
            raise case.violation(f"{message}, which it did not name", create_answer, answer, expected="unchanged")
