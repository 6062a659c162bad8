"""A service of webhook endpoints with its own way to merge a PATCH, and the facts of its profile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.profile.behavior import Webhooks
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

CREATE, UPDATE = (CONTRACT.operations[name] for name in ("createInstallationWebhook", "updateInstallationWebhook"))
LABEL, REASON = {"label": "new {unique}"}, {"reason": "moved {unique}", "url": "https://example.com/moved"}
Endpoint = dict[str, Any]
Merge = Callable[[Endpoint, Endpoint], Endpoint]


def endpoint_facts(**changes: Any) -> dict[str, Any]:
    """The facts of a profile for `judged`: creates of two bodies, and updates of a label."""
    create = {"url": "https://example.com/{unique}"}
    return {
        "credentials": {"full": Credential("full", SecretSource(env="X"), frozenset({CREATE.scope}))},
        "fixtures": {"webhook": {"active": Fixture("webhook", "active", values=({"id": "old"},), reusable=True)}},
        "operations": {
            CREATE.id: OperationFacts(body={**create, "label": "first", "note": "kept"}, bodies=(create,)),
            UPDATE.id: OperationFacts(body={**LABEL, "active": True}, bodies=(REASON,), path={"id": "{webhook.id}"}),
        },
        "webhooks": Webhooks(id="/data/id", patch=LABEL, kept=("/data/url",)),
        **changes,
    }


def endpoint_target(answer: Any, merge: Merge, *, default: bool = True, lag: int = 0) -> Any:
    """A service of endpoints; a `lag` is the number of updates that the copy which is shown lacks at first."""
    endpoints: dict[str, Endpoint] = {"old": {"id": "old", "active": default}}
    looks = 0

    def script(arrived: Any) -> bytes:
        nonlocal looks
        if arrived.method == "POST":
            name = f"new-{len(endpoints)}"
            endpoints[name] = {"label": "", "active": default, **arrived.json, "id": name}
            return bytes(answer(200, {"data": endpoints[name]}))
        name = arrived.target.rpartition("/")[2]
        before = endpoints[name]
        endpoints[name] = merge(before, arrived.json)
        looks += name != "old"
        shown = {**before, **arrived.json} if lag and looks % (lag + 1) else endpoints[name]
        return bytes(answer(200, {"data": shown}))

    return script


def replace_members(old: Endpoint, changes: Endpoint) -> Endpoint:
    """A PATCH that replaces what it names."""
    return {**old, **changes}
