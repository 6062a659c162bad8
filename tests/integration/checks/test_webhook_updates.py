"""Updates of webhook endpoints: services that show them in their own way, each beside the broken one that is alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conformance.checks.check_webhooks import (
    a_list_is_what_patch_names_whatever_it_was_before,
    an_endpoint_of_another_body_can_be_updated,
    endpoints_that_are_created_at_once_have_ids_of_their_own,
    patch_changes_what_it_names,
    patch_keeps_a_switch_as_it_was_set,
    updates_at_once_change_what_each_names,
)
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Webhooks
from conformance.profile.model import Schemas
from conformance.profile.resources import OperationFacts
from tests.support.webhook_endpoints import (
    CREATE,
    LABEL,
    UPDATE,
    Endpoint,
    Merge,
    endpoint_facts,
    endpoint_target,
    replace_members,
)


def _without(name: str) -> Merge:
    return lambda old, changes: {**{key: value for key, value in old.items() if key != name}, **changes}


def _once(old: Endpoint, changes: Endpoint) -> Endpoint:
    return {**old, **changes, **({"label": old["label"]} if str(old.get("label")).startswith("new") else {})}


SERVICES: dict[str, tuple[Merge, Outcome]] = {
    "plain": (replace_members, Outcome.PASSED),
    "letters in lower case": (
        lambda old, changes: {**old, **changes, "label": str(changes.get("label", old.get("label"))).upper()},
        Outcome.PASSED,
    ),
    "a label that is hidden": (lambda old, changes: {**old, **changes, "label": "***"}, Outcome.PASSED),
    "a label that is lost": (_without("label"), Outcome.FAILED),
    "a label with a default": (lambda old, changes: {**old, "label": "none", **changes}, Outcome.FAILED),
    "a reason of the update alone": (_without("reason"), Outcome.WARNED),
    "a label that is changed once": (_once, Outcome.FAILED),
    "a note that create alone names": (
        lambda old, changes: {**old, **changes, "note": "lost" if "label" in changes else old.get("note")},
        Outcome.WARNED,
    ),
    "a label that a change of active takes away": (
        lambda old, changes: {**old, **({"label": ""} if "active" in changes else {}), **changes},
        Outcome.FAILED,
    ),
    "a reason that is derived where active is named beside it": (
        lambda old, changes: {
            **old,
            **changes,
            **({"reason": "none"} if {"active", "reason"} <= changes.keys() else {}),
        },
        Outcome.PASSED,
    ),
    "no effect of active": (lambda old, changes: {**old, **changes, "active": old["active"]}, Outcome.FAILED),
}


@pytest.mark.parametrize(("merge", "outcome"), SERVICES.values(), ids=SERVICES)
def test_what_an_update_sets_stays(judged: Any, answer: Any, merge: Merge, outcome: Outcome) -> None:
    """The reason comes with another member, so that a further update follows."""
    result, _ = judged(endpoint_target(answer, merge), patch_changes_what_it_names, UPDATE, **endpoint_facts())
    assert result.outcome is outcome, result


def _tags_alone(old: Endpoint, changes: Endpoint) -> Endpoint:
    return {**old, **changes, **({"events": ["*"]} if changes.keys() == {"tags"} else {})}


@pytest.mark.parametrize(
    ("merge", "refused", "outcome"),
    [
        (replace_members, None, Outcome.PASSED),
        (replace_members, {"tags"}, Outcome.PASSED),
        (_tags_alone, None, Outcome.FAILED),
        (_tags_alone, {"tags"}, Outcome.PASSED),
    ],
    ids=["plain", "a member that needs another", "a member that takes another back", "refused alone"],
)
def test_each_member_of_a_good_update_is_changed_alone(
    judged: Any, answer: Any, merge: Merge, refused: set[str] | None, outcome: Outcome
) -> None:
    """A member may be refused where another one is absent."""
    target = endpoint_target(answer, merge)

    def script(arrived: Any) -> bytes:
        if arrived.method == "PATCH" and arrived.json.keys() == refused:
            return bytes(answer(400, {"error": "no"}))
        return bytes(target(arrived))

    facts = endpoint_facts(webhooks=Webhooks(id="/data/id", patch=LABEL, kept=("/data/url", "/data/events")))
    create, update = facts["operations"][CREATE.id], facts["operations"][UPDATE.id]
    facts["operations"] = {
        CREATE.id: replace(create, body={**create.body, "events": ["a", "b"], "tags": ["x"]}),
        UPDATE.id: replace(update, body={**update.body, "events": ["b"], "tags": ["y"]}),
    }
    result, found = judged(script, patch_changes_what_it_names, UPDATE, **facts)
    assert result.outcome is outcome, result
    bodies = [arrived.json for arrived in found.arrived if arrived.method == "PATCH"]
    assert {"tags": ["y"]} in bodies
    assert {"events": ["b"]} in bodies


def test_a_switch_may_be_on_under_conditions(judged: Any, answer: Any) -> None:
    """Such as a URL that was verified: an update that switches it on is not a proof of a missing effect."""

    def merge(old: Endpoint, changes: Endpoint) -> Endpoint:
        return {**old, **changes, "active": False}

    facts = endpoint_facts()
    result, _ = judged(endpoint_target(answer, merge, default=False), patch_changes_what_it_names, UPDATE, **facts)
    assert result.outcome is Outcome.PASSED, result


def _unpause(old: Endpoint, changes: Endpoint) -> Endpoint:
    return {**old, **({"paused": False} if "url" in changes else {}), **changes}


def _refuse_to_pause(old: Endpoint, changes: Endpoint) -> Endpoint:
    return {**old, **changes, "paused": False}


@pytest.mark.parametrize(
    ("merge", "outcome"),
    [(replace_members, Outcome.PASSED), (_refuse_to_pause, Outcome.PASSED), (_unpause, Outcome.FAILED)],
)
def test_a_pause_outlives_an_update_of_another_member(judged: Any, answer: Any, merge: Merge, outcome: Outcome) -> None:
    """Create does not name it, and the good update names it as it is by default."""
    facts = endpoint_facts(webhooks=Webhooks(id="/data/id", patch=LABEL, kept=("/data/url", "/data/paused")))
    update = facts["operations"][UPDATE.id]
    body = {**LABEL, "paused": False, "url": "https://example.com/{unique}/u"}
    facts["operations"] = {**facts["operations"], UPDATE.id: replace(update, body=body, bodies=())}
    target = endpoint_target(answer, lambda old, changes: merge({"paused": False, **old}, changes))

    def script(arrived: Any) -> bytes:
        if arrived.method == "POST":
            return bytes(target(replace(arrived, body=arrived.body[:-1] + b', "paused": false}')))
        return bytes(target(arrived))

    result, _ = judged(script, patch_changes_what_it_names, UPDATE, **facts)
    assert result.outcome is outcome, result


def test_an_older_copy_may_lack_what_an_update_set(judged: Any, answer: Any) -> None:
    result, _ = judged(
        endpoint_target(answer, replace_members, lag=1), patch_changes_what_it_names, UPDATE, **endpoint_facts()
    )
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
    """A conflict is not a failure where the profile does not say that there is none."""
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
    result, _ = judged(script, law, UPDATE, **endpoint_facts(**stated))
    assert result.outcome is outcome, result


_CREATES: dict[str, tuple[Callable[[int, Endpoint], Any], Outcome]] = {
    "numbers": (lambda number, body: number, Outcome.PASSED),
    "an endpoint for each URL": (lambda number, body: body["url"], Outcome.PASSED),
    "an endpoint for each label": (lambda number, body: body["label"], Outcome.INAPPLICABLE),
    "ids that follow": (lambda number, body: None, Outcome.INAPPLICABLE),
    "a race": (lambda number, body: f"new-{1 if number < 6 else number}", Outcome.FAILED),
}


@pytest.mark.parametrize("service", _CREATES)
def test_creates_may_share_an_endpoint_at_any_time_and_not_at_once_only(judged: Any, answer: Any, service: str) -> None:
    """An upsert knows an endpoint by a member that it does not name in the interface."""
    name, outcome = _CREATES[service]
    creates = 0

    def script(arrived: Any) -> bytes:
        nonlocal creates
        creates += arrived.method == "POST"
        return bytes(answer(200, {"data": {"id": name(creates, arrived.json) if arrived.method == "POST" else "old"}}))

    result, _ = judged(script, endpoints_that_are_created_at_once_have_ids_of_their_own, UPDATE, **endpoint_facts())
    assert result.outcome is outcome, result


@pytest.mark.parametrize("unique", [True, False])
def test_creates_of_one_body_may_be_one_endpoint(judged: Any, answer: Any, *, unique: bool) -> None:
    """Where the stated body names nothing new, a service may take the creates at once for one."""
    facts = endpoint_facts()
    body = {"url": "https://example.com/{unique}" if unique else "https://example.com/hook"}
    facts["operations"] = {**facts["operations"], CREATE.id: OperationFacts(body=body)}
    creates: list[str] = []

    def script(arrived: Any) -> bytes:
        creates.append(arrived.method)
        return bytes(answer(200, {"data": {"id": "one" if len(creates) < 6 else f"new-{len(creates)}"}}))

    result, _ = judged(script, endpoints_that_are_created_at_once_have_ids_of_their_own, UPDATE, **facts)
    assert result.outcome is (Outcome.FAILED if unique else Outcome.INAPPLICABLE), result


TEXTS = {"type": "array", "items": {"type": "string"}}
SHORT_UPDATES = {
    "type": "object",
    "properties": {"label": {"type": "string"}, "events": TEXTS, "active": {"type": ["boolean", "null"]}},
}


def _short_facts() -> dict[str, Any]:
    """Updates name the label alone; the schema of updates names the others."""
    facts = endpoint_facts(schemas=Schemas({UPDATE.request_schema: SHORT_UPDATES}))
    facts["webhooks"] = Webhooks(id="/data/id", patch=LABEL, kept=("/data/url", "/data/events", "/data/active"))
    create = {"url": "https://example.com/{unique}", "label": "first"}
    bodies = ({**create, "events": ["b", "a", "c"]},)
    facts["operations"] = {
        CREATE.id: OperationFacts(body={**create, "events": ["a"]}, bodies=bodies),
        UPDATE.id: OperationFacts(body=LABEL, path={"id": "{webhook.id}"}),
    }
    return facts


def _on_again(old: Endpoint, changes: Endpoint) -> Endpoint:
    return {**old, "active": True, **changes}


def _first_events(old: Endpoint, changes: Endpoint) -> Endpoint:
    return {**old, **changes, **({"events": ["a"]} if changes == {"active": False} else {})}


@pytest.mark.parametrize(
    ("merge", "refused", "changes", "switch"),
    [
        (replace_members, None, Outcome.PASSED, Outcome.PASSED),
        (replace_members, {"events"}, Outcome.PASSED, Outcome.PASSED),
        (replace_members, {"active"}, Outcome.PASSED, Outcome.INAPPLICABLE),
        (_on_again, None, Outcome.FAILED, Outcome.FAILED),
        (_first_events, None, Outcome.FAILED, Outcome.PASSED),
        (lambda old, new: {**old, **new, "events": old.get("events", [])}, None, Outcome.PASSED, Outcome.PASSED),
    ],
    ids=["plain", "a list is refused", "a switch is refused", "on again", "the first list again", "a list is ignored"],
)
def test_members_that_the_schema_of_updates_names_are_changed_too(
    judged: Any, answer: Any, merge: Merge, refused: set[str] | None, changes: Outcome, switch: Outcome
) -> None:
    """A value that the profile's updates do not state may be refused, or need more than a PATCH."""
    target = endpoint_target(answer, merge)

    def script(arrived: Any) -> bytes:
        if arrived.method == "PATCH" and arrived.json.keys() == refused:
            return bytes(answer(400, {"error": "no"}))
        return bytes(target(arrived))

    for check, outcome in ((patch_changes_what_it_names, changes), (patch_keeps_a_switch_as_it_was_set, switch)):
        result, _ = judged(script, check, UPDATE, **_short_facts())
        assert result.outcome is outcome, result


def test_updates_at_once_need_three_members(judged: Any, answer: Any) -> None:
    result, _ = judged(
        endpoint_target(answer, replace_members), updates_at_once_change_what_each_names, UPDATE, **_short_facts()
    )
    assert result.outcome in (Outcome.PASSED, Outcome.INCONCLUSIVE), result
    facts = _short_facts()
    create = facts["operations"][CREATE.id]
    short = replace(create, body={"url": "https://example.com/{unique}"}, bodies=())
    facts["operations"] = {**facts["operations"], CREATE.id: short}
    result, _ = judged(
        endpoint_target(answer, replace_members), updates_at_once_change_what_each_names, UPDATE, **facts
    )
    assert result.outcome is Outcome.UNSTATED, result
    assert "operations.updateInstallationWebhook.bodies" in result.message


@pytest.mark.parametrize(
    ("merge", "outcome"),
    [
        (replace_members, Outcome.PASSED),
        (lambda old, new: {**old, **new, "events": sorted(new.get("events", old["events"]))}, Outcome.PASSED),
        (lambda old, new: {**old, **new, "events": [*old["events"], *new.get("events", ())]}, Outcome.WARNED),
        (
            lambda old, new: {
                **old,
                **new,
                "events": [*new.get("events", ()), *old["events"][len(new.get("events", ())) :]],
            },
            Outcome.WARNED,
        ),
    ],
    ids=["plain", "in order", "appended", "the end of the old one"],
)
def test_a_list_is_replaced(judged: Any, answer: Any, merge: Merge, outcome: Outcome) -> None:
    check = a_list_is_what_patch_names_whatever_it_was_before
    result, _ = judged(endpoint_target(answer, merge), check, UPDATE, **_short_facts())
    assert result.outcome is outcome, result
