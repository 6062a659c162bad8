"""Webhook endpoints (WH-1, WH-2)."""

from __future__ import annotations

from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson


async def _created(case: Case) -> tuple[Answer, Request]:
    """A new endpoint, and a good PATCH of it."""
    where = case.profile.webhooks.id
    case.need(where, "webhooks.id", "the place of the new endpoint's id is needed")
    created = await case.control(await case.arrange(case.contract.operations["createInstallationWebhook"]), "create")
    if not pointer.has(created.value, where):
        raise Inconclusive(f"the answer to create has no {where}", created, cause="control:createInstallationWebhook")
    update = await case.arrange(case.contract.operations["updateInstallationWebhook"], proven=False)
    name = update.operation.path_parameters[0]
    return created, update.with_path(**{name: str(pointer.get(created.value, where))})


@check("WH-1", on="updateInstallationWebhook")
async def a_created_endpoint_can_be_updated(case: Case) -> None:
    """The id that create answers is known to PATCH."""
    created, update = await _created(case)
    answer = await case.send(update, "update what was created")
    if answer.status == 404:
        raise case.violated("the new endpoint is not found by PATCH", created, answer, expected="200")
    if not answer.ok:
        raise Inconclusive(f"PATCH of the new endpoint was answered {answer.summary}", created, answer)


@check("WH-2", on="updateInstallationWebhook")
async def patch_changes_only_what_it_names(case: Case) -> None:
    """Members that a PATCH does not name stay as create answered them."""
    webhooks = case.profile.webhooks
    case.need(webhooks.patch, "webhooks.patch", "a partial update is needed")
    case.need(webhooks.kept, "webhooks.kept", "members that the update leaves alone are needed")
    created, update = await _created(case)
    partial = update.with_body(await case.runtime.arranger.rendered(update, webhooks.patch))
    answer = await case.control(partial, "partial update")
    for where in webhooks.kept:
        before, after = (
            pointer.get(a.value, where) if pointer.has(a.value, where) else None for a in (created, answer)
        )
        if not strictjson.same(before, after):
            what = f"PATCH changed {where}" if pointer.has(answer.value, where) else f"PATCH's answer has no {where}"
            raise case.violated(f"{what}, which it did not name", created, answer, expected="unchanged")
