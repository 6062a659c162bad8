"""Faults of updates that several members, or a second one of the same value, show: WH-2."""

from __future__ import annotations

from conformance.reference.call import JsonObject
from conformance.reference.policy import Policy, evolve
from conformance.reference.registry import fault

_UPDATE = "updateInstallationWebhook"


@fault(
    "X119",
    requirement="WH-2",
    title="of an update that names several members the first one is written",
    operations=(_UPDATE,),
    source="a statement for one column, built from the first member that is found",
)
def first_member_is_written(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        return policy.merge(old, dict(list(changes.items())[:1]))

    return evolve(policy, merge=merge)


@fault(
    "X120",
    requirement="WH-2",
    title="an inactive endpoint is active after an update that makes it inactive",
    operations=(_UPDATE,),
    source="a value that is toggled in place of one that is set",
)
def inactive_twice_is_active(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        is_twice = changes.get("active") is False and old.get("active") is False
        return policy.merge(old, {**changes, "active": True} if is_twice else changes)

    return evolve(policy, merge=merge)


@fault(
    "X182",
    requirement="WH-2",
    title="an inactive endpoint is active after an update that names its events",
    operations=(_UPDATE,),
    source="a subscription that is made anew for other events, with its defaults",
)
def other_events_activate(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        return policy.merge(old, {"active": True, **changes} if "events" in changes else changes)

    return evolve(policy, merge=merge)


@fault(
    "X183",
    requirement="WH-2",
    title="an update that names the priority 0 leaves the old one",
    operations=(_UPDATE,),
    source="`changes.priority || old.priority`",
)
def old_priority_for_zero(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        metadata = changes.get("metadata", {})
        if metadata.get("priority") == 0 and "priority" in old.get("metadata", {}):
            changes = {**changes, "metadata": {**metadata, "priority": old["metadata"]["priority"]}}
        return policy.merge(old, changes)

    return evolve(policy, merge=merge)
