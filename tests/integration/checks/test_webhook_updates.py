"""Updates of webhook endpoints: services that show them in their own way, each beside the broken one that is alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.checks.check_webhooks import an_endpoint_of_another_body_can_be_updated, patch_changes_what_it_names
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Webhooks
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

CREATE, UPDATE = (CONTRACT.operations[name] for name in ("createInstallationWebhook", "updateInstallationWebhook"))
LABEL, REASON = {"label": "new {unique}"}, {"reason": "moved {unique}", "url": "https://example.com/moved"}
Endpoint = dict[str, Any]
Merge = Callable[[Endpoint, Endpoint], Endpoint]


def _facts(**changes: Any) -> dict[str, Any]:
    create = {"url": "https://example.com/{unique}"}
    return {
        "credentials": {"full": Credential("full", SecretSource(env="X"), frozenset({CREATE.scope}))},
        "fixtures": {"webhook": {"active": Fixture("webhook", "active", values=({"id": "old"},), reusable=True)}},
        "operations": {
            CREATE.id: OperationFacts(body={**create, "label": "first"}, bodies=(create,)),
            UPDATE.id: OperationFacts(body={**LABEL, "active": True}, bodies=(REASON,), path={"id": "{webhook.id}"}),
        },
        "webhooks": Webhooks(id="/data/id", patch=LABEL, kept=("/data/url",)),
        **changes,
    }


def _target(answer: Any, merge: Merge, *, default: bool = True, lag: int = 0) -> Any:
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


def _plain(old: Endpoint, changes: Endpoint) -> Endpoint:
    return {**old, **changes}


def _without(name: str) -> Merge:
    return lambda old, changes: {**{key: value for key, value in old.items() if key != name}, **changes}


def _once(old: Endpoint, changes: Endpoint) -> Endpoint:
    return {**old, **changes, **({"label": old["label"]} if str(old.get("label")).startswith("new") else {})}


SERVICES: dict[str, tuple[Merge, Outcome]] = {
    "plain": (_plain, Outcome.PASSED),
    "letters in lower case": (
        lambda old, changes: {**old, **changes, "label": str(changes.get("label", old.get("label"))).upper()},
        Outcome.PASSED,
    ),
    "a label that is hidden": (lambda old, changes: {**old, **changes, "label": "***"}, Outcome.PASSED),
    "a label that is lost": (_without("label"), Outcome.FAILED),
    "a label with a default": (lambda old, changes: {**old, "label": "none", **changes}, Outcome.FAILED),
    "a reason of the update alone": (_without("reason"), Outcome.WARNED),
    "a label that is changed once": (_once, Outcome.FAILED),
    "no effect of active": (lambda old, changes: {**old, **changes, "active": old["active"]}, Outcome.FAILED),
}


@pytest.mark.parametrize(("merge", "outcome"), SERVICES.values(), ids=SERVICES)
def test_what_an_update_sets_stays(judged: Any, answer: Any, merge: Merge, outcome: Outcome) -> None:
    """The reason comes with another member, so that a further update follows."""
    result, _ = judged(_target(answer, merge), patch_changes_what_it_names, UPDATE, **_facts())
    assert result.outcome is outcome, result


def test_a_switch_may_be_on_under_conditions(judged: Any, answer: Any) -> None:
    """Such as a URL that was verified: an update that switches it on is no proof of a missing effect."""

    def merge(old: Endpoint, changes: Endpoint) -> Endpoint:
        return {**old, **changes, "active": False}

    facts = _facts()
    result, _ = judged(_target(answer, merge, default=False), patch_changes_what_it_names, UPDATE, **facts)
    assert result.outcome is Outcome.PASSED, result


def test_an_older_copy_may_lack_what_an_update_set(judged: Any, answer: Any) -> None:
    result, _ = judged(_target(answer, _plain, lag=1), patch_changes_what_it_names, UPDATE, **_facts())
    assert result.outcome is Outcome.PASSED, result


@pytest.mark.parametrize(
    ("status", "states", "outcome"),
    [
        (200, True, Outcome.PASSED),
        (404, True, Outcome.FAILED),
        (500, True, Outcome.FAILED),
        (400, True, Outcome.INAPPLICABLE),
        (409, True, Outcome.FAILED),
        (409, False, Outcome.INAPPLICABLE),
    ],
)
def test_an_endpoint_without_a_label_can_be_updated(
    judged: Any, answer: Any, status: int, *, states: bool, outcome: Outcome
) -> None:
    """A conflict is no failure where the profile does not say that there is none."""
    labels: list[bool] = []

    def script(arrived: Any) -> bytes:
        if arrived.method == "POST":
            labels.append("label" in arrived.json)
            return bytes(answer(200, {"data": {"id": str(len(labels) - 1)}}))
        name = arrived.target.rpartition("/")[2]
        good = name == "old" or labels[int(name)] or status == 200
        return bytes(answer(200 if good else status, {"data": {}} if good else {"error": "no"}))

    async def law(case: Any) -> None:
        await an_endpoint_of_another_body_can_be_updated(case, "least")

    stated = {"exclusions": {f"transitions.{UPDATE.id}": "nothing conflicts"}} if states else {}
    result, _ = judged(script, law, UPDATE, **_facts(**stated))
    assert result.outcome is outcome, result
