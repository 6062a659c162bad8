"""Faults of updates that show in the next look only, or on an endpoint that is not active: WH-2."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from conformance.reference import objects
from conformance.reference.call import Answer, Call, JsonObject, Refusal
from conformance.reference.policy import Handler, Policy, evolve, with_handler
from conformance.reference.registry import fault

_UPDATE = "updateInstallationWebhook"
Change = Callable[[Call, Connection, Handler], Answer]


def _with_update(policy: Policy, change: Change) -> Policy:
    return with_handler(policy, _UPDATE, lambda inner: lambda call, db: change(call, db, inner))


@fault(
    "F618",
    requirement="WH-2",
    title="an update that does not name active makes the endpoint active",
    operations=(_UPDATE,),
    source="the default of a model's member, applied to the body of PATCH",
)
def active_by_default(policy: Policy) -> Policy:
    return evolve(policy, merge=lambda old, changes: policy.merge({**old, "active": True}, changes))


@fault(
    "F619",
    requirement="WH-2",
    title="a second update starts from the state before the first one",
    operations=(_UPDATE,),
    source="a cache of rows that a write does not invalidate: the lost update",
)
def stale_second_update(policy: Policy) -> Policy:
    first: dict[str, JsonObject] = {}

    def change(call: Call, db: Connection, inner: Handler) -> Answer:
        found = objects.get(db, call.resource)
        if found is None:
            return inner(call, db)
        old_data = first.setdefault(found.id, found.data)
        changed = evolve(call.policy, merge=lambda _old, changes: policy.merge(old_data, changes))
        return inner(evolve(call, policy=changed), db)

    return _with_update(policy, change)


@fault(
    "F620",
    requirement="WH-2",
    title="an endpoint that is not active is unknown to updates",
    operations=(_UPDATE,),
    source="a default scope of active rows, as in Rails or Django managers",
)
def paused_is_unknown(policy: Policy) -> Policy:
    def change(call: Call, db: Connection, inner: Handler) -> Answer:
        found = objects.get(db, call.resource)
        if found is not None and found.state == "paused":
            raise Refusal("not_found", "There is no such resource.")
        return inner(call, db)

    return _with_update(policy, change)


@fault(
    "F621",
    requirement="WH-2",
    title="the answer to an update shows the endpoint before it",
    operations=(_UPDATE,),
    source="MongoDB's findOneAndUpdate, which returns the document before the update by default",
)
def old_document(policy: Policy) -> Policy:
    def change(call: Call, db: Connection, inner: Handler) -> Answer:
        found = objects.get(db, call.resource)
        answer = inner(call, db)
        if found is None:
            return answer
        data = {name: value for name, value in found.data.items() if name != "secret"}
        return evolve(answer, value={"data": {"id": found.id, "version": found.version, **data}})

    return _with_update(policy, change)


@fault(
    "F622",
    requirement="WH-2",
    title="false, 0 and empty values in an update are ignored",
    operations=(_UPDATE,),
    source="`if changes.get(name):` in place of `if name in changes:`",
)
def falsy_ignored(policy: Policy) -> Policy:
    def merge(old: JsonObject, changes: JsonObject) -> JsonObject:
        return policy.merge(old, {name: value for name, value in changes.items() if value})

    return evolve(policy, merge=merge)
