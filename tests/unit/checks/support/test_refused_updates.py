"""Refused updates of an endpoint: the next answer shows which of them was stored."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.refused_updates import BAD_END, CONFLICT, FOREIGN, NO_KEY, expect_not_stored
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Webhooks
from conformance.profile.model import Credential, Schemas, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT, key_of

UPDATE = CONTRACT.operations["updateInstallationWebhook"]
FACTS: dict[str, Any] = {
    "credentials": {"full": Credential("full", SecretSource(env="X"), frozenset({"webhooks:write"}))},
    "fixtures": {"webhook": {"active": Fixture("webhook", "active", values=tuple({"id": f"w{n}"} for n in range(9)))}},
    "operations": {
        UPDATE.id: OperationFacts(path={"id": "{webhook.id}"}, body={"note": "{unique}", "metadata": {"team": "red"}})
    },
    "webhooks": Webhooks(id="/data/id", patch={"note": "changed {unique}"}, kept=("/data/metadata",)),
}


def endpoint(answer: Any, stores: int) -> Any:
    """A target that stores what it refuses with this status; 0: nothing."""
    bodies: dict[str, Any] = {}
    data: dict[str, Any] = {}

    def script(arrived: Any) -> bytes:
        body, key = json.loads(arrived.body), key_of(arrived)
        status = 200 if arrived.all("authorization") else 401
        status = 409 if status == 200 and bodies.get(key, body) != body else status
        if status in (200, stores):
            data.update(body)
        if status == 200:
            bodies[key] = body
        return bytes(answer(status, {"data": data} if status == 200 else {"error": status}))

    return script


@pytest.mark.parametrize(
    ("defect", "stores", "outcome"),
    [
        (CONFLICT, 0, Outcome.PASSED),
        (CONFLICT, 409, Outcome.FAILED),
        (NO_KEY, 0, Outcome.PASSED),
        (NO_KEY, 401, Outcome.FAILED),
        (NO_KEY, 409, Outcome.INAPPLICABLE),
        (FOREIGN, 0, Outcome.INAPPLICABLE),
    ],
)
def test_what_was_refused_does_not_show_later(
    judged: Any, answer: Any, defect: str, stores: int, outcome: Outcome
) -> None:
    """Each defect has a value of its own, so that only the one that was stored is found."""

    async def law(case: Case) -> None:
        await expect_not_stored(case, defect)

    result, _ = judged(endpoint(answer, stores), law, UPDATE, **FACTS)
    assert result.outcome is outcome, result


@pytest.mark.parametrize("webhooks", [Webhooks(), Webhooks(patch={"note": "x"}, kept=("/data/url",))])
def test_without_a_member_that_stays_nothing_is_judged(judged: Any, answer: Any, webhooks: Webhooks) -> None:
    async def law(case: Case) -> None:
        await expect_not_stored(case, CONFLICT)

    result, _ = judged(endpoint(answer, 409), law, UPDATE, **(FACTS | {"webhooks": webhooks}))
    assert result.outcome is Outcome.INAPPLICABLE, result


@pytest.mark.parametrize("is_stored", [False, True])
def test_members_before_a_bad_one_are_not_stored(judged: Any, answer: Any, *, is_stored: bool) -> None:
    """The service reads the members in their order; the rank, which is a number, is the last one."""
    data: dict[str, Any] = {}
    keys: set[str] = set()
    text: dict[str, Any] = {"type": "string"}
    parts: dict[str, Any] = {"rank": {"type": "integer"}, "note": text, "team": text}

    def script(arrived: Any) -> bytes:
        body = json.loads(arrived.body)
        names = list(itertools.takewhile(lambda name: name != "rank" or isinstance(body[name], int), body))
        is_valid = len(names) == len(body) and isinstance(body.get("team", ""), str)
        is_allowed = bool(arrived.all("authorization")) and key_of(arrived) not in keys
        if is_allowed and (is_valid or is_stored):
            data.update({name: body[name] for name in names})
        keys.add(key_of(arrived))
        return bytes(answer(200, {"data": data}) if is_allowed and is_valid else answer(400, {"error": "no"}))

    async def law(case: Case) -> None:
        await expect_not_stored(case, BAD_END)

    body = {"rank": 3, "note": "{unique}", "team": "red"}
    facts = {
        **FACTS,
        "operations": {UPDATE.id: OperationFacts(path={"id": "{webhook.id}"}, body=body)},
        "schemas": Schemas({UPDATE.request_schema: {"type": "object", "properties": parts}}),
        "webhooks": Webhooks(id="/data/id", patch={"note": "changed {unique}"}, kept=("/data/team", "/data/rank")),
    }
    result, _ = judged(script, law, UPDATE, **facts)
    assert result.outcome is (Outcome.FAILED if is_stored else Outcome.PASSED), result
